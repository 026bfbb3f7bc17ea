#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers can fail: each wrong include in a small tree is found, the right ones are not."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "check_layers"
LOADER = importlib.machinery.SourceFileLoader("check_layers", str(TOOL))
check_layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", LOADER))
LOADER.exec_module(check_layers)

ROOMS = """
hone_room(base LIBRARIES hone_fmt)
hone_room(gpu RECORDER USES base)
hone_room(trace USES base)
hone_room(cli USES base trace
  LIBRARIES CLI11::CLI11)
"""


class CheckLayers(unittest.TestCase):
    def check(self, path, include, rooms=ROOMS):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("base", "gpu", "trace", "cli"):
                (root / "src" / name).mkdir(parents=True)
            (root / "src" / "CMakeLists.txt").write_text(rooms)
            file = root / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"// line one\n#include {include}\n")
            return check_layers.check_tree(root)

    def assert_wrong(self, path, include, words):
        wrong = self.check(path, include)
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(words, wrong[0])

    def test_allowed(self):
        for path, include in [("trace/a.cc", '"base/x.h"'), ("trace/a.cc", '"trace/deep/x.h"'),
                              ("trace/a.h", "<vector>"), ("base/a.cc", "<fmt/format.h>"),
                              ("trace/a.cc", "<sys/stat.h>"), ("trace/a.cc", "<unistd.h>"),
                              ("gpu/a.cc", "<cupti.h>"), ("cli/a.cc", "<CLI/CLI.hpp>"),
                              ("base/a_test.cc", "<gtest/gtest.h>"), ("base/a_test.cc", '"trace/x.h"')]:
            self.assertEqual(self.check(path, include), [], (path, include))

    def test_upwards(self):
        self.assert_wrong("base/a.cc", '"trace/x.h"', "src/base/a.cc:2: trace/x.h")
        self.assert_wrong("trace/sub/a.h", '"cli/x.h"', "trace may use only: base")

    def test_not_through_another_room(self):
        self.assert_wrong("trace/a.cc", '"gpu/x.h"', "trace may use only")

    def test_vendor_headers(self):
        for header in ("<cuda_runtime.h>", "<cupti.h>", "<nvml.h>", '"cuda.h"', "<hip/hip_runtime.h>"):
            self.assert_wrong("cli/a.cc", header, "src/gpu")

    def test_libraries(self):
        self.assert_wrong("trace/a.cc", "<fmt/core.h>", "does not list hone_fmt")
        self.assert_wrong("base/a.h", "<CLI/App.hpp>", "does not list CLI11")
        self.assert_wrong("trace/a.cc", "<xxhash.h>", "does not list hone_xxhash")

    def test_libraries_that_nobody_declared(self):
        for header in ("<zlib.h>", "<boost/math/special_functions.hpp>", "<absl/strings/str_cat.h>", "<Eigen/Dense>"):
            self.assert_wrong("base/a.cc", header, "does not know; name its library there")
            self.assert_wrong("base/a_test.cc", header, "does not know")

    def test_test_headers(self):
        self.assert_wrong("base/a.cc", "<gtest/gtest.h>", "outside a test")

    def test_relative_and_unknown(self):
        self.assert_wrong("trace/a.cc", '"../base/x.h"', "relative")
        self.assert_wrong("trace/a.cc", '"x.h"', "no such folder")

    def test_undeclared_room(self):
        wrong = self.check("stray/a.cc", "<vector>")
        self.assertIn("src/stray: no hone_room line", wrong[0])

    def test_declared_out_of_order(self):
        wrong = self.check("base/a.cc", "<vector>", ROOMS.replace("base LIBRARIES", "base USES cli LIBRARIES"))
        self.assertIn("base uses cli", wrong[0])


if __name__ == "__main__":
    unittest.main()
