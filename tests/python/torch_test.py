#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens when a recorded program imports PyTorch, and that its results stay what they were."""
import bisect
import collections
import decimal
import json
import statistics
import unittest

import recorded
from recorded import FAKE, Run, program


def kineto_slices(path):
    """{(name, thread): [start, ns of wall time]} of what the profiler calls operators and annotations."""
    trace = json.loads(path.read_text(), parse_float=decimal.Decimal)
    slices = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
            slices[event["name"], event["tid"]].append(int(event["ts"] * 1000) + int(trace["baseTimeNanoseconds"]))
    return slices


def middle_of_widest_pause(times):
    _, before, after = max((b - a, a, b) for a, b in zip(times, times[1:]))
    return (before + after) // 2


def recorded_slices(run):
    names = {row[1]: row[2] for row in run.rows("strings")}
    clock = sorted(tuple(map(int, row[1:])) for row in run.rows("clock"))
    ticks = [point[0] for point in clock]

    def wall(time):
        at = min(max(bisect.bisect_left(ticks, time), 1), len(clock) - 1)
        (t0, _, w0), (t1, _, w1) = clock[at - 1:at + 1]
        return w0 + (time - t0) * (w1 - w0) // (t1 - t0)

    slices = collections.defaultdict(list)
    for row in run.rows("host"):
        slices[names[row[4]], int(row[1])].append(wall(int(row[2])))
    return slices


