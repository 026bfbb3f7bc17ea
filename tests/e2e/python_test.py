#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python in all its moods: its own start-up files, isolated modes, modules named like ours."""
import os
import subprocess
import sys

import harness

INJECT = harness.ROOT / "build/lib/hone/python/inject/sitecustomize.py"


class Python(harness.Case):
    def setUp(self):
        super().setUp()
        if not INJECT.exists():
            self.skipTest("hone's Python files are not here")

    def test_isolated_modes(self):
        """They skip start-up files; the program runs as ever."""
        program = self.script("import sys; print(sys.flags.isolated, sys.flags.no_site, sys.argv[1:])")
        for flags in (["-S"], ["-I"], ["-E"], ["-s"], ["-O"], ["-X", "dev"], ["-IS"]):
            command = [sys.executable, *flags, program, "a"]
            bare = subprocess.run(command, capture_output=True, check=True)
            done = self.run_hone(command)
            self.assertEqual((done.returncode, done.stdout), (0, bare.stdout), (flags, done.stderr))
            self.opens(done.out)

    def test_a_sitecustomize_of_the_users_is_run(self):
        (self.folder / "site").mkdir()
        (self.folder / "site/sitecustomize.py").write_text("print('the user was here')\nVALUE = 5\n")
        program = self.script("""
            import sys, sitecustomize
            print(sitecustomize.VALUE, sitecustomize.__file__, [p for p in sys.path if "hone" in p])
        """)
        env = {**os.environ, "PYTHONPATH": str(self.folder / "site")}
        bare = subprocess.run([sys.executable, program], capture_output=True, env=env, check=True)
        done = self.run_hone([sys.executable, program], env=env)
        self.assertEqual(done.stdout.decode(), bare.stdout.decode(), done.stderr)

    def test_sys_path_is_as_without_hone(self):
        program = self.script("import sys; print(sys.path)")
        for env in (os.environ, {**os.environ, "PYTHONPATH": "/one:/two"}):
            bare = subprocess.run([sys.executable, program], capture_output=True, env=env, check=True)
            done = self.run_hone([sys.executable, program], env=env)
            self.assertEqual(done.stdout.decode(), bare.stdout.decode())

    def test_a_module_named_hone_is_the_users(self):
        (self.folder / "hone.py").write_text("WHOSE = 'mine'\n")
        program = self.script("import hone; print(hone.WHOSE)")
        done = self.run_hone([sys.executable, program])
        self.assertEqual(done.stdout, b"mine\n", done.stderr)

    def test_stdin_and_commands(self):
        done = self.run_hone([sys.executable, "-"], input=b"print('from stdin')")
        self.assertEqual(done.stdout, b"from stdin\n", done.stderr)
        done = self.run_hone([sys.executable, "-c", "import sys; sys.exit('bad')"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"bad", done.stderr)

    def test_a_traceback_is_the_programs_own(self):
        program = self.script("def f():\n    raise ValueError('x')\nf()\n")
        bare = subprocess.run([sys.executable, program], capture_output=True)
        done = self.run_hone([sys.executable, program], ["--quiet"])
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (bare.returncode, bare.stderr.decode()))

    def test_random_numbers_and_hashes_are_untouched(self):
        program = self.script("""
            import random
            random.seed(5)
            print(random.random(), hash("x"))
        """)
        env = {**os.environ, "PYTHONHASHSEED": "7"}
        bare = subprocess.run([sys.executable, program], capture_output=True, env=env, check=True)
        self.assertEqual(self.run_hone([sys.executable, program], env=env).stdout, bare.stdout)

    def test_multiprocessing(self):
        program = self.script("""
            import multiprocessing as mp, sys
            def work(i):
                return i * i
            if __name__ == "__main__":
                for method in ("fork", "spawn", "forkserver"):
                    with mp.get_context(method).Pool(2) as pool:
                        print(method, pool.map(work, range(5)))
        """)
        done = self.run_hone([sys.executable, program])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(b"[0, 1, 4, 9, 16]"), 3)
        self.opens(done.out)


if __name__ == "__main__":
    harness.main()
