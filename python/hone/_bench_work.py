# SPDX-License-Identifier: Apache-2.0
"""What a program worked on, for `hone bench` to compare: batches, parameters, precision, operators.

Batches are seen where a DataLoader hands them out. Everything else is looked at in a few steps, between
the end of one and the next call of the optimizer, and those steps are left out of the times: operators
by torch's old profiler (the new one writes to stderr), modules by a walk over the garbage collector's objects. Nothing
here asks a device for a value, draws a random number or changes a module.
"""
import gc
import sys
import zlib

# The batches that are described, so many tensors of each, so many values of those.
_FIRST, _TENSORS, _VALUES = 16, 4, 16
_LOADING = "hone: loading"


class Work:
    def __init__(self, torch):
        self.torch = torch
        self.batches = self.elements = 0
        self.shapes = self.content = 0
        self.first_shape = ""
        self.profile = self.before_step = None
        self.facts = {}
        self.operators = []  # one dict a look
        self.shape_sums = []
        self.missed = False  # the last look showed nothing
        self.misses = 0

    # Batches.

    def batch(self, batch):
        """Samples in it; also adds it to the description."""
        tensors = []
        _collect(self.torch.Tensor, batch, tensors, 0)
        self.batches += 1
        if not tensors:
            return len(batch) if isinstance(batch, (list, tuple)) else 0
        first = tensors[0]
        self.elements += first.numel()
        if self.batches <= _FIRST:
            self._describe(tensors)
        return _size(self.torch.Tensor, batch, first)

    def _describe(self, tensors):
        shapes = ", ".join("%s %s" % ("x".join(map(str, t.shape)) or "scalar", _dtype(t)) for t in tensors)
        if self.batches == 1:
            self.first_shape = shapes
        self.shapes = zlib.crc32(shapes.encode(), self.shapes)
        for tensor in tensors:
            if tensor.device.type != "cpu" or tensor.layout is not self.torch.strided:
                continue  # asking a device for values would make the program wait
            count = tensor.numel()
            flat = tensor.detach().reshape(-1) if tensor.is_contiguous() else None
            if flat is None or count == 0:
                continue
            values = flat[::max(1, count // _VALUES)][:_VALUES].tolist()
            self.content = zlib.crc32(repr(values).encode(), self.content)

    # Looks.

    def loading(self):
        """What runs inside is the loader's work: not looked at, as its workers' is not."""
        return self.torch.autograd.profiler.record_function(_LOADING)

    def look(self, optimizer):
        """Begins to look at a step's operators. False: not possible now."""
        if self.profile is not None:
            return False
        try:
            from torch.autograd import profiler_legacy

            if self.torch._C._autograd._profiler_enabled():
                return False  # the program's own profiler
            profile = profiler_legacy.profile(record_shapes=True)
            profile.__enter__()
        except Exception:
            return False
        self.profile, self.missed = profile, False
        self.optimizer = optimizer
        if optimizer is not None:
            self.before_step = _hooks().register_optimizer_step_pre_hook(self._stepping)
        return True

    def _stepping(self, optimizer, args, kwargs):
        try:
            if optimizer is self.optimizer:
                self.end_look()
        except Exception as trouble:
            self.facts["trouble"] = repr(trouble)

    def end_look(self):
        events = self._end_profile()
        if events is None:
            return
        self._count(events)
        self._tell_modules(self.optimizer)
        self._tell_precision()
        self.optimizer = None

    def drop_looks(self):
        """What was looked at so far was not the steps that count."""
        self._end_profile()
        del self.operators[:], self.shape_sums[:]
        self.missed, self.facts = False, {}

    def _end_profile(self):
        profile, self.profile = self.profile, None
        if profile is None:
            return None
        if self.before_step is not None:
            self.before_step.remove()
            self.before_step = None
        try:
            profile.__exit__(None, None, None)
            return profile.function_events
        except AssertionError:
            # torch ends its profile and cannot read it: something that another thread ends (a collective of
            # gloo) had begun before.
            self.missed, self.misses = True, self.misses + 1
            return None

    def _count(self, events):
        names, sums, loading = {}, 0, set()
        for event in events:  # parents stand before their children
            name = event.name
            if name == _LOADING or (event.cpu_parent is not None and event.cpu_parent.id in loading):
                loading.add(event.id)
            elif name.startswith("aten::"):
                names[name] = names.get(name, 0) + 1
                sums = (sums + zlib.crc32(repr((name, event.input_shapes)).encode())) & 0xffffffffffff
        self.operators.append(names)
        self.shape_sums.append(sums)

    def _tell_modules(self, optimizer):
        torch, facts = self.torch, self.facts
        modules = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
        parameters = {}
        for module in modules:
            for parameter in (getattr(module, "_parameters", None) or {}).values():
                if parameter is not None:
                    parameters[id(parameter)] = parameter
        facts["parameters"] = str(sum(p.numel() for p in parameters.values()))
        stepped = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        if stepped:
            facts["optimized parameters"] = str(sum(p.numel() for p in stepped))
            facts["parameters with gradient"] = "%d of %d" % (
                sum(p.grad is not None for p in stepped), len(stepped))
            facts["optimizer"] = type(optimizer).__name__ + _flags(optimizer.defaults)
        used = stepped or list(parameters.values())
        facts["parameter dtypes"] = ", ".join(sorted({_dtype(p) for p in used}))
        facts["device"] = ", ".join(sorted({p.device.type for p in used}))
        facts["layout"] = "%d parameters channels last" % sum(
            p.dim() == 4 and not p.is_contiguous()
            and p.is_contiguous(memory_format=torch.channels_last) for p in used)
        training = sum(bool(m.training) for m in modules)
        facts["modules in training mode"] = (
            "all" if training == len(modules) else "%d of %d" % (training, len(modules)) if training else "none")
        facts["compiled"] = "yes" if any(
            type(m).__name__ == "OptimizedModule" or getattr(m, "_compiled_call_impl", None) is not None
            for m in modules) or _compiled_graphs() else "no"

    def _tell_precision(self):
        torch, facts = self.torch, self.facts
        facts["autocast"] = ", ".join(sorted(_autocast)) or "off"
        facts["matmul precision"] = torch.get_float32_matmul_precision()
        facts["threads"] = str(torch.get_num_threads())
        cudnn = torch.backends.cudnn
        if torch.cuda.is_available():
            facts["TF32 in cuDNN"] = str(bool(cudnn.allow_tf32))
            facts["deterministic"] = str(torch.are_deterministic_algorithms_enabled())

    def told(self):
        if self.profile is not None:
            self.end_look()
        facts = dict(self.facts)
        if self.batches:
            facts["batch shapes"] = "%s (%08x)" % (self.first_shape, self.shapes)
            facts["batch content"] = "%08x" % self.content
        document = {"facts": facts, "operators": self.operators, "operator_shapes": self.shape_sums,
                    "batches": self.batches, "elements": self.elements}
        cuda = self.torch.cuda
        if cuda.is_initialized():
            document["peak_device_bytes"] = sum(
                map(cuda.max_memory_allocated, range(cuda.device_count())))
        return document


_autocast = set()  # "bfloat16 on cuda"


def autocast_is_here(module):
    enter = module.autocast.__enter__

    def __enter__(self):
        if getattr(self, "_enabled", False):
            _autocast.add("%s on %s" % (str(self.fast_dtype).replace("torch.", ""), self.device))
        return enter(self)

    module.autocast.__enter__ = __enter__


def _hooks():
    return sys.modules["torch.optim.optimizer"]  # torch.optim hides it


def _flags(defaults):
    on = [name for name in ("fused", "foreach", "capturable") if defaults.get(name)]
    return " (%s)" % ", ".join(on) if on else ""


def _compiled_graphs():
    utils = sys.modules.get("torch._dynamo.utils")
    return bool(utils is not None and utils.counters["stats"]["unique_graphs"])


def _dtype(tensor):
    return str(tensor.dtype).replace("torch.", "")


def _collect(tensor, thing, found, depth):
    """The first tensors of a batch, however it is wrapped."""
    if isinstance(thing, tensor):
        found.append(thing)
    elif depth < 4 and hasattr(thing, "values") and hasattr(thing, "keys"):
        _collect_all(tensor, thing.values(), found, depth)
    elif depth < 4 and isinstance(thing, (list, tuple)):
        _collect_all(tensor, thing, found, depth)


def _collect_all(tensor, things, found, depth):
    for thing in things:
        if len(found) >= _TENSORS:
            return
        _collect(tensor, thing, found, depth + 1)


def _size(tensor, batch, first):
    # (images, labels) and {"input_ids": …} count along the first tensor; a list of lists, as collate
    # functions for images of many sizes give it, counts its inner list.
    if isinstance(batch, (list, tuple)) and batch and isinstance(batch[0], (list, tuple)):
        return len(batch[0])
    return first.shape[0] if first.dim() else 1
