# SPDX-License-Identifier: Apache-2.0
"""A recipe of treatments in a program, and, in a trial of `hone tune`, what is measured of it.

    HONE_TUNE=order.json    a trial: treatments, seeds, losses, batches, and the program is left in time;
                            "recorded": it is left in time, and nothing else
    HONE_RECIPE=recipe.json treatments only
    hone.apply("recipe.json")  the same, from the program's own first lines

Whatever fails here is told and never reaches the program, which then runs as it would without.
"""
import json
import os
import sys

from . import _ranks, _sites
from ._import_hook import after_import
from ._seen import Optimizer, Seen

active = None  # the process' own Session


def start(environment):
    if environment.get("HONE_TUNE"):
        with open(environment["HONE_TUNE"]) as file:
            order = json.load(file)
        if order.get("recorded"):
            from ._trial import Recorded

            return Recorded(order)  # nothing of ours in the picture that the recorder takes
        session = Session(order)
        session.measure(environment["HONE_BENCH_DIR"])
    else:
        from . import _import_hook

        _import_hook.offer_marks()
        session = Session({})
        order = read_recipe(environment["HONE_RECIPE"])
    session.add(order.get("recipe", ()))
    return session


def read_recipe(path):
    with open(path) as file:
        recipe = json.load(file)
    if not isinstance(recipe, dict) or recipe.get("version") != 1 or not isinstance(recipe.get("recipe"), list):
        raise ValueError("%s is no recipe of hone tune: it has no \"version\": 1 and \"recipe\": […]" % path)
    return recipe


def apply(path):
    """hone.apply"""
    recipe = read_recipe(path)
    session = active if active is not None else Session({})
    return session.add(recipe["recipe"])


