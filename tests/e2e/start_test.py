#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone run is transparent: exit codes, streams, arguments, signals, folder, and what cannot start."""
import os
import pathlib
import resource
import signal
import subprocess
import sys

import harness


class Start(harness.Case):
    def test_exit_codes(self):
        for code in (0, 1, 7, 255):
            done = self.run_hone(["sh", "-c", f"exit {code}"])
            self.assertEqual(done.returncode, code, done.stderr)

    def test_a_signal_is_128_and_its_number(self):
        for name in ("KILL", "SEGV", "TERM", "ABRT"):
            done = self.run_hone(["sh", "-c", f"kill -{name} $$"])
            self.assertEqual(done.returncode, 128 + getattr(signal, f"SIG{name}"), done.stderr)
            self.assertIn(f"SIG{name}".encode(), done.stderr)

    def test_stdout_is_the_programs_own(self):
        program = self.script("""
            import sys
            sys.stdout.buffer.write(bytes(range(256)) * 1000)
            print("words", flush=True)
        """)
        bare = subprocess.run([sys.executable, program], stdout=subprocess.PIPE, check=True)
        done = self.run_hone([sys.executable, program])
        self.assertEqual(done.stdout, bare.stdout)

    def test_stdin_passes_through(self):
        text = os.urandom(1 << 20)
        self.assertEqual(self.run_hone(["cat"], input=text).stdout, text)

    def test_arguments_pass_through(self):
        words = ["--help", "--steps", "3", "", "a b", "$HOME", "'\"", "-h", "--", "--json", "ü\n"]
        program = "import sys; print(sys.argv[1:])"
        done = self.run_hone([sys.executable, "-c", program, *words])
        self.assertEqual(done.stdout.decode().strip(), repr(words))

    def test_a_command_without_dashes(self):
        done = subprocess.run([harness.HONE, "run", "--out", self.folder / "x", "echo", "--all"],
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, b"--all\n"), done.stderr)

    def test_what_cannot_start(self):
        plain = self.folder / "plain"
        plain.write_text("x")
        lost = self.script("#!/no/such/interpreter\n", "lost")
        for command, code, words in ((["no-such-program"], 127, b"no such program"),
                                     (["./no/such"], 127, b"no such file"),
                                     ([plain], 126, b"is not executable; chmod +x"),
                                     ([lost], 127, b"names, is not there"),
                                     ([self.folder], 126, b"is a folder")):
            done = self.run_hone(command)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertFalse(done.out.exists(), "a folder for a program that never ran")
        done = subprocess.run([harness.HONE, "run"], capture_output=True)
        self.assertEqual(done.returncode, 2)

    def test_values_that_mean_nothing(self):
        for options, words in ((["--every", "0"], b"--every 0"), (["--seconds", "0"], b"above 0"),
                               (["--out", ""], b"--out names no folder"), (["--memory", "1M"], b"from 4M to 64G")):
            done = subprocess.run([harness.HONE, "run", *options, "--", "echo", "ran"], capture_output=True,
                                  cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
            self.assertIn(words, done.stderr)

    def test_limits_that_leave_no_room(self):
        """The program runs as without hone, which says why it does not record."""
        for limit, words in ((resource.RLIMIT_FSIZE, b"ulimit -f"), (resource.RLIMIT_NOFILE, b"ulimit -n")):
            def lower(limit=limit):
                resource.setrlimit(limit, (9, 9))
            for end, code in (("exit 5", 5), ("kill -KILL $$", -signal.SIGKILL)):
                done = self.run_hone(["sh", "-c", f"echo ran; {end}"], preexec_fn=lower)
                self.assertEqual((done.returncode, done.stdout), (code, b"ran\n"), done.stderr)
                self.assertIn(words, done.stderr)
                self.assertFalse(done.out.exists())

    def test_very_long_command_lines(self):
        done = self.run_hone([sys.executable, "-c", "import sys; print(len(sys.argv))"] +
                             ["x" * 1000] * 1000)
        self.assertEqual(done.stdout, b"1001\n")
        # Our variables are what makes it too long: the shell would have started it, and says 126.
        room = os.sysconf("SC_ARG_MAX")
        words = ["y" * 100_000] * (room // 100_001 + 2)
        try:
            done = self.run_hone(["true", *words])
        except OSError:
            return  # too long for this test as well
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"too long", done.stderr)

    def test_the_folder(self):
        done = subprocess.run([harness.HONE, "run", "--", "true"], cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = [path for path in self.folder.iterdir() if path.name.startswith("hone-true-")]
        self.assertEqual(len(made), 1)
        self.assertTrue((made[0] / "machine.hone").exists())
        self.opens(made[0])

    def test_a_folder_that_is_in_use(self):
        out = self.folder / "mine"
        out.mkdir()
        line, _ = self.command(["echo", "ran"], out=out)
        self.assertEqual(subprocess.run(line, capture_output=True).stdout, b"ran\n")  # it was empty
        before = sorted(path.name for path in out.iterdir())
        done = subprocess.run(line, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"is not empty", done.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()), before)

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        line, _ = self.command(["echo", "ran"], out=self.folder / "file" / "x")
        done = subprocess.run(line, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--out", done.stderr)

    def test_a_read_only_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        done = subprocess.run([harness.HONE, "run", "--", "echo", "ran"], cwd=self.folder,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--out DIR", done.stderr)

    def test_inherits_what_a_shell_would_give(self):
        """Process group, session, signal mask and dispositions, open files, folder, limits."""
        program = self.script("""
            import os, resource, signal
            print(os.getcwd(), os.getsid(0), os.umask(0), resource.getrlimit(resource.RLIMIT_NOFILE))
            print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
            # Python itself ignores SIGPIPE and SIGXFSZ, and handles SIGINT.
            # 32 and 33 are the C library's own, which it sets as it likes when it starts a process.
            own = 1 << 31 | 1 << 32
            for line in open("/proc/self/status"):
                if line.startswith(("SigIgn", "SigBlk")):
                    print(line[:6], hex(int(line.split()[1], 16) & ~own))
            # The recorder's own file has a high number, out of the way of programs that count them.
            print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 100))
            print(os.nice(0))
        """)
        for ignore in ([], [signal.SIGHUP], [signal.SIGCHLD, signal.SIGUSR1]):
            def prepare(ignore=ignore):
                for number in ignore:
                    signal.signal(number, signal.SIG_IGN)
            command = [sys.executable, program]
            bare = subprocess.run(command, stdout=subprocess.PIPE, cwd=self.folder,
                                  preexec_fn=prepare, check=True)
            done = self.run_hone(command, preexec_fn=prepare)
            self.assertEqual(done.stdout.decode(), bare.stdout.decode())

    def test_stays_in_the_process_group(self):
        done = self.run_hone(["sh", "-c", "ps -o pgid= -p $$; ps -o pgid= -p $PPID"])
        if done.returncode == 127:
            self.skipTest("no ps here")
        first, second = done.stdout.split()
        self.assertEqual(first, second)

    def test_quiet_says_nothing(self):
        done = self.run_hone(["true"], ["--quiet"])
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_an_emptied_environment(self):
        done = subprocess.run(["env", "-i", harness.HONE, "run", "--out", self.folder / "x", "--",
                               "sh", "-c", "echo $HONE_RUN_DIR"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode().strip(), str(self.folder / "x"))

    def test_a_program_that_empties_it(self):
        done = self.run_hone(["env", "-i", "sh", "-c", "exit 5"])
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"nothing was recorded", done.stderr)
        self.assertIn(b"env -i", done.stderr)

    def test_a_static_program(self):
        source = self.folder / "s.c"
        source.write_text("int main(void) { return 3; }")
        program = self.folder / "s"
        built = subprocess.run(["cc", "-static", source, "-o", program], capture_output=True)
        if built.returncode:
            self.skipTest("cannot link statically here")
        done = self.run_hone([program])
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"statically linked", done.stderr)

    def test_a_setuid_program(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make one")
        program = self.folder / "other"
        program.write_bytes(pathlib.Path("/bin/true").read_bytes())
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        done = self.run_hone([program])
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"nothing was recorded", done.stderr)
        self.assertIn(b"setuid", done.stderr)


if __name__ == "__main__":
    harness.main()
