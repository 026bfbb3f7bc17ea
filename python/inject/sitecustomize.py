# SPDX-License-Identifier: Apache-2.0
# Python runs this when it starts, because `hone run`, `hone bench` and `hone tune` put this folder first on
# PYTHONPATH. Starts the recorder, the probe or the treatments of a recipe, then hands over to the sitecustomize
# that Python would have run.
#
# Whatever Python the program starts reads this file: nothing here may need a newer one than 2.7.
import os
import sys


def _start_recorder(folder):
    # A name of its own: a program may have a module `hone` that has nothing to do with us.
    package = type(sys)("_hone")
    package.__path__ = [os.path.join(os.path.dirname(folder), "hone")]
    sys.modules["_hone"] = package
    from _hone import _start

    _start.start()


def _hand_over(folder):
    # The folder leaves sys.path (children find it in the environment), and this module makes room:
    # where there is no other sitecustomize, what this raises is what Python expects.
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != folder]
    del sys.modules[__name__]
    import sitecustomize  # noqa: F401


_folder = os.path.dirname(os.path.abspath(__file__))
_reasons = ("HONE_RUN_DIR", "HONE_BENCH_DIR", "HONE_TUNE", "HONE_RECIPE")
if sys.version_info >= (3, 9) and any(map(os.environ.get, _reasons)):
    try:
        _start_recorder(_folder)
    except Exception:  # whatever it is, the program runs as it would without us
        pass
_hand_over(_folder)
