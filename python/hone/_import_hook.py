# SPDX-License-Identifier: Apache-2.0
"""Calls us back when the program has imported a module, without importing anything itself.

A finder at the front of sys.meta_path lets the other finders look and gives back their spec with
their own loader; only that loader's exec_module, on this one instance, is ours until it has run. So
importlib.util.find_spec, LazyLoader, zip files, reload and -X importtime see what they always see.
"""
import sys

from ._library import loss

_waiting = {}  # name: callbacks, in the order they came
# The import machinery cuts frames of this name out of tracebacks; ours among them belong to it.
_MACHINERY = "<frozen importlib._bootstrap_external>"


def after_import(name, callback):
    """Calls callback(module) once, when `name` has been imported; at once if it is there."""
    module = sys.modules.get(name)
    if module is not None and getattr(module, "__spec__", None) is not None:
        _call(name, callback, module)
        return
    _waiting.setdefault(name, []).append(callback)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def offer_marks():
    """`import hone` works under `hone run` even where the package is not installed."""
    sys.meta_path.append(_MarksFinder())


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in _waiting:
            return None
        spec = _ask_others(name, path, target)
        if spec is not None and spec.loader is not None:
            _listen(spec.loader, name)
        return spec

    def invalidate_caches(self):
        pass


_finder = _Finder()


def _ask_others(name, path, target):
    for finder in list(sys.meta_path):
        look = getattr(finder, "find_spec", None)
        if finder is _finder or look is None:
            continue
        spec = look(name, path, target)
        if spec is not None:
            return spec
    return None


def _listen(loader, name):
    original = loader.exec_module

    def exec_module(module):
        original(module)
        try:
            del loader.exec_module
        except AttributeError:
            pass
        _imported(name, module)

    exec_module.__code__ = exec_module.__code__.replace(co_filename=_MACHINERY)
    try:
        loader.exec_module = exec_module
    except AttributeError:
        loss(name, "its loader " + type(loader).__name__ + " takes no listener: not seen by the recorder")


def _imported(name, module):
    callbacks = _waiting.pop(name, ())
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for callback in callbacks:
        _call(name, callback, sys.modules.get(name, module))


def _call(name, callback, module):
    try:
        callback(module)
    except Exception as trouble:
        loss(name, "the recorder's own Python failed: " + repr(trouble))


class _MarksFinder:
    """Last of all finders: the program's own module `hone`, or an installed one, comes first."""

    def find_spec(self, name, path=None, target=None):
        if name != "hone" or path is not None:
            return None
        import importlib.util

        folder = sys.modules["_hone"].__path__[0]
        return importlib.util.spec_from_file_location(
            "hone", folder + "/__init__.py", submodule_search_locations=[folder])

    def invalidate_caches(self):
        pass
