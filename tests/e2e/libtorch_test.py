#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone run on a C++ program with libtorch: no Python in the process, operators on every thread.

The program is compiled once (25 s of a core) against the headers and libraries of the torch wheel, and
kept beside the other test tools under a name that says of what it was made.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import unittest

import harness

SOURCE = harness.HERE / "libtorch_program.cc"
TOOLS = pathlib.Path(harness.HONE).parent / "test-tools"
COMPILER = os.environ.get("CXX", "g++")
STEPS = 60
LAYERS = 2
BATCH = 8


def torch_folder():
    python = harness.torch_python()
    found = subprocess.run([python, "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"],
                           capture_output=True, text=True)
    folder = pathlib.Path(found.stdout.strip()).parent
    if not (folder / "include/torch/csrc/api/include/torch/optim.h").exists():
        raise unittest.SkipTest(f"no headers of libtorch in {folder}")
    return folder


def build():
    folder = torch_folder()
    if not shutil.which(COMPILER):
        raise unittest.SkipTest(f"no C++ compiler: {COMPILER}")
    include = folder / "include"
    flags = ["-std=c++20", "-O0", "-I", str(harness.ROOT / "include"), "-isystem", str(include),
             "-isystem", str(include / "torch/csrc/api/include"), "-L", str(folder / "lib"),
             f"-Wl,-rpath,{folder / 'lib'}"]
    made_of = hashlib.sha256(SOURCE.read_bytes() + (folder / "version.py").read_bytes() +
                             repr(flags).encode()).hexdigest()[:16]
    program = TOOLS / f"libtorch_program-{made_of}"
    if not program.exists():
        TOOLS.mkdir(exist_ok=True)
        fresh = f"{program}.{os.getpid()}"
        subprocess.run([COMPILER, *flags, str(SOURCE), "-o", fresh, "-ltorch", "-ltorch_cpu", "-lc10"],
                       check=True)
        os.rename(fresh, program)
    return str(program)


class Libtorch(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.program = build()

    def rows(self, out, table, *columns):
        (file,) = self.processes(out)
        done = subprocess.run([TOOLS / "hone_rows", file, table, *columns], capture_output=True,
                              text=True, check=True)
        return [line.split(" ", len(columns) - 1) for line in done.stdout.splitlines()]

    def test_operators_of_every_thread(self):
        bare = subprocess.run([self.program, str(STEPS), "adam"], capture_output=True, check=True)
        done = self.run_hone([self.program, str(STEPS), "adam"], ["--all"])
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = done.stdout.decode().splitlines()
        self.assertEqual(losses[1:], bare.stdout.decode().splitlines()[1:])  # bit for bit
        main = losses[0].split()[3]
        count = {}
        for tid, name in self.rows(done.out, "host", "tid", "@name"):
            where = count.setdefault(name, {})
            where[tid] = where.get(tid, 0) + 1
        # Every one of them, from the first step on; nothing of the recorder's own trial.
        for name, calls in (("aten::addmm", LAYERS), ("aten::mse_loss", 1), ("AddmmBackward0", LAYERS),
                            ("torch::autograd::AccumulateGrad", 2 * LAYERS),
                            ("aten::addcdiv_", 2 * LAYERS)):
            self.assertEqual(count[name], {main: calls * STEPS}, name)
        self.assertNotIn("aten::permute", count)
        self.assertNotIn("aten::dropout", count)
        # The loader's two threads share the examples.
        self.assertEqual(len(count["aten::sin_"]), 2, count["aten::sin_"])
        self.assertNotIn(main, count["aten::sin_"])
        self.assertEqual(sum(count["aten::sin_"].values()), BATCH * STEPS)
        self.assertEqual(self.rows(done.out, "losses", "what", "detail"), [])

    def test_forward_and_backward_are_linked(self):
        done = self.run_hone([self.program, str(STEPS), "sgd"], ["--all"])
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = {}
        for number, name in self.rows(done.out, "host", "sequence", "@name"):
            numbers.setdefault(name, []).append(int(number))
        self.assertEqual(len(set(numbers["aten::addmm"])), LAYERS * STEPS)
        self.assertEqual(sorted(numbers["aten::addmm"]), sorted(numbers["AddmmBackward0"]))

    def test_the_answer(self):
        """Steps without a word from the program: its operators repeat."""
        done = self.run_hone([self.program, str(3 * STEPS), "sgd"])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.answer(done)
        self.assertEqual(report["steps"]["source"], "repeating operators")
        # A pattern's first and last repeat may be cut.
        self.assertLessEqual(abs(report["steps"]["count"] - 3 * STEPS), 2, report["steps"])
        self.assertIn("aten::addmm", {row["name"] for row in report["ops"]})

    def test_marks_of_its_own(self):
        """include/hone.h: steps are counted, the window closes while it runs, arguments are taken."""
        done = self.run_hone([self.program, str(200 * STEPS), "adam", "marks"], ["--steps", "20"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"the program runs on", done.stderr)
        report = self.answer(done)
        self.assertEqual(report["steps"]["source"], "hone.step()")
        self.assertGreaterEqual(report["steps"]["count"], 20)
        shapes = {dims for dims, in self.rows(done.out, "arguments", "dims")}
        self.assertIn("[[32], [8, 16], [16, 32], [], []]", shapes)  # addmm of the first layer
        self.assertTrue(report["trust"]["present"]["shapes"])


# What operators are called back by, and nothing to ask torch with where it keeps their arguments: so were
# libraries before torch 2.4.
OLD_TORCH = """
#include <cstdint>
namespace at {
struct RecordFunctionCallback { void* parts[8]; };
struct RecordFunction { const char* name() const; };
std::uint64_t addGlobalCallback(RecordFunctionCallback) { return 1; }
void removeCallback(std::uint64_t) {}
const char* RecordFunction::name() const { return "aten::mul"; }
}
"""


@unittest.skipUnless(shutil.which(COMPILER), f"no C++ compiler: {COMPILER}")
@unittest.skipUnless((TOOLS / "hone_rows").exists(), "hone_rows is not built")
class OldLibtorch(harness.Case):
    def compile(self, text, *flags):
        source = pathlib.Path(self.script(text, "source.cc"))
        subprocess.run([COMPILER, str(source), *flags], check=True)

    def test_what_cannot_be_asked_is_said(self):
        """Recording begins while libraries are loaded, before the program runs: what is noted then stays."""
        library, program = self.folder / "libtorch_cpu.so", self.folder / "program"
        self.compile(OLD_TORCH, "-shared", "-fPIC", "-o", library)
        self.compile("""
            namespace at { void removeCallback(unsigned long); }
            int main() { at::removeCallback(7); }
        """, "-o", program, library, f"-Wl,-rpath,{self.folder}")
        done = self.run_hone([program], ["--all", "--no-analyze"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (file,) = self.processes(done.out)
        rows = [line.split("\t") for line in subprocess.run(
            [TOOLS / "hone_rows", file], capture_output=True, text=True, check=True).stdout.splitlines()]
        (loss,) = [row[1:] for row in rows if row[0] == "losses"]
        self.assertEqual(loss[:2], ["arguments", "1"])
        self.assertIn("sequence numbers and shapes", loss[2])
        self.assertIn("0", [row[2] for row in rows if row[0] == "marks"], "the window's begin")


if __name__ == "__main__":
    harness.main()
