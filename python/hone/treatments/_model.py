# SPDX-License-Identifier: Apache-2.0
"""What the treatments of a model share: what it is made of, and where the program makes it."""
from .. import _patch
from . import Unfit, _trainers

_WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "OptimizedModule")


def version(torch):
    """(2, 13)"""
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in torch.__version__.split(".")[:2])


def inner(module):
    """The program's own module inside of what spreads or compiles it."""
    while type(module).__name__ in _WRAPPERS:
        module = module._modules.get("module") or module._modules.get("_orig_mod")
    return module


def is_wrapped(module, *kinds):
    return type(module).__name__ in (kinds or _WRAPPERS)


def is_compiled(module, ours=()):
    """By the program: torch.compile(model), model.compile(), or of a part of it. `ours`: ids of others."""
    return any(type(part).__name__ == "OptimizedModule"
               or getattr(part, "_compiled_call_impl", None) is not None and id(part) not in ours
               for part in module.modules())


def device_of(module):
    """"cuda", "cpu": where the parameters lie; None without any."""
    for parameter in module.parameters():
        return parameter.device.type
    return None


def repeated_blocks(torch, module):
    """The instances of the class of blocks that a model is made of, in their order; [] if there is none.

    Of the classes that stand at least twice in ModuleLists and Sequentials, those that hold half as many
    parameters as the largest; of these the one that stands most often: layers, not their heads, and
    blocks, not the few stages that hold them.
    """
    nn, found = torch.nn, {}
    containers = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
    for holder in module.modules():
        if isinstance(holder, containers):
            for child in holder.children():
                if not isinstance(child, containers) and next(child.children(), None) is not None:
                    found.setdefault(type(child), {})[id(child)] = child
    held = {}
    for kind, blocks in found.items():
        parameters = {id(p): p.numel() for block in blocks.values() for p in block.parameters()}
        if len(blocks) >= 2 and parameters:
            held[kind] = sum(parameters.values())
    large = [kind for kind, count in held.items() if count * 2 >= max(held.values())]
    if not large:
        return []
    return list(found[max(large, key=lambda kind: len(found[kind]))].values())


def for_blocks(lines):
    """For code_for and edits_for: `lines` for each block that a model repeats, where it does."""
    def line(root):
        import torch

        module = inner(root.module) if root is not None and root.module is not None else None
        blocks = repeated_blocks(torch, module) if module is not None else []
        if root is not None and not blocks:
            return ""
        kind = type(blocks[0]).__name__ if blocks else "Block"
        return ('for block in {model}.modules():\n    if type(block).__name__ == "%s":\n        %s'
                % (kind, lines))

    return line


def has(module, *kinds):
    return module is not None and any(isinstance(part, kinds) for part in module.modules())


def roots(seen):
    """The modules of the run, without what wraps them."""
    return [inner(root.module) for root in seen.roots if getattr(root, "module", None) is not None]


def require_root(seen):
    if not seen.roots:
        raise Unfit("no nn.Module with parameters was called")


def require_cuda(seen, capability=None, what=""):
    if seen.device != "cuda":
        raise Unfit("the model is on the %s, not on a GPU" % (seen.device or "CPU").replace("cpu", "CPU"))
    if capability is not None and seen.capability is not None and tuple(seen.capability) < capability:
        raise Unfit("%s needs compute capability %d.%d, this GPU has %d.%d"
                    % ((what,) + capability + tuple(seen.capability[:2])))


def parameter_dtypes(seen):
    """{"torch.float32"}, of everything that is trained or called."""
    found = {str(dtype) for optimizer in seen.optimizers for dtype in optimizer.dtypes or ()}
    if not found:
        found = {str(p.dtype) for module in roots(seen) for p in module.parameters()}
    return {name if name.startswith("torch.") else "torch." + name for name in found}


# Where the program makes its model.

def names(seen):
    """What the program calls its models; "model" where that is not known."""
    return [root.name for root in seen.roots if root.name] or ["model"]


def code_for(seen, line, trainer=None):
    """`line` for every model, or line(root); `trainer`: by library, the arguments that do it where that owns
    the loop."""
    switches = _trainers.switches(seen, trainer)
    if switches:
        return _trainers.code(seen, switches)
    texts = []
    for root in seen.roots:
        name = (place(seen, root) or (None, root.name or "model"))[1]
        texts.append(_line(line, root).format(model=name, inner=name))
    texts = list(dict.fromkeys(filter(None, texts)))
    return "\n".join(texts) if texts else _line(line, None).format(model="model", inner="model")


def _line(line, root):
    return line(root) if callable(line) else line


def place(seen, root):
    """(site, name): the line before which a change to the model belongs, and its name there, or None."""
    try:
        return _place(seen, root)
    except _patch.Misfit:
        return None


def _place(seen, root):
    for optimizer in seen.optimizers:
        name = _name_at(seen, root, optimizer.site)
        if name:
            return optimizer.site, name
    if root.loop:
        return _place_in_library(seen, root)
    if root.name:
        site = _patch.site_before_use(root.site, root.name)
        if site:
            return site, root.name
    raise _patch.Misfit("where the model is made is not in sight")


def _place_in_library(seen, root):
    """Before the library is given the model, which the root is, or is part of."""
    module, given = inner(root.module), root.given
    parts = given.named_modules() if given is not None else ()
    path = next((name for name, part in parts if part is module), None)
    if path is None:
        raise _patch.Misfit("where the model is made is not in sight")
    site, name = _trainers.place(seen, root)
    if path and all(part.isidentifier() for part in path.split(".")):
        return site, "%s.%s" % (name, path)
    return site, '%s.get_submodule("%s")' % (name, path) if path else name


def _name_at(seen, root, site):
    """What the model is called where an optimizer is made for it; "" where that is not sure."""
    owners = _patch.owners_of_parameters(site)
    for owner in owners:
        if root.name == owner or root.name.startswith(owner + "."):
            return root.name
    # Called by another name in another function: it was handed over, if there is only one of each.
    alone = len(owners) == len(seen.optimizers) == len(seen.roots) == 1
    return owners[0] if alone and not _patch.same_function(site, root.site) else ""


def where(seen, trainer=None):
    if _trainers.switches(seen, trainer):
        return _trainers.where(seen)
    for root in seen.roots:
        found = place(seen, root)
        return found[0] if found else root.site
    return ""


def edits_for(seen, line, trainer=None):
    """`line` (or line(root), "" for none) for every model, before its optimizer is made or a library is given
    it. {model} is its name, {inner} what it is without DistributedDataParallel and the like, which may or may
    not be around it on that line."""
    switches = _trainers.switches(seen, trainer)
    if switches:
        return _trainers.edits(seen, switches)
    edits = []
    for root in seen.roots:
        try:
            (site, name), why = _place(seen, root), ""
        except _patch.Misfit as trouble:
            site, name, why = root.site, root.name or "model", str(trouble)
        # A library wraps what it was given later.
        wrapped = root.kind in _WRAPPERS and not root.loop
        inside = 'getattr(%s, "module", %s)' % (name, name) if wrapped else name
        text = _line(line, root).format(model=name, inner=inside)
        if text and site:
            edits.append(_patch.missing(site, text, why) if why else _patch.insert_before(site, text))
    return edits
