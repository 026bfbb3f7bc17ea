#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When recording begins and ends: --steps, --seconds, --every, --all, --no-analyze, --quiet."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import harness


class Windows(harness.Case):
    def marks(self, options, count=None):
        command = [sys.executable, self.script(harness.MARKS)]
        return self.run_hone(command + ([str(count)] if count else []), options)

    def rows(self, done):
        return sum(harness.rows_of(path, "host") for path in self.processes(done.out))

    def test_steps(self):
        """So many steady ones; warm-up is recorded too, and nothing after them."""
        done = self.marks(["--steps", "25"], 2000)
        self.assertEqual((done.returncode, done.stdout), (0, b"ready\ndone\n"), done.stderr)
        self.assertGreaterEqual(self.rows(done), 25)
        self.assertLess(self.rows(done), 1000)
        self.assertIn(b"recorded 25 steps after warm-up, of 1 process; the program runs on", done.stderr)
        steps = self.answer(done)["steps"]
        self.assertGreaterEqual(steps["steady_count"], 25)

    def test_short_steps_are_recorded_for_a_second(self):
        """Thirty of 1 ms would hold three samples of a stack."""
        done = self.marks([], 4000)
        self.assertIn(b"recorded the steps after warm-up, of 1 process; the program runs on", done.stderr)
        steps = self.answer(done)["steps"]
        self.assertGreater(steps["count"], 30)
        self.assertGreaterEqual(steps["count"] * steps["mean_ms"], 1000)

    def test_all(self):
        done = self.marks(["--all"], 500)
        self.assertEqual(self.rows(done), 500)
        self.assertNotIn(b"runs on", done.stderr)
        self.answer(done)

    def test_a_program_that_ends_before_its_window(self):
        done = self.marks(["--steps", "100000"], 200)
        self.assertEqual(self.rows(done), 200)
        self.answer(done)

    def test_seconds(self):
        process = self.start_hone([sys.executable, self.script(harness.MARKS)], ["--seconds", "0.5"])
        harness.wait_for((process.out / "report.json").exists, 60)
        self.assertIsNone(process.poll(), "the program runs on")
        size = self.processes(process.out)[0].stat().st_size
        time.sleep(0.5)
        self.assertEqual(self.processes(process.out)[0].stat().st_size, size)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_every(self):
        done = self.marks(["--steps", "20", "--every", "400"], 2000)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stderr.decode().splitlines() if "window" in line]
        self.assertGreaterEqual(len(lines), 2, done.stderr)
        for line in lines:
            self.assertRegex(line, r"^hone: window \d+: ")
        self.answer(done)

    def test_every_goes_on_with_a_trainer_that_starts_again(self):
        # Each makes three windows at most and stays until it was told of; so none is told of by number alone.
        stays = self.script(harness.MARKS + """
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
""")
        again = f"for i in first second; do RANK=0 WORLD_SIZE=1 {sys.executable} {stays} 1000 {self.folder}/$i; done"
        run = self.start_hone(["sh", "-c", again], ["--steps", "20", "--every", "400"])
        said = harness.listen(run)

        def told(numbers):
            return lambda: re.search(rb"^hone: window [%s]: " % numbers, said(), re.M)
        harness.wait_for(told(b"23"))
        (self.folder / "first").touch()
        harness.wait_for(told(b"456"))
        (self.folder / "second").touch()
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, stderr)
        first, second = sorted(self.processes(run.out), key=lambda path: path.stat().st_mtime)
        # The answer is about the one that runs now.
        self.assertNotEqual(first.name, second.name)
        report = json.loads((run.out / "report.json").read_text())
        self.assertIn(second.name, report["trace"]["path"])

    def test_every_process_that_steps_has_its_windows(self):
        """One whose steps are long, beside one between two windows: the others have closed theirs, it has not."""
        program = self.script("""
            import ctypes, os, sys, time
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            told, over = os.path.join(os.environ["HONE_RUN_DIR"], "report.json"), sys.argv[2]

            def steps(count, seconds):
                assert lib.hone_start() == 0
                for _ in range(count):
                    lib.hone_region_begin(b"forward", 3)
                    time.sleep(seconds)
                    lib.hone_region_end()
                    lib.hone_step()

            if sys.argv[1] == "short":
                steps(50, 0.001)
            while not os.path.exists(told if sys.argv[1] == "long" else over):
                time.sleep(0.02)
            if sys.argv[1] == "long":
                steps(12, 0.3)
                print(os.getpid())
                open(over, "w").close()
        """)
        both = f"for i in short long; do {sys.executable} {program} $i {self.folder}/over & done; wait"
        done = self.run_hone(["sh", "-c", both], ["--steps", "3", "--every", "1000"])
        self.assertEqual(done.returncode, 0, done.stderr)
        long = done.out / f"process-{int(done.stdout)}.hone"
        self.assertGreaterEqual(harness.rows_of(long, "host"), 5)

    def test_a_window_that_the_last_step_opened_is_not_the_answer(self):
        program = self.script("""
            import time, torch
            model = torch.nn.Linear(8, 8)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(61):
                optimizer.zero_grad()
                model(torch.ones(4, 8)).sum().backward()
                optimizer.step()
                time.sleep(0.01)
            end = time.monotonic() + 4
            while time.monotonic() < end:
                torch.ones(64).add_(1)
                time.sleep(0.002)
        """)
        done = self.run_hone([harness.torch_python(), program], ["--steps", "5", "--every", "60"],
                             env={**os.environ, "HONE_TEST_SECONDS_WITHOUT_STEPS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(self.answer(done)["steps"]["count"], 5)

    # Operators for so many seconds, as a model that loads; then so many steps; then neither.
    LATE = """
        import sys, time, torch
        end = time.monotonic() + float(sys.argv[1])
        while time.monotonic() < end:
            torch.ones(64).add_(1)
            time.sleep(0.002)
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(int(sys.argv[2])):
            optimizer.zero_grad()
            model(torch.ones(4, 8)).sum().backward()
            optimizer.step()
            time.sleep(0.005)
        print("done", flush=True)
        time.sleep(float(sys.argv[3]))
    """

    def late(self, run, *arguments):
        return run([harness.torch_python(), self.script(self.LATE), *arguments], ["--steps", "30"],
                   env={**os.environ, "HONE_TEST_SECONDS_WITHOUT_STEPS": "1"})

    def test_a_program_that_starts_for_long_is_recorded_when_it_steps(self):
        for steps, at_least in ((400, 30), (9, 5)):  # those of a window, and those until the end
            with self.subTest(steps=steps):
                done = self.late(self.run_hone, "3.5", str(steps), "0")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(b"made no step of an optimizer and called no hone.step(); the program runs on, and is "
                              b"recorded again if it does", done.stderr)
                self.assertGreaterEqual(self.answer(done)["steps"]["count"], at_least)
                warmed = b"recorded 30 steps after warm-up, of 1 process" in done.stderr
                self.assertEqual(warmed, steps == 400, done.stderr)

    def test_a_program_without_steps_is_told_of_while_it_runs(self):
        run = self.late(self.start_hone, "6", "0", "60")
        harness.wait_for((run.out / "report.json").exists, 60)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGTERM)
        _, stderr = run.communicate(timeout=60)
        self.assertIn(b"so far: hone analyze", stderr)
        self.assertEqual(stderr.count(b"top ops"), 1, "the answer itself comes once, at the end")

    def test_nothing_costs_after_the_window(self):
        """The launcher sleeps, and of the recorder one thread looks once a second whether it is alone."""
        process = self.start_hone([sys.executable, self.script(harness.MARKS)], ["--steps", "20"])
        harness.wait_for((process.out / "report.txt").exists, 60)
        # The program and the sentinel are left: the analysis has ended, however long its page took.
        harness.wait_for(lambda: len(harness.children(process.pid)) == 2, 60)
        time.sleep(1)
        launcher = pathlib.Path(f"/proc/{process.pid}")
        program = pathlib.Path(f"/proc/{harness.children(process.pid)[0]}")

        def ours():
            return sorted(task for task in (program / "task").iterdir()
                          if (task / "comm").read_text().startswith("hone-"))

        def switches(task, kind):
            found = re.search(rf"^{kind}ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)
            return int(found[1])

        def wakes():
            of_launcher = switches(launcher, "voluntary_") + switches(launcher, "nonvoluntary_")
            return of_launcher, [switches(task, "voluntary_") for task in ours()]
        tasks, began, (launcher_before, before) = ours(), time.monotonic(), wakes()
        self.assertEqual(len(tasks), 1, "the sampler is gone")
        time.sleep(4)
        (launcher_after, after), elapsed = wakes(), time.monotonic() - began
        self.assertEqual(ours(), tasks)
        self.assertLessEqual(launcher_after - launcher_before, 2)
        # What is awake waits for a lock or a page now and then; ten rounds a second would be 40.
        self.assertLessEqual(after[0] - before[0], 1.5 * elapsed + 3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)

    # Steps of an optimizer that sleep longer while a recorder looks, as a slow one would make them.
    SLOWED = """
        import ctypes, os, sys, time, torch
        recording = ctypes.CDLL(os.environ["HONE_LIBRARY"]).hone_recording
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(int(sys.argv[1])):
            model(torch.ones(4, 8)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.100 if recording() else 0.010)
        print("done", flush=True)
        time.sleep(float(sys.argv[2]))
    """

    def test_steps_are_timed_after_the_window(self):
        done = self.run_hone([harness.torch_python(), self.script(self.SLOWED), "200", "0"], ["--steps", "20"])
        self.assertIn(b"the program runs on", done.stderr)
        timed = self.answer(done)["trace"]["timed_steps"]
        self.assertGreaterEqual(timed["bare_steps"], 10)
        self.assertGreater(timed["recorded_ms"], 100)
        self.assertLess(timed["bare_ms"], 0.8 * timed["recorded_ms"])
        self.assertGreater(timed["bare_ms"], 10)
        # Nothing of them is recorded.
        self.assertLess(self.answer(done)["steps"]["count"], 60)

    def test_a_program_that_stops_stepping_gets_its_answer(self):
        run = self.start_hone([harness.torch_python(), self.script(self.SLOWED), "30", "60"], ["--steps", "20"])
        self.assertEqual(run.stdout.readline(), b"done\n")
        began = time.monotonic()
        harness.wait_for((run.out / "report.json").exists, 30)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)

    def test_a_program_that_ends_while_it_is_timed(self):
        done = self.run_hone([harness.torch_python(), self.script(self.SLOWED), "34", "0"], ["--steps", "20"])
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        self.assertGreaterEqual(self.answer(done)["steps"]["steady_count"], 20)

    def test_record_only(self):
        done = self.marks(["--no-analyze"], 100)
        self.assertFalse((done.out / "report.json").exists())
        self.assertIn(b"to read it: hone analyze", done.stderr)
        again = subprocess.run([harness.HONE, "analyze", done.out], capture_output=True)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_quiet(self):
        done = self.marks(["--quiet"], 100)
        self.assertEqual(done.stderr, b"")
        self.answer(done)

    def test_the_machine(self):
        """The doctor finds the counters of the machine among the answers."""
        done = self.run_hone([sys.executable, self.script(harness.MARKS), "1500"], ["--all"])
        self.assertGreater(harness.rows_of(done.out / "machine.hone", "counters"), 100)
        report = self.answer(done)
        unchecked = [rule["id"] for rule in report.get("not_checked", [])]
        self.assertNotIn("cpu-oversubscribed", unchecked)

    def test_gpus(self):
        tools = pathlib.Path(harness.HONE).parent / "test-tools"
        if not (tools / "libfake_nvml.so").exists() or not (tools / "hone_rows").exists():
            self.skipTest("test-tools are not built")
        done = self.run_hone([sys.executable, self.script(harness.MARKS), "3000"], ["--all"],
                             env={**os.environ, "HONE_NVML": str(tools / "libfake_nvml.so"),
                                  "HONE_FAKE_NVML": "devices=2,gpm=1,throttle=4"})
        rows = subprocess.run([tools / "hone_rows", done.out / "machine.hone", "counters", "@track",
                               "@series", "value"], capture_output=True, text=True, check=True).stdout
        for series in ("throttle_reasons", "sm_clock_mhz", "power_watts", "sm_active_pct"):
            self.assertRegex(rows, rf"GPU 0 {series} ")
            self.assertRegex(rows, rf"GPU 1 {series} ")
        self.assertRegex(rows, r"GPU 0 throttle_reasons 4\n")


if __name__ == "__main__":
    harness.main()
