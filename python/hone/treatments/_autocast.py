# SPDX-License-Identifier: Apache-2.0
"""What the treatments of mixed precision share: the root's forward under autocast, and nothing else.

The program's own code sees what it saw before: outputs of 16 bits become float32 on their way out, so
losses, metrics and .numpy() work on. Everything in here may be traced by a compiler, so it counts
nothing and keeps nothing.
"""
import dataclasses

from .. import _patch
from . import NUMERIC, Treatment, Unfit, _model, _trainers


class Autocast(Treatment):
    risk, group = NUMERIC, "autocast"
    # The replay's own words for autocast first, of which it has one for a device (where both are, they
    # run at the same rates): they know casts and bytes.
    cures = ("bf16-autocast", "fp16-autocast", "no-tensor-cores")
    dtype = ""  # "bfloat16"
    trainer = {}  # by library: the arguments of its Trainer that do the same

    @classmethod
    def require(cls, seen):
        _model.require_root(seen)
        if seen.autocast:
            raise Unfit("the program runs under autocast itself (%s)" % ", ".join(sorted(seen.autocast)))
        dtypes = _model.parameter_dtypes(seen)
        if dtypes and "torch.float32" not in dtypes:
            raise Unfit("no parameter is float32 (%s)" % ", ".join(sorted(dtypes)))

    @classmethod
    def where(cls, seen):
        if _trainers.switches(seen, cls.trainer):
            return _trainers.where(seen)
        return seen.roots[0].site if seen.roots else ""

    @classmethod
    def code(cls, seen, options):
        switches = _trainers.switches(seen, cls.trainer)
        if switches:
            return _trainers.code(seen, switches)
        return _header(seen, cls.dtype) + ":\n" + "\n".join(
            "    output = %s(…)" % name for name in dict.fromkeys(_model.names(seen)))

    @classmethod
    def edits(cls, seen, options):
        switches = _trainers.switches(seen, cls.trainer)
        if switches:
            return _trainers.edits(seen, switches)
        return cls.wraps(seen)

    @classmethod
    def wraps(cls, seen, scaler="", backward=""):
        """The model's calls under autocast; the one in the statement at `backward` with the loss scaled."""
        header, edits = _header(seen, cls.dtype), []
        for root in seen.roots:
            if root.name and root.site:
                suffix = ".float()" if root.output == "tensor" else ""
                here = scaler if _patch.same_statement(root.site, backward) else ""
                edits.append(_patch.wrap_call(root.site, root.name, header, suffix, here))
            else:
                edits.append(_patch.missing(root.site, header, "how the model is called there is not known"))
        return edits

    def root(self, module):
        torch = self.session.torch
        device = _model.device_of(module)
        enabled = _question(torch, device)
        if enabled():
            self.inert("the program runs under autocast itself")
            return
        if not any(p.dtype == torch.float32 for p in module.parameters()):
            self.inert("no parameter is float32")
            return
        dtype = getattr(torch, self.dtype)

        def around(call, args, kwargs):
            if enabled():
                return call(*args, **kwargs)
            with torch.autocast(device, dtype=dtype):
                output = call(*args, **kwargs)
            return as_float32(torch, output)

        self.session.wrap_forward(module, around)
        self.hit()


def _header(seen, dtype):
    return 'with torch.autocast("%s", dtype=torch.%s)' % (seen.device, dtype)


def _question(torch, device):
    """Whether the program is under autocast now."""
    if _model.version(torch) >= (2, 4):
        return lambda: torch.is_autocast_enabled(device)
    return torch.is_autocast_cpu_enabled if device == "cpu" else torch.is_autocast_enabled


def as_float32(torch, value):
    """The same value with float32 for 16 bits, in containers of the same type; others are left as they are."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
    if isinstance(value, dict):
        return _dict_as_float32(torch, value)
    if isinstance(value, (list, tuple)):
        items = [as_float32(torch, item) for item in value]
        if type(value) in (list, tuple):
            return type(value)(items)
        return type(value)(*items) if hasattr(value, "_fields") else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass_as_float32(torch, value)
    return value


def _dict_as_float32(torch, value):
    if type(value) is dict:
        return {key: as_float32(torch, item) for key, item in value.items()}
    # ModelOutput of transformers keeps its items as attributes too, and made this one for this call.
    for key in list(value.keys()):
        item = value[key]
        changed = as_float32(torch, item)
        if changed is not item:
            value[key] = changed
    return value


def _dataclass_as_float32(torch, value):
    changes = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name, None)
        changed = as_float32(torch, item)
        if changed is not item and field.init:
            changes[field.name] = changed
    return dataclasses.replace(value, **changes) if changes else value
