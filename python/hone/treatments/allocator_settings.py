# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept: segments that grow on the device, pages that stay with the process on the host."""
import os

from . import EXACT, Treatment, Unfit

_CUDA = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
# glibc gives blocks above M_MMAP_THRESHOLD (128 KiB at first, 32 MiB at most) back to the kernel at every
# free, and each step pays for their pages again. mallopt's numbers and the largest threshold it takes:
# malloc/malloc.h, HEAP_MAX_SIZE / 2.
_TRIM, _TOP_PAD, _MMAP = -1, -2, -3
_LARGEST, _KEPT = 32 << 20, 1 << 30
_HOST = {"MALLOC_MMAP_THRESHOLD_": _LARGEST, "MALLOC_TRIM_THRESHOLD_": _KEPT, "MALLOC_TOP_PAD_": 64 << 20}


class AllocatorSettings(Treatment):
    name = "allocator-settings"
    title = "let the allocator keep its memory"
    risk = EXACT
    cures = ("allocator-churn", "fragmentation")
    # On a device less fragmentation, seldom speed. On the host what page faults took: a small convolutional
    # net on the CPU, three pairs of runs: 1.02, 1.06 and 1.33 in CPU time a step, with a third to a fifth of
    # the faults.
    prior = 1.05

    @classmethod
    def variants(cls, seen):
        if seen.device == "cuda":
            given = next((name for name in _CUDA if seen.environment.get(name)), None)
            if given:
                raise Unfit("%s is set already: %s" % (given, seen.environment[given]))
            return [({"kind": "cuda"}, "device memory in segments that grow")]
        if seen.device == "cpu" and _glibc() is not None:
            given = next((name for name in (*_HOST, "LD_PRELOAD") if _sets_malloc(seen.environment, name)), None)
            if given:
                raise Unfit("%s is set already: %s" % (given, seen.environment[given]))
            return [({"kind": "glibc"}, "let malloc keep its pages")]
        raise Unfit("no setting is known for the allocator of %s here" % seen.device.upper())

    @classmethod
    def code(cls, seen, options):
        if options["kind"] == "cuda":
            return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py"
        return " ".join("%s=%d" % item for item in _HOST.items()) + " python train.py"

    def install(self):
        if self.options.get("kind") == "cuda":
            self._set_cuda()
        else:
            self._set_glibc()

    def _set_cuda(self):
        given = next((name for name in _CUDA if os.environ.get(name)), None)
        if given:
            self.inert("%s is set already" % given)
            return
        torch = self.session.torch
        if torch is not None and torch.cuda.is_initialized():
            raise Unfit("the device's allocator has started: set PYTORCH_CUDA_ALLOC_CONF before")
        os.environ[_CUDA[0]] = "expandable_segments:True"
        self.session.after_import("torch", self._is_read)

    def _is_read(self, torch):
        if torch.cuda.is_available():
            self.hit()
        else:
            del os.environ[_CUDA[0]]
            self.unfit("no CUDA device: its allocator has nothing to keep")

    def _set_glibc(self):
        given = next((name for name in (*_HOST, "LD_PRELOAD") if _sets_malloc(os.environ, name)), None)
        if given:
            self.inert("%s is set already" % given)
            return
        library = _glibc()
        if library is None:
            raise Unfit("this C library is not glibc: its malloc is not known")
        for what, value in ((_MMAP, _LARGEST), (_TRIM, _KEPT), (_TOP_PAD, _HOST["MALLOC_TOP_PAD_"])):
            if library.mallopt(what, value) != 1:
                raise Unfit("mallopt(%d, %d) was refused" % (what, value))
        self.hit()


def _sets_malloc(environment, name):
    value = environment.get(name, "")
    if name == "LD_PRELOAD":
        return any(other in value for other in ("jemalloc", "tcmalloc", "mimalloc"))
    return bool(value)


def _glibc():
    import ctypes

    try:
        library = ctypes.CDLL(None)
    except OSError:
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None


TREATMENT = AllocatorSettings
