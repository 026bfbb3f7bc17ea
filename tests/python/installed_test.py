#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as pip installs it: all of it is there, and a recipe is put in from it, without hone around."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import recorded

PROGRAM = """
import hone
treatments = hone.apply("recipe.json")

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2)
    print(hone.__file__, loader.num_workers, [(one.name, one.state) for one in treatments])
    print(torch.cat([batch for batch, in loader]).tolist())
"""
RECIPE = {"version": 1, "recipe": [{"treatment": "loader-workers", "options": {"num_workers": 2}}]}


def can_build():
    """setuptools from 70.1 on makes wheels by itself; before, it needs the package wheel."""
    python = recorded.torch_python()
    code = ("import setuptools\n"
            "if tuple(map(int, setuptools.__version__.split('.')[:2])) < (70, 1): import wheel\n")
    done = python and subprocess.run([python, "-c", code + "import pip"], capture_output=True)
    return bool(done) and done.returncode == 0


def modules(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py"))


@recorded.needs_torch
@unittest.skipUnless(can_build(), "the Python with PyTorch has no setuptools that makes wheels (70.1 or newer)")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = recorded.torch_python()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        # A copy: setuptools builds inside of what it is given.
        shutil.copytree(recorded.ROOT / "python", cls.folder / "source",
                        ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        done = subprocess.run(
            [cls.python, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
             "--disable-pip-version-check", "--target", cls.folder / "site", cls.folder / "source"],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError("pip ended with %d\n%s%s" % (done.returncode, done.stdout, done.stderr))

    def test_every_module_is_there(self):
        self.assertEqual(modules(self.folder / "site/hone"), modules(recorded.ROOT / "python/hone"))

    def test_a_recipe_is_put_in(self):
        (self.folder / "recipe.json").write_text(json.dumps(RECIPE))
        (self.folder / "train.py").write_text(PROGRAM)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("HONE_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
        done = subprocess.run([self.python, "train.py"], cwd=self.folder, capture_output=True, text=True, timeout=240,
                              env=dict(environment, PYTHONPATH=str(self.folder / "site")))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "%s 2 [('loader-workers', 'applied')]\n%s\n" % (
            self.folder / "site/hone/__init__.py", [float(number) for number in range(8)]))


class Readme(unittest.TestCase):
    def test_every_module_is_named(self):
        text = (recorded.ROOT / "python/README.md").read_text()
        names = {path.name for path in (recorded.ROOT / "python/hone").glob("*.py")}
        self.assertEqual({name for name in names if name not in text}, set())


if __name__ == "__main__":
    recorded.main()
