# SPDX-License-Identifier: Apache-2.0
"""Losses and gradient norms of a trial, kept where they are until it ends: nothing waits for a device.

A loss is what torch.autograd.backward is asked for, where that is one number; Tensor.backward goes
through it too. A step's loss is the mean of its backward calls.
"""
_MOST = 4096


class Losses:
    def __init__(self, session):
        self.session = session
        self.open = []        # of the step that runs now
        self.steps = []       # a number a step, or the list of what still lies on a device
        self.stride = 1       # every so manieth step is kept
        self.ended = 0
        self.backwards = 0
        self.norms = []       # (step, tensor)
        self.found_inf = []   # tensors, of optimizers that skip on the device
        self.skipped = 0
        self.norm_due = False
        self.optimizer = None  # the first that steps; norms are of its gradients, by its own steps
        self.own_steps = self.optimizer_steps = 0
        self.scaled = None    # (what GradScaler.scale gave, the loss it was given)
        session.on_backward(self.take)
        session.after_import("torch.optim.optimizer", self._optimizers_are_here)
        session.after_import("torch.amp.grad_scaler", self._scaler_is_here)

    # Losses.

    def take(self, tensors):
        try:
            loss = tensors
            if isinstance(loss, (tuple, list)) and len(loss) == 1:
                loss = loss[0]
            torch = self.session.torch
            if torch is None or not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                return
            self.backwards += 1
            if self.scaled is not None and self.scaled[0] is loss:
                loss = self.scaled[1]
            self.scaled = None
            self.open.append(self._kept(torch, loss))
        except Exception as trouble:  # ours, never the program's
            self.session.trouble = repr(trouble)

    def _kept(self, torch, loss):
        if loss.is_cpu:
            return loss.item()
        loss = loss.detach()
        if loss.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return None  # the program's own graph: its memory is no place for us
        return loss.clone()  # the program may write into it, and a graph's replay will

    # Steps.

    def led(self):
        """Another source of steps leads from now on: all that was so far belongs to its first step."""
        self.open = [value for step in self.steps for value in (step if isinstance(step, list) else [step])
                     ] + self.open
        del self.steps[:]
        self.ended, self.stride = 0, 1

    def step_ended(self):
        if self.norm_due:
            self.norm_due = False
            self.session.quietly(self._take_norm, self.optimizer, self.own_steps)
        self.ended += 1
        if (self.ended - 1) % self.stride == 0:
            values = self.open
            self.steps.append(values[0] if len(values) == 1 and type(values[0]) is float else values)
            if len(self.steps) > _MOST:
                del self.steps[1::2]
                self.stride *= 2
        self.open = []

    # Gradients.

    def _optimizers_are_here(self, module):
        module.register_optimizer_step_pre_hook(self._stepping)

    def _stepping(self, optimizer, args, kwargs):
        if not self.session.here():
            return
        try:
            self.optimizer_steps += 1
            if self.optimizer is None:
                self.optimizer = optimizer
            found_inf = getattr(optimizer, "found_inf", None)
            if found_inf is not None:
                self.found_inf.append(found_inf.detach().clone())
            if optimizer is self.optimizer:
                self.own_steps += 1
                if _norm_step(self.own_steps):
                    # A closure is called inside of step(): its gradients are there when that is over.
                    if (args[1:] and args[1] is not None) or kwargs.get("closure") is not None:
                        self.norm_due = True
                    else:
                        self._take_norm(optimizer, self.own_steps)
        except Exception as trouble:
            self.session.trouble = repr(trouble)

    def _take_norm(self, optimizer, step):
        torch = self.session.torch
        if len(self.norms) >= _MOST or torch is None:
            return
        by_device = {}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and gradient.layout is torch.strided:
                    by_device.setdefault((gradient.device, gradient.dtype), []).append(gradient)
        if not by_device:
            return
        with torch.no_grad():
            parts = [torch.stack(torch._foreach_norm(some)).float().norm() for some in by_device.values()]
            norm = parts[0]
            if len(parts) > 1:
                norm = torch.stack([part.to(norm.device) for part in parts]).norm()
            scale = getattr(optimizer, "grad_scale", None)
            self.norms.append((step, norm / scale if scale is not None else norm))

    # Gradient scalers.

    def _scaler_is_here(self, module):
        self.session.patch(module.GradScaler, "scale", self._make_scale)
        self.session.patch(module.GradScaler, "step", self._make_scaler_step)

    def _make_scale(self, original):
        def scale(scaler, outputs):
            scaled = original(scaler, outputs)
            if scaled is not outputs:
                self.session.seen.scaler_used = True
                self.scaled = (scaled, outputs)
            return scaled

        return scale

    def _make_scaler_step(self, original):
        def step(scaler, optimizer, *args, **kwargs):
            before = self.optimizer_steps
            answer = original(scaler, optimizer, *args, **kwargs)
            self.skipped += self.optimizer_steps == before
            return answer

        return step

    # At the end.

    def told(self):
        """What of the document is ours. Now devices may be waited for."""
        document = {"losses": self._told_losses(), "gradient_norms": [], "skipped_steps": self.skipped}
        if self.stride > 1:
            document["loss_stride"] = self.stride
        try:
            document["gradient_norms"] = [[step, plain(float(norm))] for step, norm in self.norms]
            document["skipped_steps"] += sum(bool(found.item()) for found in self.found_inf)
        except Exception as trouble:  # a device that is lost
            self.session.trouble = repr(trouble)
        return document

    def _told_losses(self):
        told = []
        for values in self.steps:
            try:
                values = values if isinstance(values, list) else [values]
                numbers = [float(value) for value in values if value is not None]
            except Exception as trouble:
                self.session.trouble = repr(trouble)
                break
            told.append(plain(sum(numbers) / len(numbers)) if numbers else None)
        return told if any(value is not None for value in told) else []


def _norm_step(step):
    """A few of the first ten steps, then ten of each decade: a norm takes as long as a dozen operators."""
    return step in (1, 2, 3, 5) if step < 10 else step % 10 ** (len(str(step)) - 1) == 0


def plain(number):
    """As JSON can say it."""
    if number != number:
        return "nan"
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    return number
