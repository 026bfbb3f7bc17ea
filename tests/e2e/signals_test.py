#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and friends: the program gets them as without hone, and hone still answers."""
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

import harness

PROGRAM = '''
    import os, signal, sys, time
    def handler(number, frame):
        print("got", signal.Signals(number).name, flush=True)
        if number == signal.SIGTERM:
            sys.exit(3)
    for name in ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"):
        signal.signal(getattr(signal, name), handler)
    try:
        print("ready", os.getpid(), flush=True)
        while True:
            time.sleep(0.05)
    except KeyboardInterrupt:
        print("got KeyboardInterrupt", flush=True)
        sys.exit(4)
'''


class Signals(harness.Case):
    def ready(self, process):
        line = process.stdout.readline().split()
        self.assertEqual(line[0], b"ready")
        return int(line[1])

    def test_signals_sent_to_hone_reach_the_program(self):
        program = self.script(PROGRAM)
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
            process = self.start_hone([sys.executable, program])
            self.ready(process)
            process.send_signal(number)
            self.assertEqual(process.stdout.readline().split()[1].decode(), number.name)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
            self.assertEqual((process.returncode, out), (3, b"got SIGTERM\n"), err)
            self.opens(process.out)

    def test_sigint_sent_to_hone_alone(self):
        process = self.start_hone([sys.executable, self.script(PROGRAM)])
        self.ready(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (4, b"got KeyboardInterrupt\n"), err)

    def test_ctrl_c_on_a_terminal_comes_once(self):
        """The terminal tells the whole group; hone must not tell the program again."""
        program = self.script('''
            import signal, sys, time
            count = 0
            def handler(number, frame):
                global count
                count += 1
            signal.signal(signal.SIGINT, handler)
            print("ready", flush=True)
            end = time.monotonic() + 30
            while not count and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(0.5)
            print("count", count, flush=True)
            sys.exit(9)
        ''')
        line, out = self.command([sys.executable, program])
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(line[0], line)
        text = b""
        while b"ready" not in text:
            text += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        try:
            while True:
                text += os.read(terminal, 4096)
        except OSError:
            pass  # the terminal's end
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 9, text)
        self.assertIn(b"count 1\r\n", text)
        self.opens(out)

    def test_a_program_that_ignores_sigint_is_waited_for(self):
        process = self.start_hone(["sh", "-c", "trap '' INT; echo ready 0; sleep 2; exit 6"])
        self.ready(process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 6)

    def test_under_nohup_a_hangup_is_nobodys(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = self.start_hone(["sh", "-c", "echo ready 0; sleep 1; exit 6"], preexec_fn=ignore)
        self.ready(process)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 6)

    def test_the_program_is_killed(self):
        process = self.start_hone([sys.executable, self.script(PROGRAM)])
        pid = self.ready(process)
        time.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.assertIn(b"killed by SIGKILL", err)
        self.opens(process.out)

    def test_hone_is_killed(self):
        """The program runs on without it."""
        mark = self.folder / "mark"
        process = self.start_hone(["sh", "-c", f"echo ready 0; sleep 1; echo done > {mark}"])
        self.ready(process)
        process.kill()
        process.wait()
        harness.wait_for(mark.exists, 10)
        self.opens(process.out)

    def test_stop_and_continue(self):
        process = self.start_hone(["sh", "-c", "echo ready $$; sleep 1; exit 5"])
        pid = self.ready(process)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        os.kill(pid, signal.SIGCONT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 5)

    def test_ctrl_c_stops_the_analysis(self):
        """The program has ended; the recording stays, and the exit code is the program's."""
        marks = self.script("""
            import ctypes, os, sys
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            lib.hone_start()
            for i in range(300_000):
                lib.hone_region_begin(b"forward", 3)
                lib.hone_region_end()
            print("ready", os.getpid(), flush=True)
            sys.exit(3)
        """)
        process = self.start_hone([sys.executable, marks], ["--all", "--memory", "256M"])
        program = self.ready(process)

        def analysis():
            return [pid for pid in harness.children(process.pid)
                    if pid != program and harness.name_of(pid) not in (harness.SENTINEL, None)]
        (child,) = harness.wait_for(analysis)
        os.kill(child, signal.SIGSTOP)  # so that it is not done before we are
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn(b"analysis stopped", err)
        self.assertIn(b"hone analyze", err)
        self.assertFalse((process.out / "report.json").exists())
        self.opens(process.out)
        again = subprocess.run([harness.HONE, "analyze", process.out], capture_output=True)
        self.assertIn(again.returncode, (0, 3), again.stderr)

    def test_nobody_reads_stderr(self):
        """A closed pipe is no reason to leave the program alone, and its SIGPIPE is its own."""
        reader, writer = os.pipe()
        line, _ = self.command(["sh", "-c", "sleep 0.5; grep SigIgn /proc/self/status; exit 6"],
                               ["--all"])
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=writer, cwd=self.folder)
        os.close(writer)
        os.close(reader)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 6)
        ignored = int(out.split()[1], 16)
        self.assertFalse(ignored >> (signal.SIGPIPE - 1) & 1, "Popen restores SIGPIPE, so must we")

    def test_no_child_is_left_behind(self):
        """Neither the program nor the analysis stays as a zombie or an orphan."""
        process = self.start_hone([sys.executable, "-c", "print('ready', 0)"])
        process.communicate(timeout=30)
        for status in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                self.assertNotIn(str(process.out).encode(), status.read_bytes())
            except OSError:
                pass  # not ours to read, or gone


