# SPDX-License-Identifier: Apache-2.0
"""PyTorch was imported: the recorder registers for its operators, and is tested before it is trusted.

The operators run here are a handful on small CPU tensors: no random numbers, no other device, and too
small for torch to start its threads.
"""
import os
import sys

from ._library import info, library, loss


def imported(torch):
    if library is None or not hasattr(torch, "_C"):
        return  # a module of the program's own that has the same name
    _tell_versions(torch)
    library.framework(os.fsencode(os.path.join(os.path.dirname(torch.__file__), "")), 0)
    for what, part in (("operators", _watch_operators), ("cuda", _make_way_for_profiler)):
        try:
            part(torch)
        except Exception as trouble:
            loss(what, "the recorder's own Python failed: " + repr(trouble))


def _tell_versions(torch):
    info("torch", torch.__version__)
    for key, value in (("cuda", getattr(torch.version, "cuda", None)),
                       ("hip", getattr(torch.version, "hip", None)),
                       ("numpy", getattr(sys.modules.get("numpy"), "__version__", None))):
        if value:
            info(key, value)


_NO_FUNCTION = -3  # of hone_torch_ready: torch does not have what the recorder needs


def _watch_operators(torch):
    ready = library.torch_ready()
    if ready not in (0, _NO_FUNCTION) or not library.recording():
        return  # the recorder has said why; or no window is open, and nothing can be tested now
    library.own(1)  # what the tests run is not the program's
    try:
        trouble = _trouble(torch) if ready == 0 else _why()
        if not trouble:
            _probe(torch)
        elif not _let_torch_tell(torch, trouble):
            refuse = library.torch_refuse if ready == 0 else lambda why: library.loss(b"operators", why)
            refuse((trouble + "; operators are not recorded").encode())
    finally:
        library.own(0)


def _why():
    return (library.why() or b"").decode("utf-8", "replace") or "this torch cannot be called back"


def _let_torch_tell(torch, trouble):
    """The other way: torch itself names each operator. Whether operators are seen that way."""
    from . import _emitted

    library.torch_emitted(1)
    way = _emitted.start(torch, lambda: _trouble(torch, once=False))
    if not way:
        library.torch_emitted(0)
        return False
    # Read by the importer; a person reads it beside the verdict on the trace.
    info("operators_by", "%s, because %s" % (way, trouble))
    return True


def _trouble(torch, once=True):
    """What the recorder missed of an operator that surely ran; None: nothing."""
    if once and os.environ.get("HONE_TEST_SELF_TEST") == "fail":  # of tests: as if another torch were here
        return "the self-test was told to fail"
    x = torch.ones(3)
    seen = library.operators_seen()
    torch.mul(x, x)
    more = library.operators_seen() - seen
    last = (library.last_operator() or b"").decode("utf-8", "replace")
    # One on this thread; threads of the program may have added theirs.
    if more < 1 or last != "aten::mul":
        return ("torch %s calls back otherwise than the recorder expects: 1 operator ran, %d were seen, "
                "the last as %r" % (torch.__version__, more, last))
    return None


def _probe(torch):
    # What runs here is known to src/collect/torch_layout.h, to the number.
    x = torch.ones(3, 5, 7, requires_grad=True)
    double = torch.ones(3, 5, 7, dtype=torch.float64)
    integer = torch.ones(3, 5, 7, dtype=torch.int64)
    library.torch_probe(1)
    try:
        for _ in range(4):
            torch.mul(x, x)
        torch.mul(double, double)
        torch.mul(integer, integer)
        torch.transpose(x, 0, 2)
        torch.permute(x, (2, 0, 1))
        torch.clamp(x, 0.25, 0.75)
        torch.sum(x, (1,), True)
    finally:
        found = library.torch_probe(2)
    if found >= 0 and found & 3 != 3:
        missing = [name for bit, name in ((1, "sequence numbers"), (2, "shapes")) if not found & bit]
        loss("arguments", "in torch %s were not found: %s" % (torch.__version__, ", ".join(missing)))


def _make_way_for_profiler(torch):
    from . import _profiler

    _profiler.make_way(torch.autograd.profiler)
