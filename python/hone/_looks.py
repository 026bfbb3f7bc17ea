# SPDX-License-Identifier: Apache-2.0
"""What a program does in its first steps that a treatment or an advice may be about: copies to a device,
values that it reads from one, how it clears and clips gradients, where it goes backward and steps. All of it
is put back after five steps.
"""
import os

from . import _sites
from ._seen import Call, Reads

_LAST_STEP = 5
_READS = ("item", "cpu", "tolist", "__float__", "numpy")


class Looks:
    def __init__(self, session):
        self.session = session
        self.patches = []
        self.reads = {}  # (site, how): Reads
        self.over = False
        session.after_import("torch", self._torch_is_here)
        session.after_import("torch.optim.optimizer", lambda module: module.register_optimizer_step_pre_hook(
            self._stepping))  # for good: torch may walk over its hooks when it would be taken away

    def _torch_is_here(self, torch):
        for name in ("to", "cuda"):
            self._patch(torch.Tensor, name, self._make_copy)
        for name in _READS:
            self._patch(torch.Tensor, name, self._make_read)
        utils = torch.nn.utils
        for owner in (utils, utils.clip_grad):
            for name in ("clip_grad_norm_", "clip_grad_value_"):
                self._patch(owner, name, self._make_clip)
        self._patch(torch.optim.Optimizer, "zero_grad", self._make_zero_grad)
        self._patch(torch.autograd, "backward", self._make_backward)

    def _patch(self, owner, name, make):
        if hasattr(owner, name):
            self.patches.append(self.session.patch(owner, name, lambda original: make(original, name)))

    def step_ended(self, count):
        if count >= _LAST_STEP and self.patches:
            for patch in self.patches:
                self.session.put_back(patch)
            del self.patches[:]
            self.over = True

    def go_on(self):
        """Looks again: what was seen was no training."""
        if self.over:
            self.over = False
            self._torch_is_here(self.session.torch)

    def _make_copy(self, original, name):
        def copy(tensor, *args, **kwargs):
            result = original(tensor, *args, **kwargs)
            if tensor.device.type == "cpu" and result.device.type not in ("cpu", "meta"):
                self._copied(tensor, name, args, kwargs)
            return result

        copy.__name__ = name
        return copy

    def _copied(self, tensor, name, args, kwargs):
        import sys

        if sys._getframe(2).f_code.co_filename.endswith("nn/modules/module.py") or self.session.own:
            return  # a module on its way to the device
        copies = self.session.seen.copies
        copies.total += 1
        pinned = tensor.is_pinned()
        copies.pageable += not pinned
        copies.blocking += pinned and not (kwargs.get("non_blocking") or True in args)
        if not copies.site:
            frame = _sites.frame_of_program(2)
            copies.site, copies.argument = _sites.site_of(frame), name
            self.session.program_file(frame)

    def _make_read(self, original, name):
        def read(tensor, *args, **kwargs):
            if tensor.device.type not in ("cpu", "meta") and tensor.numel() == 1:
                self._was_read(name, tensor)
            return original(tensor, *args, **kwargs)

        read.__name__ = name
        return read

    def _was_read(self, name, tensor):
        frame = _sites.frame_of_program(2)
        key = (_sites.site_of(frame), name)
        if key not in self.reads:
            self.reads[key] = Reads(site=key[0], how=name, own=frame is _sites.caller(2),
                                    dtype=str(tensor.dtype).rpartition(".")[2])
            self.session.seen.reads.append(self.reads[key])
        self.reads[key].count += 1

    def _make_clip(self, original, name):
        def clip(*args, **kwargs):
            self.session.seen.clips_gradients = True
            return original(*args, **kwargs)

        clip.__name__ = name
        return clip

    def _make_zero_grad(self, original, name):
        def zero_grad(optimizer, set_to_none=True):
            self.session.seen.set_to_none_off += not set_to_none
            return original(optimizer, set_to_none)

        return zero_grad

    def _make_backward(self, original, name):
        def backward(*args, **kwargs):
            if not self.over and self.session.here():
                self.session.quietly(self._note_call, self.session.seen.backward_calls)
            return original(*args, **kwargs)

        backward.__doc__ = original.__doc__
        return backward

    def _stepping(self, optimizer, args, kwargs):
        if not self.over and self.session.here():
            self.session.seen.closures |= bool(args[1:] and args[1] is not None) or kwargs.get("closure") is not None
            self.session.quietly(self._note_call, self.session.seen.step_calls)

    def _note_call(self, calls):
        import sys

        torch_folder = os.path.dirname(self.session.torch.__file__)
        caller, frame = _sites.frame_outside(1, torch_folder), sys._getframe(1)
        how = "function"
        while frame is not None and frame is not caller:
            if frame.f_code.co_filename == os.path.join(torch_folder, "_tensor.py"):
                how = "method"
            frame = frame.f_back
        if caller is None or not _sites.is_program(caller.f_code.co_filename):
            caller, how = _sites.frame_of_program(1), ""
        site = _sites.site_of(caller)
        if all(site != call.site for call in calls):
            calls.append(Call(site=site, how=how))
            self.session.program_file(caller)
