#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sitecustomize that starts the recorder: silent, and nothing the program could stumble over."""
import pathlib
import re
import textwrap
import unittest

import recorded
from recorded import FAKE, INJECT, Run

SHOW = "import sys; print(sys.path, 'sitecustomize' in sys.modules, sys.modules.get('sitecustomize'))"


def every_python(test):
    def each(self):
        for python in recorded.pythons().values():
            with self.subTest(python):
                test(self, python)
    return each


class Start(unittest.TestCase):
    @every_python
    def test_leaves_no_trace_in_the_path(self, python):
        bare = Run("-c", SHOW, recorder=None, python=python)
        seen = Run("-c", SHOW, recorder=FAKE, python=python)
        self.assertEqual(seen.out, bare.out.replace(str(bare.folder), str(seen.folder)))
        self.assertEqual(seen.err, "")
        self.assertEqual([call[1:] for call in seen.calls("start")], [("start", "")])

    @every_python
    def test_runs_the_sitecustomize_it_stands_before(self, python):
        folder = pathlib.Path(__file__).parent / "programs/own_site"
        run = Run("-c", "import sys; print(sys.own, sys.modules['sitecustomize'].__file__)",
                  recorder=FAKE, python=python, env={"PYTHONPATH": "%s:%s" % (INJECT, folder)})
        self.assertEqual(run.out, "own %s\n" % (folder / "sitecustomize.py"))

    @every_python
    def test_a_sitecustomize_that_fails_fails_as_ever(self, python):
        env = {"PYTHONPATH": "%s:%s" % (INJECT, recorded.PROGRAMS / "broken_site")}
        run = Run("-c", "print(1)", recorder=FAKE, python=python, env=env)
        bare = Run("-c", "print(1)", recorder=None, python=python,
                   env={"PYTHONPATH": str(recorded.PROGRAMS / "broken_site")})
        self.assertEqual((run.out, run.err), (bare.out, bare.err))
        self.assertIn("ZeroDivisionError", run.err)

    @every_python
    def test_flags(self, python):
        for flags in (["-S"], ["-I"], ["-E"], ["-s"], ["-X", "utf8"], ["-O"], ["-B"], ["-W", "error"]):
            run = Run(*flags, "-c", "print('fine')", recorder=FAKE, python=python)
            self.assertEqual((run.out, run.err), ("fine\n", ""), flags)
        run = Run("-c", "print('fine')", recorder=FAKE, python=python, env={"PYTHONSAFEPATH": "1"})
        self.assertEqual((run.out, run.err), ("fine\n", ""))

    @every_python
    def test_children_are_recorded_too(self, python):
        run = Run("-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])",
                  recorder=FAKE, python=python)
        self.assertEqual(len({call[0] for call in run.calls("start")}), 2)

    def test_a_library_that_is_not_there(self):
        run = Run("-c", "print(1)", recorder=None, env={
            "PYTHONPATH": str(INJECT), "HONE_RUN_DIR": "/nowhere", "HONE_LIBRARY": "/nowhere.so"})
        self.assertEqual((run.out, run.err), ("1\n", ""))

    def test_threads_and_signals_are_the_programs(self):
        run = Run("-c", "import threading, signal; print(threading.enumerate(), "
                  "[signal.getsignal(s) for s in (2, 15, 11)], threading.active_count())")
        bare = Run("-c", "import threading, signal; print(threading.enumerate(), "
                   "[signal.getsignal(s) for s in (2, 15, 11)], threading.active_count())", recorder=None)
        self.assertEqual(run.out.split("started")[0], bare.out.split("started")[0])
        self.assertEqual(run.out.split("]")[1:], bare.out.split("]")[1:])


    @every_python
    def test_forks_warn_as_ever(self, python):
        # From 3.12 on a fork warns where there are threads; those of the recorder are none.
        fork = "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\n"
        threads = "import threading, time\nthreading.Thread(target=time.sleep, args=(0.2,)).start()\n"
        for code in (fork, fork + threads + fork, threads + fork, fork + fork):
            run = Run("-W", "always", "-c", code, python=python)
            bare = Run("-W", "always", "-c", code, recorder=None, python=python)
            self.assertEqual(re.sub(r"pid=\d+", "", run.err), re.sub(r"pid=\d+", "", bare.err))


