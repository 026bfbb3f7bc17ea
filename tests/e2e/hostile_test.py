#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that make it hard: they exec, daemonize, close every descriptor, fill the disk."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness


class Hostile(harness.Case):
    def test_a_program_that_execs_another(self):
        marks = self.script(harness.MARKS)
        program = self.script(f'''
            import ctypes, os, sys
            ctypes.CDLL(os.environ["HONE_LIBRARY"]).hone_start()
            os.execv(sys.executable, [sys.executable, {marks!r}, "20"])
        ''', "exec.py")
        done = self.run_hone([sys.executable, program])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b"ready\ndone\n")
        files = self.processes(done.out)
        self.assertEqual(len(files), 2, files)  # the same pid twice
        self.assertEqual(sum(harness.rows_of(path, "host") for path in files), 20)

    def test_shell_pipelines(self):
        marks = self.script(harness.MARKS)
        done = self.run_hone(["sh", "-c", f"{sys.executable} {marks} 5 | "
                              f"(cat; {sys.executable} {marks} 6) | wc -l"])
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"4"), done.stderr)
        rows = sorted(harness.rows_of(path, "host") for path in self.processes(done.out))
        self.assertEqual(rows, [5, 6])

    def test_a_fork_of_a_process_that_spent_the_recorders_memory(self):
        """Its child has the amount for itself."""
        program = self.script('''
            import ctypes, os, threading, time
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            assert lib.hone_start() == 0
            def regions(count):
                for i in range(count):
                    lib.hone_region_begin(b"work", 3)
                    lib.hone_region_end()
            done = threading.Barrier(101)
            def thread():
                regions(1)
                done.wait()
                time.sleep(60)
            for i in range(100):
                threading.Thread(target=thread, daemon=True).start()
            done.wait()
            if os.fork() == 0:
                lib.hone_start()
                regions(20)
                os._exit(0)
            os.wait()
            os._exit(0)
        ''')
        done = self.run_hone([sys.executable, program], ["--all", "--memory", "4M"])
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = sorted((harness.rows_of(path, "host"), harness.rows_of(path, "losses"))
                      for path in self.processes(done.out))
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0], (20, 0), "of the child")
        self.assertLess(rows[1][0], 100, "the parent has more memory than it may take")

    def test_daemons_do_not_hold_it_up(self):
        pid_file = self.folder / "pid"
        program = self.script(f'''
            import ctypes, os, sys, time
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            lib.hone_start()
            lib.hone_step()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    open({str(pid_file)!r}, "w").write(str(os.getpid()))
                    for fd in (0, 1, 2):
                        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
                    for i in range(200):
                        lib.hone_region_begin(b"daemon", 3)
                        time.sleep(0.1)
                        lib.hone_region_end()
                os._exit(0)
            os.wait()
            sys.exit(2)
        ''')
        start = time.monotonic()
        done = self.run_hone([sys.executable, program], timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertLess(time.monotonic() - start, 12)
        daemon = int(pid_file.read_text())
        os.kill(daemon, 0)  # it lives on
        os.kill(daemon, signal.SIGKILL)
        self.opens(done.out)

    def test_a_program_that_closes_every_descriptor(self):
        program = self.script('''
            import ctypes, os, sys, time
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            lib.hone_start()
            lib.hone_region_begin(b"before", 3); lib.hone_region_end()
            time.sleep(0.3)
            os.closerange(3, 65536)
            for i in range(300):
                lib.hone_region_begin(b"after", 3); lib.hone_region_end()
                time.sleep(0.001)
            # Whoever opens a file now must not find our rows in it.
            with open("mine", "w") as file:
                time.sleep(0.5)
                file.write("mine")
            print("fine")
        ''')
        done = self.run_hone([sys.executable, program])
        self.assertEqual((done.returncode, done.stdout), (0, b"fine\n"), done.stderr)
        self.assertEqual((self.folder / "mine").read_text(), "mine")
        self.opens(done.out)

    def test_the_folder_is_removed_under_it(self):
        line, out = self.command(["sh", "-c", f"sleep 0.3; rm -rf {self.folder}/gone; sleep 0.5; exit 4"],
                                 out=self.folder / "gone")
        done = subprocess.run(line, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"was removed while the program ran", done.stderr)

    def test_a_limit_on_the_size_of_files(self):
        marks = self.script(harness.MARKS)
        done = self.run_hone(["sh", "-c", f"ulimit -f 8; {sys.executable} {marks} 3000"])
        self.assertEqual((done.returncode, done.stdout), (0, b"ready\ndone\n"), done.stderr)
        self.assertIn(b"reached the limit of the size of files", done.stderr)
        self.opens(done.out)

    def test_reports_that_are_larger_than_a_file_may_be(self):
        """Said once, however many windows are answered: the page alone is some 400 KiB."""
        limit = 100 << 10
        run = self.start_hone([sys.executable, self.script(harness.MARKS)], ["--steps", "20", "--every", "400"],
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        said = harness.listen(run)
        harness.wait_for(lambda: said().count(b"hone: window ") > 1)
        run.send_signal(signal.SIGTERM)
        before = said()
        _, rest = run.communicate(timeout=60)
        lines = [line for line in (before + rest).splitlines() if b"cannot be written" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], rb"report\.html cannot be written into .*: File too large; raise .* \(ulimit -f\)$")
        self.assertEqual(list(run.out.glob("report.html*")), [])

    def test_descriptors_of_the_recorder_that_are_taken_over(self):
        program = self.script("""
            import ctypes, os, sys, time
            lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
            assert lib.hone_start() == 0
            os.dup2(2, 900)
            os.closerange(3, 1000)
            for _ in range(1500):
                lib.hone_region_begin(b"forward", 3)
                time.sleep(0.001)
                lib.hone_region_end()
                lib.hone_step()
        """)
        done = self.run_hone([sys.executable, program])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"cut short where the program closed its file", done.stderr)

    def test_nothing_recorded_is_said_without_an_answer_too(self):
        done = self.run_hone(["true"], ["--no-analyze"])
        self.assertIn(b"nothing was recorded: neither", done.stderr)

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True)
        if mounted.returncode:
            self.skipTest("may not mount")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        marks = self.script(harness.MARKS)
        line, out = self.command([sys.executable, marks, "5000"], ["--all"], out=disk / "run")
        done = subprocess.run(line, capture_output=True, cwd=self.folder, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, b"ready\ndone\n"), done.stderr)
        self.assertIn(b"is full", done.stderr)
        self.opens(out)
        # And one that was full before: nothing is started that could not be recorded.
        shutil.rmtree(out)
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(filler, b"x" * 4096):
                pass
        except OSError:
            pass
        os.close(filler)
        line, out = self.command(["echo", "ran"], out=disk / "run2")
        done = subprocess.run(line, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"No space left", done.stderr)

    def test_another_preloaded_library_stays_first(self):
        source = self.folder / "mine.c"
        source.write_text('#include <stdlib.h>\n'
                          'int mine_is_here(void) { return 42; }\n')
        library = self.folder / "mine.so"
        if subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library]).returncode:
            self.skipTest("no C compiler")
        program = "import ctypes, os; print(ctypes.CDLL(None).mine_is_here(), os.environ['LD_PRELOAD'])"
        done = self.run_hone([sys.executable, "-c", program],
                             env={**os.environ, "LD_PRELOAD": str(library)})
        words = done.stdout.decode().split()
        self.assertEqual(words[0], "42", done.stderr)
        self.assertEqual(words[1].split(":")[0], str(library))
        self.assertTrue(words[1].endswith("libhone_collect.so"))

    def test_a_program_with_address_sanitizer(self):
        source = self.folder / "sanitized.cc"
        source.write_text('#include <stdio.h>\n#include <stdlib.h>\n'
                          'int main() { puts(getenv("ASAN_OPTIONS")); char* p = new char[8]; delete[] p;\n'
                          '             return getenv("BAD") ? p[3] : 3; }\n')
        built = subprocess.run(["g++", "-fsanitize=address", "-o", self.folder / "sanitized", source],
                               capture_output=True)
        if built.returncode:
            self.skipTest("no AddressSanitizer")
        done = self.run_hone([self.folder / "sanitized"], env={**os.environ, "ASAN_OPTIONS": "exitcode=44"})
        self.assertEqual((done.returncode, done.stdout), (3, b"verify_asan_link_order=0:exitcode=44\n"), done.stderr)
        done = self.run_hone([self.folder / "sanitized"],
                             env={**os.environ, "ASAN_OPTIONS": "exitcode=44", "BAD": "1"})
        self.assertEqual(done.returncode, 44, "the program's own fault is found as ever")
        self.assertIn(b"heap-use-after-free", done.stderr)

    def test_a_preloaded_allocator(self):
        found = [path for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
                 for name in ("libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4")
                 for path in [pathlib.Path(folder, name)] if path.exists()]
        if not found:
            self.skipTest("neither jemalloc nor tcmalloc is installed")
        marks = self.script(harness.MARKS)
        done = self.run_hone([sys.executable, marks, "50"],
                             env={**os.environ, "LD_PRELOAD": str(found[0])})
        self.assertEqual((done.returncode, done.stdout), (0, b"ready\ndone\n"), done.stderr)
        self.assertEqual(harness.rows_of(self.processes(done.out)[0], "host"), 50)

    def test_the_users_own_doors_stay(self):
        done = self.run_hone(["sh", "-c", "echo $NCCL_PROFILER_PLUGIN $CUDA_INJECTION64_PATH"],
                             env={**os.environ, "NCCL_PROFILER_PLUGIN": "mine",
                                  "CUDA_INJECTION64_PATH": "/mine.so"})
        self.assertEqual(done.stdout, b"mine /mine.so\n")
        for name in (b"NCCL_PROFILER_PLUGIN is mine", b"CUDA_INJECTION64_PATH is /mine.so"):
            self.assertIn(name, done.stderr)

    def test_hone_inside_of_hone(self):
        inner = self.folder / "inner"
        done = self.run_hone([harness.HONE, "run", "--out", inner, "--", "sh", "-c",
                              "echo $HONE_RUN_DIR; exit 5"])
        self.assertEqual((done.returncode, done.stdout.decode().strip()), (5, str(inner)), done.stderr)

    def test_many_processes(self):
        marks = self.script(harness.MARKS)
        done = self.run_hone(["sh", "-c", "for i in $(seq 300); do /bin/true; done; "
                              f"for i in 1 2 3 4 5 6; do {sys.executable} {marks} 20 & done; wait"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(b"done"), 6)
        rows = [harness.rows_of(path, "host") for path in self.processes(done.out)]
        self.assertEqual(rows, [20] * 6)


if __name__ == "__main__":
    harness.main()