class Session:
    def __init__(self, order):
        global active
        active = self
        self.order = order
        self.seed_offset = int(order.get("seed_offset", 0))
        self.torch = None
        self.own = 0            # inside of a treatment's own code: what is called there is not the program's
        self.trouble = None     # ours, told in the file
        self.seen = Seen(cores=_cores(), world=_ranks.world(), local_world=_ranks.local_world())
        self.treatments = []
        self.unknown = []       # effects of treatments that could not be loaded
        self.scales = []        # factors for the gradient of each loss
        self.trial = None       # what measures; None where nothing is
        self._backward_listeners = None
        self._patches = []
        self._loaders = {}      # id of a loader: itself, weakly, and its Loader
        self._building = set()  # ids of what is in its __init__
        self._pid = os.getpid()
        self.roots = None       # _roots.Roots, with torch: processes without it are not to pay for them
        self.after_import("torch", self._torch_is_here)
        self.after_import("torch.utils.data.dataloader", self._loaders_are_here)
        self.after_import("torch.optim", self._optimizers_are_here)

    def measure(self, folder):
        from ._trial import Trial

        self.trial = Trial(self, folder)

    def here(self):
        """In the process that this session was started in: forked workers do not count."""
        return os.getpid() == self._pid

    def after_import(self, name, callback):
        """Calls callback(module) when it is there; what a treatment's own method raises is its fate."""
        owner = getattr(callback, "__self__", None)
        if hasattr(owner, "failed") and hasattr(owner, "options"):
            after_import(name, lambda module: self.guarded(owner, callback, module))
        else:
            after_import(name, callback)

    def _torch_is_here(self, torch):
        if hasattr(torch, "_C"):
            from ._roots import Roots

            self.torch = torch
            self.roots = Roots(self)

    # Patches.

    def patch(self, owner, name, make):
        """owner.name = make(original), until undo() or put_back(what this gave)."""
        inherited = isinstance(owner, type) and name not in owner.__dict__
        original = getattr(owner, name)
        replaced = make(original)
        setattr(owner, name, replaced)
        self._patches.append((owner, name, original, replaced, inherited))
        return self._patches[-1]

    def put_back(self, patch):
        owner, name, original, replaced, inherited = patch
        if patch in self._patches:
            self._patches.remove(patch)
        current = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
        if current is not replaced:
            return  # somebody else stands on it by now
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    def undo(self):
        for patch in reversed(list(self._patches)):
            self.put_back(patch)
        if self.roots is not None:
            self.roots.stop()

    def wrap_forward(self, module, around):
        self.roots.wrap_forward(module, around)

    # Treatments.

    def add(self, choices):
        from . import treatments

        added = []
        for choice in choices:
            name = choice.get("treatment", "")
            try:
                kind = treatments.find(name, self.order.get("treatments", ""))
                added.append(kind(self, choice.get("options") or {}))
            except Exception as trouble:
                self.unknown.append({"treatment": name, "state": "failed", "hits": 0, "why": _reason(trouble)})
        self.treatments = sorted(self.treatments + added, key=lambda one: treatments.place(one.name))
        for treatment in sorted(added, key=lambda one: treatments.place(one.name)):
            self.guarded(treatment, treatment.install)
        return added

    def guarded(self, treatment, method, *arguments):
        """Calls a treatment; what it raises is its own fate, not the program's."""
        self.own += 1
        try:
            return method(*arguments)
        except Exception as trouble:
            from .treatments import Unfit  # here: programs without treatments never load them

            if isinstance(trouble, Unfit):
                treatment.unfit(str(trouble))
            else:
                treatment.failed(_reason(trouble))
            return None
        finally:
            self.own -= 1

    def quietly(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as trouble:  # ours, never the program's
            self.trouble = _reason(trouble)
            return None

    def effects(self):
        return [{"treatment": one.name, "state": one.state, "hits": one.hits, "why": one.why}
                for one in self.treatments] + self.unknown

    # Backward.

    def on_backward(self, listener):
        """listener(tensors) before each torch.autograd.backward, which Tensor.backward calls too."""
        self._listen_to_backward()
        self._backward_listeners.append(listener)

    def scale_backward(self, factor):
        """Each loss counts factor() times for the gradients from now on."""
        self._listen_to_backward()
        self.scales.append(factor)

    def _listen_to_backward(self):
        if self._backward_listeners is None:
            self._backward_listeners = []
            self.after_import("torch.autograd", lambda module: self.patch(module, "backward", self._make_backward))

    def _make_backward(self, original):
        def backward(tensors, grad_tensors=None, *args, **kwargs):
            if self.here():
                for listener in self._backward_listeners:
                    listener(tensors)
                if self.scales:
                    grad_tensors = self.scaled_gradient(tensors, grad_tensors)
            return original(tensors, grad_tensors, *args, **kwargs)

        backward.__doc__ = original.__doc__
        return backward

    def scaled_gradient(self, tensors, gradients):
        """The gradient that a loss is given: what was asked for, times what treatments want."""
        factor = 1.0
        for scale in self.scales:
            factor *= scale()
        if factor == 1.0:
            return gradients
        single = not isinstance(tensors, (tuple, list))
        losses = [tensors] if single else list(tensors)
        given = [gradients] if single or gradients is None else list(gradients)
        given = given if len(given) == len(losses) else [None] * len(losses)
        ones = [self.torch.ones_like(loss) if one is None else one for loss, one in zip(losses, given)]
        scaled = [one * factor for one in ones]
        return scaled[0] if single else scaled

    # Loaders and optimizers.

    def _loaders_are_here(self, module):
        self.patch(module.DataLoader, "__init__", self._make_loader_init)

    def _make_loader_init(self, original):
        def __init__(loader, *args, **kwargs):
            given = _by_name(original, loader, args, kwargs)
            if given is None or not self.here() or id(loader) in self._building:
                return original(loader, *args, **kwargs)
            self._build(loader, original, given, "loader_arguments", args, kwargs)
            self.quietly(self._loader_made, loader, given)

        __init__.__wrapped__, __init__.__doc__ = original, original.__doc__
        return __init__

    def _optimizers_are_here(self, module):
        kinds = [kind for kind in vars(module).values()
                 if isinstance(kind, type) and issubclass(kind, module.Optimizer) and "__init__" in vars(kind)]
        for kind in kinds:
            self.patch(kind, "__init__", lambda original, kind=kind: self._make_optimizer_init(
                original, kind is not module.Optimizer))
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        if register is not None and self.trial is None:
            self._count_steps(register)

    def _count_steps(self, register):
        # Nobody else counts; three steps end the search for roots.
        counted = []

        def stepped(optimizer, args, kwargs):
            # It stays where it is: torch walks over its hooks just now, and none may go.
            if not self.roots.stopped:
                counted.append(1)
                self.roots.step_ended(len(counted))

        register(stepped)

    def _make_optimizer_init(self, original, torchs_own):
        def __init__(optimizer, *args, **kwargs):
            given = _by_name(original, optimizer, args, kwargs)
            if given is None or not self.here() or id(optimizer) in self._building:
                return original(optimizer, *args, **kwargs)
            if torchs_own:
                self._build(optimizer, original, given, "optimizer_arguments", args, kwargs)
            else:
                original(optimizer, *args, **kwargs)
                given = given.get("defaults") if isinstance(given.get("defaults"), dict) else {}
            self.quietly(self._optimizer_made, optimizer, given)

        __init__.__wrapped__, __init__.__doc__ = original, original.__doc__
        return __init__

    def _build(self, thing, original, given, method, args, kwargs):
        """thing.__init__ with the arguments that the treatments want; the program's own where they fail."""
        if self.treatments and not isinstance(given.get("params", ()), (list, tuple, dict, self.torch.Tensor)):
            given["params"] = list(given["params"])  # a generator; treatments look at it too
            args, kwargs = (), given
        arguments, changed_by = dict(given), []
        for treatment in self.treatments:
            change = getattr(treatment, method, None)
            before = dict(arguments)
            wanted = self.guarded(treatment, change, dict(arguments), type(thing)) if change else None
            if isinstance(wanted, dict):
                arguments = wanted
            if any(arguments.get(key, self) is not before.get(key, self) for key in {*arguments, *before}):
                changed_by.append(treatment)
        self._building.add(id(thing))
        try:
            if not changed_by:
                return original(thing, *args, **kwargs)
            try:
                return original(thing, **arguments)
            except Exception as trouble:
                for treatment in changed_by:
                    treatment.hits = 0
                    treatment.failed(_reason(trouble))
                return original(thing, **given)
        finally:
            self._building.discard(id(thing))

    def _loader_made(self, loader, given):
        from ._loader_facts import facts

        frame = _sites.frame_of_program(3)
        self.program_file(frame)
        seen = self._rebuilt(given) or facts(loader, given, self.torch)
        self._loaders[id(loader)] = (_weak(loader), seen)
        if seen not in self.seen.loaders:
            seen.site = _sites.site_of(frame)
            self.seen.loaders.append(seen)

    def _rebuilt(self, given):
        """The loader that this one is made of: accelerate, and Lightning with several ranks, take the program's
        loader apart and build one of their own. What holds for the program's holds for that."""
        frame = _sites.frame_outside(1, os.path.dirname(self.torch.__file__))
        if frame is None or _sites.is_program(frame.f_code.co_filename):
            return None
        same = [seen for thing, seen in self._loaders.values()
                if thing() is not None and seen.dataset == id(given.get("dataset"))]
        return same[-1] if same else None

    def loader_seen(self, loader):
        thing, seen = self._loaders.get(id(loader), (None, None))
        return seen if thing is not None and thing() is loader else None

    def _optimizer_made(self, optimizer, given):
        frame = _sites.frame_of_program(3)
        self.program_file(frame)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.seen.optimizers.append(Optimizer(
            kind=type(optimizer).__name__, arguments={k: v for k, v in given.items() if k != "params"},
            defaults=dict(optimizer.defaults), site=_sites.site_of(frame), parameters=len(parameters),
            elements=sum(p.numel() for p in parameters),
            dtypes={str(p.dtype) for p in parameters},
            devices={p.device.type for p in parameters},
            foreach_by_default=_foreach_by_default(self.torch, optimizer, parameters)))
        for treatment in self.treatments:
            self.guarded(treatment, treatment.optimizer_made, optimizer, given)

    def program_file(self, frame):
        if frame is not None:
            path = os.path.abspath(frame.f_code.co_filename)
            if path not in self.seen.scripts:
                self.seen.scripts.append(path)


def _by_name(init, thing, args, kwargs):
    """The arguments of a call by their names; None: the call is wrong, and will say so itself."""
    import inspect

    signature = inspect.signature(init)
    try:
        bound = signature.bind(thing, *args, **kwargs)
    except TypeError:
        return None
    arguments = dict(bound.arguments)
    arguments.pop(next(iter(signature.parameters)))
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments.update(arguments.pop(name, {}))
        elif parameter.kind is parameter.VAR_POSITIONAL and arguments.pop(name, ()):
            return None
    return arguments


def _foreach_by_default(torch, optimizer, parameters):
    if optimizer.defaults.get("foreach", "none") is not None or torch is None:
        return bool(optimizer.defaults.get("foreach"))
    return bool(parameters) and all(p.device.type == "cuda" for p in parameters) and not optimizer.defaults.get("fused")


def _weak(thing):
    import weakref

    return weakref.ref(thing)


def _reason(trouble):
    text = str(trouble).strip().split("\n")[0][:300]
    return "%s: %s" % (type(trouble).__name__, text) if text else type(trouble).__name__


def _cores():
    from ._seen import cores

    return cores()
