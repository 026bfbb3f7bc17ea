# SPDX-License-Identifier: Apache-2.0
"""The mark of an optimizer's step, where Dynamo takes away torch's own.

torch.optim puts a hook around `step` that torch.profiler and the recorder know steps by. Dynamo of torch 2.1
takes it off all classes of torch.optim when something is compiled, and no later one is put on; without it
steps are not counted, and nothing says where a window may end. Where it is gone, the recorder marks the
step itself, by the same name. A step that the program compiles is one frame more for Dynamo by that; its
graphs and breaks are the same.
"""
import functools

from ._library import USER, library, loss


def imported(eval_frame):
    patcher = getattr(eval_frame, "TorchPatcher", None)
    patch = getattr(patcher, "patch", None)
    # Later ones leave the hook alone, and are left alone.
    code = getattr(getattr(patch, "__wrapped__", patch), "__code__", None)
    if library is None or "hooked" not in getattr(code, "co_names", ()):
        return

    @functools.wraps(patch)
    def patch_and_mark(*args, **kwargs):
        result = patch(*args, **kwargs)
        try:
            _mark_steps(eval_frame.torch)
        except Exception as trouble:
            loss("steps", "optimizer steps of compiled programs are not marked: " + repr(trouble))
        return result

    patcher.patch = staticmethod(patch_and_mark)


def _mark_steps(torch):
    # Dynamo takes it for a constant.
    homes = (getattr(torch, "compiler", None), torch._utils, torch._dynamo)
    is_compiling = next(home.is_compiling for home in homes if hasattr(home, "is_compiling"))
    for kind in list(vars(torch.optim).values()):
        if not isinstance(kind, type) or not issubclass(kind, torch.optim.Optimizer):
            continue
        step = vars(kind).get("step")
        # "hooked" keeps torch from putting its hook on again.
        if getattr(step, "hooked", False) and not _is_hook(step):
            kind.step = _marked(step, is_compiling)


def _is_hook(step):
    # Of torch.optim.Optimizer.profile_hook_step, or ours.
    return getattr(getattr(step, "__code__", None), "co_name", "") in ("wrapper", _marked.__name__)


def _marked(step, is_compiling):
    @functools.wraps(step)
    def _marked(optimizer, *args, **kwargs):
        if is_compiling():  # a step that the program compiles stays as it is
            return step(optimizer, *args, **kwargs)
        kind = type(optimizer).__name__
        library.region_begin(("Optimizer.step#%s.step" % kind).encode("utf-8", "replace"), USER)
        try:
            return step(optimizer, *args, **kwargs)
        finally:
            library.region_end()

    return _marked