class ImportHook(unittest.TestCase):
    """By a module `torch` that is none: what matters is how it is found and loaded."""

    def check(self, code, **more):
        folder = recorded.PROGRAMS / "not_torch"
        env = {"PYTHONPATH": "%s:%s" % (INJECT, folder)}
        runs = []
        for python in recorded.pythons().values():
            with self.subTest(python):
                run = Run("-c", code, recorder=FAKE, python=python, env=env, **more)
                bare = Run("-c", code, recorder=None, python=python, env={"PYTHONPATH": str(folder)}, **more)
                self.assertEqual((run.out, run.err, run.status), (bare.out, bare.err, bare.status))
                runs.append(run)
        return runs

    def test_module_and_spec_are_as_ever(self):
        self.check("import torch, sys; s = torch.__spec__; print(torch.value, s.origin, s.cached, "
                   "s.submodule_search_locations, type(s.loader), vars(s.loader), torch.__loader__ is s.loader)")

    def test_find_spec_imports_nothing(self):
        self.check("import importlib.util, sys; s = importlib.util.find_spec('torch'); "
                   "print(s.origin, type(s.loader), 'torch' in sys.modules); import torch; print(torch.value)")

    def test_reload_and_lazy_loader(self):
        self.check("import torch, importlib; print(importlib.reload(torch) is torch, torch.value)")
        self.check("""
import importlib.util, sys
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
module = importlib.util.module_from_spec(spec)
sys.modules["torch"] = module
spec.loader.exec_module(module)
print(type(module), module.value, type(module))
""")

    def test_an_import_that_fails(self):
        # The traceback too: the hook is not in it.
        self.check("import sys; sys.torch_fails = True; import torch", check=False)
        self.check("import sys; sys.torch_fails = True\n"
                   "try:\n  import torch\nexcept OSError: del sys.torch_fails\nimport torch; print(torch.value)")

    def test_not_there(self):
        self.check("import sys; sys.path = [p for p in sys.path if 'not_torch' not in p and 'site-packages' "
                   "not in p and 'dist-packages' not in p]\nimport torch", check=False)

    def test_from_a_zip_file(self):
        run = Run("-c", "import zipfile; z = zipfile.ZipFile('t.zip', 'w'); z.writestr('torch.py', 'value = 7'); "
                  "z.close(); import sys; sys.path.insert(0, 't.zip'); import torch; "
                  "print(torch.value, type(torch.__loader__).__name__)", recorder=FAKE)
        self.assertEqual(run.out, "7 zipimporter\n")

    def test_finders_go_when_they_have_found(self):
        # The one that offers `import hone` stays, behind all others.
        run = Run("-c", "import sys, torch, torch.utils.data._utils.fetch, torch._dynamo.utils, "
                  "torch._dynamo.eval_frame, torch.distributed.distributed_c10d; "
                  "print([type(f).__name__ for f in sys.meta_path if type(f).__module__.startswith('_hone')])",
                  recorder=FAKE, env={"PYTHONPATH": "%s:%s" % (INJECT, recorded.PROGRAMS / "not_torch")})
        self.assertEqual(run.out, "['_MarksFinder']\n")

    def test_which_rank_torch_distributed_is_told(self):
        groups = """
            import torch.distributed.distributed_c10d as c10d

            class Group:
                def __init__(self, rank, size): self.told = rank, size
                def rank(self): return self.told[0]
                def size(self): return self.told[1]

            # One group of one, as trainings side by side have; none; not in it; a stand-in; by name.
            for group in (Group(0, 1), None, -100, Group(object(), 2), Group(-1, 2)):
                c10d._update_default_pg(group)
                assert c10d.default is group
            c10d._update_default_pg(pg=Group(1, 2))
        """
        run = Run("-c", textwrap.dedent(groups), recorder=FAKE,
                  env={"PYTHONPATH": "%s:%s" % (INJECT, recorded.PROGRAMS / "not_torch")})
        told = [rest for _, _, rest in run.calls("info") if rest.startswith(("rank ", "world_size "))]
        self.assertEqual(told, ["rank 1", "world_size 2"])

    def test_importtime_shows_the_programs_imports(self):
        run = Run("-X", "importtime", "-c", "import torch", recorder=FAKE,
                  env={"PYTHONPATH": "%s:%s" % (INJECT, recorded.PROGRAMS / "not_torch")})
        self.assertRegex(run.err, r"\| torch\n")


if __name__ == "__main__":
    recorded.main()
