# SPDX-License-Identifier: Apache-2.0
"""The door to the recorder's library, in a process that `hone run` started; elsewhere there is none.

Uses `_ctypes` alone: the package around it takes 2 to 4 ms to import, and every Python process that
the recorded program starts would pay them.
"""
import os

USER = 2  # wire::HostKind (src/wire/table.h)
RANGE = 3
LOADER = 4

# name: (result, arguments), as in src/collect/abi.h. i: int, Q: uint64, z: text, None: nothing.
_FUNCTIONS = {
    "hone_active": ("i", ""),
    "hone_recording": ("i", ""),
    "hone_start": ("i", ""),
    "hone_torch_ready": ("i", ""),
    "hone_operators_seen": ("Q", ""),
    "hone_last_operator": ("z", ""),
    "hone_own": (None, "i"),
    "hone_torch_refuse": (None, "z"),
    "hone_torch_emitted": (None, "i"),
    "hone_torch_probe": ("i", "i"),
    "hone_python_ready": ("i", "i"),
    "hone_framework": (None, "zi"),
    "hone_step": (None, ""),
    "hone_region_begin": (None, "zi"),
    "hone_region_end": (None, ""),
    "hone_cuda_yield": (None, "z"),
    "hone_cuda_resume": (None, ""),
    "hone_info": (None, "zz"),
    "hone_loss": (None, "zz"),
    "hone_why": ("z", ""),
}
_RTLD_NOW = 2  # Linux, and local: the names stay out of the program's way


class Library:
    """The functions of src/collect/abi.h without their prefix. They keep the GIL while they run."""

    def __init__(self, path):
        import _ctypes

        self._handle = _ctypes.dlopen(path, _RTLD_NOW)  # preloaded: the same one is found again
        types = {code: type(code, (_ctypes._SimpleCData,), {"_type_": code}) for code in "iQz"}
        types[None] = None
        flags = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_PYTHONAPI
        kinds = {}
        for name, signature in _FUNCTIONS.items():
            if signature not in kinds:
                result, arguments = signature
                kinds[signature] = type("Function", (_ctypes.CFuncPtr,), {
                    "_flags_": flags, "_restype_": types[result],
                    "_argtypes_": tuple(types[code] for code in arguments)})
            setattr(self, name[len("hone_"):], kinds[signature]((name, self)))


def _load():
    path = os.environ.get("HONE_LIBRARY")
    if not path or not os.environ.get("HONE_RUN_DIR"):
        return None
    try:
        library = Library(path)
        return library if library.active() else None
    except (ImportError, OSError, AttributeError):  # no _ctypes, no such file, an older library
        return None


# None where nothing is recorded: everything that marks asks this first.
library = _load()


def info(key, value):
    if library is not None:
        library.info(_text(key), _text(value))


def loss(what, detail):
    if library is not None:
        library.loss(_text(what), _text(detail))


def _text(value):
    # surrogateescape and NUL: file names and environments are bytes, C texts end at the first zero.
    return str(value).encode("utf-8", "backslashreplace").replace(b"\0", b"")