# Says who sent each signal that it gets. SIGUSR2 ends it.
COUNTING = '''
    import os, signal, sys
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    numbers = [getattr(signal, name) for name in names]
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    if "own group" in sys.argv:
        os.setpgid(0, 0)
    print("ready", os.getpid(), flush=True)
    while True:
        got = signal.sigwaitinfo(numbers)
        if got.si_signo == signal.SIGUSR2:
            sys.exit(7)
        print(signal.Signals(got.si_signo).name, got.si_pid, flush=True)
'''
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROUNDS = 5  # a second signal that comes before the first was looked at is lost: a chance each


class OneSignalIsOne(harness.Case):
    """Whoever is told: hone alone, or the whole group. Each signal is seen once."""

    def start(self, *words):
        process = self.start_hone([sys.executable, self.script(COUNTING), *words],
                                  start_new_session=True)
        self.program = int(process.stdout.readline().split()[1])
        self.addCleanup(self.end_program)
        self.sentinel = harness.sentinel_of(process)
        return process

    def end_program(self):
        """Left alone by a test that failed, it would wait for ever."""
        if self.program is None:
            return
        try:
            os.kill(self.program, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def seen(self, process):
        # Each line is waited for before the next is caused, so none hides in the buffer.
        ready, _, _ = select.select([process.stdout], [], [], 30)
        self.assertTrue(ready, "the program got no signal")
        name, sender = process.stdout.readline().split()
        return name.decode(), int(sender)

    def once(self, process, number, sender):
        self.assertEqual(self.seen(process), (number.name, sender))
        # Told to hone after the signal in question, so passed on after it.
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.seen(process), ("SIGUSR1", process.pid), f"a second {number.name}?")

    def end(self, process):
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=30)
        self.program = None  # the number is free
        self.assertEqual((process.returncode, out), (7, b""), err)

    def test_sent_to_the_group(self):
        process = self.start()
        for number in STOPS * ROUNDS:
            os.killpg(process.pid, number)
            self.once(process, number, os.getpid())
        self.end(process)

    def test_sent_to_hone_alone(self):
        process = self.start()
        for number in STOPS:
            process.send_signal(number)
            self.once(process, number, process.pid)
        self.end(process)

    def test_alone_after_the_group(self):
        process = self.start()
        os.killpg(process.pid, signal.SIGINT)
        self.once(process, signal.SIGINT, os.getpid())  # takes longer than one counts for both
        process.send_signal(signal.SIGINT)
        self.once(process, signal.SIGINT, process.pid)
        self.end(process)

    def test_a_program_in_a_group_of_its_own(self):
        process = self.start("own group")
        self.assertNotEqual(os.getpgid(self.program), process.pid)
        for number in STOPS:
            os.killpg(process.pid, number)
            self.once(process, number, process.pid)
            process.send_signal(number)
            self.once(process, number, process.pid)
        self.end(process)

    def test_a_stopped_group(self):
        process = self.start()
        for _ in range(ROUNDS):
            os.killpg(process.pid, signal.SIGSTOP)
            os.killpg(process.pid, signal.SIGINT)
            os.killpg(process.pid, signal.SIGCONT)
            self.once(process, signal.SIGINT, os.getpid())
        self.end(process)

    def test_without_the_sentinel_signals_are_passed_on(self):
        process = self.start()
        os.kill(self.sentinel, signal.SIGKILL)
        harness.wait_for(lambda: harness.name_of(self.sentinel) is None)
        for number in STOPS:
            process.send_signal(number)
            self.once(process, number, process.pid)
        self.end(process)

    def test_the_sentinel_is_found_as_the_program_is(self):
        """By pkill -f, which asks for the command line. It holds nothing open."""
        process = self.start("a b")
        folder = pathlib.Path(f"/proc/{self.sentinel}")
        words = folder.joinpath("cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        program = pathlib.Path(f"/proc/{self.program}/cmdline").read_bytes().split(b"\0")[:-1]
        self.assertEqual(words, [b"signals", *program])
        def links():
            held = [os.readlink(path) for path in folder.glob("fd/*")]
            return held if len(held) == 2 else None
        self.assertIn("anon_inode:[signalfd]", harness.wait_for(links))
        self.assertEqual(os.getpgid(self.sentinel), process.pid)
        self.end(process)

    def gone(self):
        try:
            text = pathlib.Path(f"/proc/{self.sentinel}/stat").read_text()
        except OSError:
            return True
        return text.rpartition(")")[2].split()[0] == "Z"  # not waited for by whoever adopted it

    def test_no_sentinel_is_left_behind(self):
        process = self.start()
        self.end(process)
        self.assertIsNone(harness.name_of(self.sentinel))

    def test_hone_takes_the_sentinel_along(self):
        process = self.start()
        process.kill()
        process.wait()
        harness.wait_for(self.gone)
        os.kill(self.program, signal.SIGUSR2)


if __name__ == "__main__":
    harness.main()
