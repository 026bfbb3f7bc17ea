# SPDX-License-Identifier: Apache-2.0
"""What the tests of treatments share: a Python with torch, sessions, short trainings."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
sys.path.insert(0, os.environ.get("HONE_PYTHON_ROOT") or str(ROOT / "python"))


def need_torch():
    """Goes on in the Python that has torch; skips the whole test where there is none."""
    try:
        import torch  # noqa: F401
    except ImportError:
        python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
        if not os.access(python, os.X_OK) or os.environ.get("HONE_TEST_AGAIN"):
            print("skipped: no PyTorch: %s is not there (tools/install_torch)" % python)
            sys.exit(SKIPPED)
        os.environ["HONE_TEST_AGAIN"] = "1"
        os.execv(python, [python] + sys.argv)


class Case(unittest.TestCase):
    def session(self, *recipe):
        """A session with these treatments, as hone.apply makes it; all is put back after the test."""
        from hone import _session

        session = _session.Session({})
        self.addCleanup(session.undo)
        session.add([{"treatment": name, "options": {}} for name in recipe])
        self.assertEqual(session.unknown, [])
        return session

    def effect(self, session, name):
        return next(one for one in session.treatments if one.name == name)

    def check_applied(self, session, name, hits=None):
        one = self.effect(session, name)
        self.assertEqual((one.state, one.why), ("applied", ""))
        if hits is not None:
            self.assertEqual(one.hits, hits)
        self.assertIsNone(session.trouble)

    def check_state(self, session, name, state, words):
        one = self.effect(session, name)
        self.assertEqual(one.state, state, one.why)
        self.assertIn(words, one.why)
        self.assertEqual(one.hits, 0)

    def check_unfit(self, name, seen, words):
        from hone import treatments

        with self.assertRaises(treatments.Unfit) as raised:
            treatments.load(name).variants(seen)
        self.assertIn(words, str(raised.exception))


def main():
    """As unittest's own; skipped where every test was."""
    result = unittest.main(exit=False, verbosity=2).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
