# SPDX-License-Identifier: Apache-2.0
"""The modules that a program trains: the outermost that it calls, seen on the way into their first calls.

nn.Module.__call__ is ours until three steps have ended, and never while such a module runs: what
torch.compile traces is as it would be without us.
"""
import contextlib
import functools
import sys
import threading

from . import _sites
from ._seen import Root

_LAST_STEP = 3


class Roots:
    def __init__(self, session):
        self.session = session
        self.known = {}       # id of a module: its Root; None: nothing to train in it
        self.modules = []     # kept so that ids stay theirs
        self.kept = []
        self.samples = []     # of the first root's inputs, a number a step
        self.samples_now = 0
        self.inside = threading.local()
        self.module_class = self.original = self.wrapper = None
        self.stopped = False
        session.after_import("torch", self._torch_is_here)
        session.after_import("torch._dynamo.utils", self._dynamo_is_here)

    def _torch_is_here(self, torch):
        self.module_class = torch.nn.Module
        self.original = torch.nn.Module.__call__
        self.wrapper = self._make_call(self.original)
        self._listen()
        self.session.patch(torch, "compile", self._make_compile)

    def _dynamo_is_here(self, utils):
        # It keeps what it takes for the original.
        if self.original is not None and getattr(utils, "unpatched_nn_module_call", None) is self.wrapper:
            utils.unpatched_nn_module_call = self.original

    def _make_compile(self, original):
        def compile(model=None, *args, **kwargs):
            if model is None or self.session.own:
                return original(model, *args, **kwargs)
            self.session.seen.compiled = True
            listened = self._put_back()  # what it binds must be the original
            compiled = original(model, *args, **kwargs)
            if listened and isinstance(model, self.module_class):
                self._listen()  # a function may call modules while it is traced: no more listening then
            return compiled

        compile.__doc__ = original.__doc__
        return compile

    def _make_call(self, original):
        def __call__(module, *args, **kwargs):
            if getattr(self.inside, "root", False) or not self.session.here():
                return original(module, *args, **kwargs)
            return self._called(module, args, kwargs)

        return __call__

    def _listen(self):
        self.module_class.__call__ = self.wrapper

    def _put_back(self):
        if self.original is None or self.module_class.__dict__.get("__call__") is not self.wrapper:
            return False
        self.module_class.__call__ = self.original
        return True

    @contextlib.contextmanager
    def aside(self):
        """Not listening inside: what is traced there is as it would be without us."""
        listened = self._put_back()
        self.session.own += 1
        try:
            yield
        finally:
            self.session.own -= 1
            if listened and not self.stopped:
                self._listen()

    def stop(self):
        self._put_back()
        self.stopped = True
        self.known = {key: root for key, root in self.known.items() if root is not None}
        del self.modules[:]

    def go_on(self):
        """Listens again: what was seen was no training."""
        if self.stopped and self.module_class is not None:
            self.stopped = False
            self._listen()

    def _called(self, module, args, kwargs):
        torch = self.session.torch
        # With an optimizer in sight, what is called without gradients is an evaluation, or a teacher.
        if torch is None or not torch.is_grad_enabled() and self.session.seen.optimizers:
            return self.original(module, *args, **kwargs)
        try:
            root = self._root(module)
            if root is not None:
                self._count(root, args, kwargs)
        except Exception as trouble:
            self.session.trouble, root = repr(trouble), None
        if root is None:
            return self.original(module, *args, **kwargs)
        self.inside.root = True
        self._put_back()
        try:
            output = self.original(module, *args, **kwargs)
            if not root.output:
                root.output = "tensor" if isinstance(output, torch.Tensor) else type(output).__name__
            return output
        finally:
            self.inside.root = False
            if not self.stopped:
                self._listen()

    def _root(self, module):
        if id(module) in self.known:
            return self.known[id(module)]
        self.modules.append(module)
        root = None
        if any(p.requires_grad or not self.session.seen.optimizers for p in module.parameters()):
            frame = _sites.frame_of_program(2)
            loop, running = _sites.loop_around(sys._getframe(2))
            given = _given(loop, running)
            root = Root(kind=type(module).__name__, module=module, site=_sites.site_of(frame),
                        loop=loop, entry=_sites.site_of(_sites.program_above(running)), given=given,
                        name=_sites.name_of_callee(frame, module) if frame is not None else "",
                        input_shapes=set())
            self.session.seen.roots.append(root)
            if self.session.trial is not None:
                # Treatments look at them when the program is over and has let go.
                self.kept += [module, given]
            self.session.program_file(frame)
            self._tell_device(module)
            for treatment in self.session.treatments:
                self.session.guarded(treatment, treatment.root, module)
        self.known[id(module)] = root
        return root

    def _tell_device(self, module):
        parameter = next(module.parameters())
        if len(self.session.seen.roots) == 1:
            self.session.seen.device = parameter.device.type

    def _count(self, root, args, kwargs):
        root.calls += 1
        tensor = self.session.torch.Tensor
        shapes = [tuple(value.shape) for value in (*args, *kwargs.values()) if isinstance(value, tensor)]
        if not shapes:
            inner = next((value for value in (*args, *kwargs.values())
                          if hasattr(value, "values") and hasattr(value, "keys")), None)
            shapes = [tuple(v.shape) for v in inner.values() if isinstance(v, tensor)] if inner else []
        if len(root.input_shapes) < 16:
            root.input_shapes.add(tuple(shapes))
        if shapes and shapes[0] and root is self.session.seen.roots[0]:
            self.samples_now += shapes[0][0]

    def step_ended(self, count):
        if self.stopped:
            return
        self.samples.append(self.samples_now)
        self.samples_now = 0
        if count >= _LAST_STEP:
            self.stop()

    def samples_per_step(self):
        counted = [samples for samples in self.samples if samples]
        return counted[-1] if counted else None

    # Treatments that change the call.

    def wrap_forward(self, module, around):
        """From now on module.forward is around(call, args, kwargs); a further one stands around this."""
        own = module.__dict__.get("forward")
        if own is not None:  # of this module alone, as accelerate sets it
            module.forward = _around(own, around)
            return
        module.__class__ = _subclass(type(module), around)


def _given(library, loop):
    """The model that a library's loop was given; None where it makes its own, or that is not known."""
    this = loop.f_locals.get("self") if loop is not None else None
    if library == "transformers":
        return getattr(this, "model", None) if getattr(this, "model_init", None) is None else None
    return getattr(getattr(this, "trainer", None), "lightning_module", None)


@functools.lru_cache(None)
def _subclass(kind, around):
    # A class of its own, not an attribute of the instance: that would go into every copy of it. The same
    # one for all blocks of a model, or a compiler would take each for something new.
    forward = kind.forward

    @functools.wraps(forward)
    def wrapped(self, *args, **kwargs):
        return around(functools.partial(forward, self), args, kwargs)

    def __reduce_ex__(self, protocol):
        # A copy or a saved module is the program's own again, without the treatment. In the way of
        # protocol 1, since pickle refuses another class than the object's in the later ones.
        function, parts, *rest = kind.__reduce_ex__(self, min(protocol, 1))
        return (function, tuple(kind if part is type(self) else part for part in parts), *rest)

    return type(kind.__name__, (kind,), {
        "forward": wrapped, "__reduce_ex__": __reduce_ex__, "__module__": kind.__module__,
        "__qualname__": kind.__qualname__, "__doc__": kind.__doc__})


def _around(call, around):
    @functools.wraps(call)
    def forward(*args, **kwargs):
        return around(call, args, kwargs)

    return forward