@recorded.needs_torch
class Torch(unittest.TestCase):
    def run_torch(self, *arguments, **options):
        return Run(*arguments, python=recorded.torch_python(), **options)

    def both(self, *arguments):
        bare = self.run_torch(*arguments, recorder=None)
        run = self.run_torch(*arguments)
        self.assertEqual(run.out, bare.out)
        self.assertEqual(run.err, bare.err)
        return run

    def test_training_is_bit_for_bit_the_same(self):
        run = self.both(program("train.py"))
        self.assertGreater(len(run.rows("host")), 500)

    def test_compiled_training_too(self):
        run = self.both(program("train.py"), "compiled")
        self.assertIn("recompiles 0", run.out)
        names = {row[1]: row[2] for row in run.rows("strings")}
        seen = [names[row[4]] for row in run.rows("host")]
        self.assertGreater(sum("Torch-Compiled Region" in name for name in seen), 10)

    def test_told_and_tested_once(self):
        run = self.run_torch("-c", "import torch, torch.utils.data; import torch", recorder=FAKE,
                             env={"HONE_FAKE_LAST_OPERATOR": "aten::mul"})
        told = [call[1:] for call in run.calls("torch_ready", "torch_probe", "torch_refuse", "loss")]
        self.assertEqual(told, [("torch_ready", ""), ("torch_probe", "1"), ("torch_probe", "2"),
                                ("loss", "arguments in torch %s were not found: sequence numbers, shapes"
                                 % dict(rest.split(" ", 1) for _, _, rest in run.calls("info"))["torch"])])

    def test_a_torch_that_calls_back_otherwise_is_refused(self):
        for env in ({"HONE_FAKE_LAST_OPERATOR": "garbage"},
                    {"HONE_FAKE_LAST_OPERATOR": "aten::mul", "HONE_FAKE_OPERATORS": "0"}):
            run = self.run_torch("-c", "import torch; print(torch.ones(2).sum().item())", recorder=FAKE, env=env)
            self.assertEqual((run.out, run.err), ("2.0\n", ""))
            (refused,) = run.calls("torch_refuse")
            self.assertIn("operators are not recorded", refused[2])
            self.assertEqual(run.calls("torch_probe"), [])
            # The other way was tried, and given up.
            self.assertEqual([call[2] for call in run.calls("torch_emitted")], ["1", "0"])

    def test_nothing_to_register_for(self):
        run = self.run_torch("-c", "import torch", recorder=FAKE, env={"HONE_FAKE_TORCH_READY": "-3"})
        self.assertEqual(run.calls("torch_probe", "torch_refuse"), [])
        (said,) = [call[2] for call in run.calls("loss") if call[2].startswith("operators ")]
        self.assertIn("operators are not recorded", said)

    def names_and_kinds(self, run):
        names = {row[1]: row[2] for row in run.rows("strings")}
        return collections.Counter((names[row[4]], row[5]) for row in run.rows("host"))

    def test_operators_by_torchs_own_words(self):
        """A torch whose callbacks fail the self-test: emit_itt gives the same operators."""
        # All of it: where a window of so many steps ends is a matter of a tenth of a second.
        plain = self.run_torch(program("train.py"), env={"HONE_ALL": "1"})
        told = self.run_torch(program("train.py"), env={"HONE_ALL": "1", "HONE_TEST_SELF_TEST": "fail"})
        self.assertEqual((told.out, told.err), (plain.out, plain.err))
        (way,) = [row[2] for row in told.rows("info") if row[1] == "operators_by"]
        self.assertIn("torch.autograd.profiler.emit_itt, because ", way)
        self.assertFalse([row for row in plain.rows("info") if row[1] == "operators_by"])
        self.assertEqual(self.names_and_kinds(told), self.names_and_kinds(plain))
        self.assertGreater(self.names_and_kinds(plain)["aten::addmm", "0"], 10)
        # Outermost ones have their line all the same.
        self.assertGreater(sum(row[6] != "0" for row in told.rows("host")), 50)

    def test_the_programs_profiler_comes_before_torchs_own_words(self):
        bare = self.run_torch(program("own_profiler.py"), recorder=None)
        run = self.run_torch(program("own_profiler.py"), env={"HONE_TEST_SELF_TEST": "fail"})
        self.assertEqual(run.out, bare.out)
        # Kineto's lines have times and numbers of processes in them.
        self.assertEqual(len(run.err.splitlines()), len(bare.err.splitlines()), run.err)
        self.assertGreater(len(run.rows("host")), 20)

    def test_threads_of_torch_are_still_the_programs_choice(self):
        # The self-test's operators must not make torch choose before the program has.
        code = "import torch, os; os.environ['OMP_NUM_THREADS'] = '1'; os.environ['MKL_NUM_THREADS'] = '1'; " \
               "print(torch.get_num_threads()); torch.set_num_interop_threads(1); print(torch.rand(3).tolist()[:0])"
        self.both("-c", code)

    def test_profiler_of_the_program_works_beside(self):
        bare = self.run_torch(program("own_profiler.py"), recorder=None)
        run = self.run_torch(program("own_profiler.py"))
        self.assertEqual(run.out, bare.out)
        self.assertIn("plain ['aten::mm', 'aten::sum']", run.out)
        self.assertGreater(len(run.rows("host")), 50)

    def test_counts_and_times_are_the_profilers(self):
        run = self.run_torch(program("profiled.py"), "trace.json")
        theirs = kineto_slices(run.folder / "trace.json")
        starts = sorted(start for starts in theirs.values() for start in starts)
        # From one pause to another, so that none at the edge is in one list and out of the other.
        begin = middle_of_widest_pause(starts[:len(starts) // 4])
        end = middle_of_widest_pause(starts[-len(starts) // 4:])

        def inside(starts):
            return sorted(start for start in starts if begin < start < end)

        ours = recorded_slices(run)
        differences = []
        for key, starts in theirs.items():
            self.assertEqual(len(inside(starts)), len(inside(ours.get(key, ()))), key)
            differences += [b - a for a, b in zip(inside(starts), inside(ours.get(key, ())))]
        # A thread that lost its core between the two callbacks is no fault of either clock.
        within = sum(abs(difference) <= 10_000 for difference in differences)
        print("%d slices, median %d ns apart, %d within 10 us" %
              (len(differences), statistics.median(differences), within))
        self.assertGreater(len(differences), 1000)
        self.assertLess(abs(statistics.median(differences)), 10_000)


class OptimizerSteps(unittest.TestCase):
    """By modules that stand for torch.optim and Dynamo's patches: which steps the recorder marks itself."""

    CODE = """
import functools, types
from _hone import _optimizer
class Optimizer: pass
class Adam(Optimizer):
    def step(self, closure=None): return "stepped"
class Mine(Adam): pass
class SGD(Optimizer):
    def step(self): pass
def profile_hook(step):
    @functools.wraps(step)
    def wrapper(*args, **kwargs): return step(*args, **kwargs)
    wrapper.hooked = True
    return wrapper
SGD.step = profile_hook(SGD.step)
class Later(Optimizer):
    def step(self): pass
torch = types.SimpleNamespace(optim=types.SimpleNamespace(Optimizer=Optimizer, Adam=Adam, SGD=SGD, Later=Later, lr=1),
                              compiler=types.SimpleNamespace(is_compiling=lambda: compiling), _utils=None,
                              _dynamo=None)
class TorchPatcher:
    @staticmethod
    def patch(): Adam.step.hooked = True
compiling = False
_optimizer.imported(types.SimpleNamespace(TorchPatcher=TorchPatcher, torch=torch))
def step(*kinds):
    TorchPatcher.patch()
    for kind in kinds: print(kind().step())
"""

    def marks(self, code):
        run = Run("-c", self.CODE + code, recorder=FAKE)
        return run.out.split(), [call[1:] for call in run.calls("region_begin", "region_end")]

    def test_those_that_lost_their_hook(self):
        out, marks = self.marks("step(Adam, SGD, Later); step(Mine)")
        self.assertEqual(out, ["stepped", "None", "None", "stepped"])
        self.assertEqual([name for name, _ in marks], ["region_begin", "region_end"] * 2)
        self.assertIn("Optimizer.step#Adam.step", marks[0][1])
        self.assertIn("Optimizer.step#Mine.step", marks[2][1])

    def test_none_before_and_none_in_what_is_compiled(self):
        self.assertEqual(self.marks("print(Adam().step())"), (["stepped"], []))
        self.assertEqual(self.marks("compiling = True; step(Adam)"), (["stepped"], []))

    def test_patches_that_leave_hooks_alone_are_left_alone(self):
        self.assertEqual(self.marks("class Newer: patch = staticmethod(lambda: None)\n"
                                    "before = Newer.patch\n"
                                    "_optimizer.imported(types.SimpleNamespace(TorchPatcher=Newer, torch=torch))\n"
                                    "print(Newer.patch is before)"), (["True"], []))


class Profiler(unittest.TestCase):
    """By a module that has the two functions: CUDA is not there to be profiled."""

    CODE = """
import enum, sys, types
from _hone import _profiler
Activity = enum.Enum("Activity", "CPU CUDA")
fake = types.SimpleNamespace(_prepare_profiler=lambda *a, **k: "prepared", _disable_profiler=lambda: 1 / 0)
_profiler.make_way(fake)
def disable():
    try: fake._disable_profiler()
    except ZeroDivisionError: pass
%s
"""

    def moves(self, code):
        run = Run("-c", self.CODE % code, recorder=FAKE)
        return [call[1] for call in run.calls("cuda_yield", "cuda_resume")]

    def test_yields_to_a_profiler_of_the_gpu(self):
        self.assertEqual(self.moves("print(fake._prepare_profiler(0, {Activity.CPU, Activity.CUDA})); disable()"),
                         ["cuda_yield", "cuda_resume"])
        self.assertEqual(self.moves("fake._prepare_profiler(0, activities={Activity.CUDA}, x=1); disable()"),
                         ["cuda_yield", "cuda_resume"])

    def test_once_and_only_then(self):
        self.assertEqual(self.moves("fake._prepare_profiler(0, {Activity.CPU}); disable(); disable()"), [])
        twice = "for i in (1, 2): fake._prepare_profiler(0, {Activity.CUDA})\ndisable(); disable()"
        self.assertEqual(self.moves(twice), ["cuda_yield", "cuda_resume"])


if __name__ == "__main__":
    recorded.main()
