# SPDX-License-Identifier: Apache-2.0
"""Whether a number that is read later would meet something in the program's own files that takes none.

Looked for in the source, since a trial is left long before a program writes its results. Names are followed,
not values: `total += loss.item()`, `return total / n`, `history.append(train())`, `json.dump(history, f)`. A
name that stands for two things counts as both: rather too much is found than too little.
"""
import ast
import os

from . import _sites
from ._source import Misfit, parts_of, source_of

_WRITERS = ("json", "simplejson", "ujson", "orjson", "yaml", "msgpack", "toml")
_WRITE = ("dump", "dumps", "safe_dump", "pack", "packb")
_LOGGERS = ("wandb", "transformers", "accelerate")  # their log() writes JSON, at once or in a checkpoint
_TENSORS = ("tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor", "LongTensor")
_PLAIN = ("float", "int", "bool", "str", "repr", "format", "round", "len", "isinstance")
_AT_ONCE = ("print", "float", "int", "bool", "str", "repr", "format", "round", "abs", "min", "max", "isnan",
            "isfinite", "isinf", "set_postfix", "set_description")
_MOST_FILES = 300  # a folder of everybody's code on the path is not all the program's
_KEEP = ("append", "add", "update", "setdefault", "insert", "extend", "appendleft", "put")


def of(seen, reads):
    """A sentence about the first that was found; empty: none."""
    sources, paths = [], [*map(_file, reads), *seen.scripts, *seen.files]
    for path in list(dict.fromkeys(os.path.join(_sites._cwd, path) for path in paths))[:_MOST_FILES]:
        try:
            sources.append(source_of(path))
        except Misfit:
            pass
    flow = _Flow(sources, {read.site for read in reads})
    for source in sources:
        for node in ast.walk(source.tree):
            why = _in_the_way(flow, source, node)
            if why:
                return "%s:%d %s" % (source.path, node.lineno, why)
    return ""


def _file(read):
    return read.site.rpartition(":")[0]


class _Flow:
    """The names that such a number may be found by: "total", ".avg" of any object, "train" that gives it."""

    def __init__(self, sources, sites):
        self.names, self.reads = set(), set()
        self.functions = {}  # name: definitions
        statements = []
        for source in sources:
            for node in ast.walk(source.tree):
                if isinstance(node, ast.FunctionDef):
                    self.functions.setdefault(node.name, []).append(node)
                if isinstance(node, (ast.stmt, ast.Call, ast.NamedExpr, ast.comprehension)):
                    statements.append((source, node))
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "item":
                    lines = range(node.lineno, node.end_lineno + 1)
                    if any("%s:%d" % (source.path, line) in sites for line in lines):
                        self.reads.add(node)
        before = -1
        while before < len(self.names):
            before = len(self.names)
            for source, node in statements:
                self._follow(source, node)

    def _follow(self, source, node):
        if isinstance(node, ast.Call):
            self._follow_call(node)
        elif isinstance(node, ast.Return):
            function = source.function_of(node)
            if node.value is not None and self.carries(node.value) and isinstance(function, ast.FunctionDef):
                self.names |= {function.name, "." + function.name}
        else:
            value = getattr(node, "iter", None) or getattr(node, "value", None)
            if value is not None and self.carries(value):
                for target in getattr(node, "targets", None) or [getattr(node, "target", None)]:
                    self.names |= set(_targets(target))

    def _follow_call(self, call):
        given = [(index, one) for index, one in enumerate(call.args) if self.carries(one)]
        named = [keyword.arg for keyword in call.keywords if self.carries(keyword.value)]
        if not given and not named:
            return
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if isinstance(call.func, ast.Attribute) and name in _KEEP:
            self.names |= set(_targets(call.func.value))
        makers = self.functions.get("__init__", ()) if name[:1].isupper() else ()
        for function in self.functions.get(name, makers):
            parameters = [one.arg for one in function.args.posonlyargs + function.args.args]
            if parameters[:1] == ["self"]:
                parameters = parameters[1:]
            self.names |= {parameters[index] for index, _ in given if index < len(parameters)}
            self.names |= {name for name in named if name}

    def carries(self, node):
        """Whether an expression may give such a number, or something that holds one."""
        if node in self.reads:
            return True
        if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Call) and getattr(node.func, "id", "") in _PLAIN):
            return False
        if isinstance(node, ast.Attribute) and "." + node.attr in self.names:
            return True
        if isinstance(node, ast.Name):
            return node.id in self.names
        return any(self.carries(child) for child in ast.iter_child_nodes(node))


def _targets(target):
    """Names that an assignment makes known: x, x[…] and x.y by their own, `a, b` by each."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Attribute):
        return ["." + target.attr]
    if isinstance(target, (ast.Subscript, ast.Starred)):
        return _targets(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for one in target.elts for name in _targets(one)]
    return []


def _in_the_way(flow, source, node):
    if isinstance(node, ast.Call):
        owner = getattr(getattr(node.func, "value", None), "id", "")
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if _copies_unwaited(node, name):
            return "copies to the host without waiting, and may count on .item() to have waited"
        writes = name in _WRITE and (owner in _WRITERS or not owner and _imported(source, name) in _WRITERS)
        logs = _imported_any(source, _LOGGERS) if name == "log" else ""
        named = {word.arg: word.value for word in node.keywords}
        tensor = owner == "torch" and name in _TENSORS and "dtype" not in named
        if (writes or logs or tensor) and any(map(flow.carries, [*node.args, *named.values()])):
            told = "torch." + name if tensor else logs or owner or _imported(source, name)
            return "gives the number to %s, which takes none that is read later" % told
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and (
            getattr(node.left.func, "id", "") == "type" and any(map(flow.carries, node.left.args))):
        return "asks for the very type of the number, and one that is read later has another"
    return ""


def _imported_any(source, modules):
    """The first of these modules that a file imports from."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [getattr(node, "module", None)] + [alias.name for alias in node.names]
            for name in names[:1] if names[0] else names[1:]:
                if name.split(".")[0] in modules:
                    return name.split(".")[0]
    return ""


def _imported(source, name):
    """The module that a name comes from; a module's own name for itself."""
    for node in ast.walk(source.tree):
        names = getattr(node, "names", ()) if isinstance(node, (ast.Import, ast.ImportFrom)) else ()
        if any((alias.asname or alias.name) == name for alias in names):
            return node.module or "" if isinstance(node, ast.ImportFrom) else name
    return ""


def _copies_unwaited(call, name):
    without = any(word.arg == "non_blocking" and getattr(word.value, "value", None) is True
                  for word in call.keywords)
    to_host = name == "to" and call.args and getattr(call.args[0], "value", None) == "cpu"
    return without and (name == "copy_" or to_host)


def used_at_once(site):
    """What the statement itself does with x.item() that needs the number; empty: nothing."""
    try:
        path, line = parts_of(site)
        source = source_of(path)
        calls = source.calls_of_kind(line, "item")
    except Misfit:
        return ""
    return next((why for why in (_need(source, call) for call in calls) if why), "")


def _need(source, call):
    node, above = call, source.parents.get(call)
    while above is not None and not isinstance(above, ast.stmt):
        name = getattr(above, "func", None)
        name = getattr(name, "attr", getattr(name, "id", ""))
        if isinstance(above, (ast.FormattedValue, ast.Compare)) or (
                isinstance(above, ast.Call) and name in _AT_ONCE) or (
                isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod)):
            return "uses the number at once: it can only be read less often"
        node, above = above, source.parents.get(above)
    if isinstance(above, (ast.If, ast.While, ast.Assert)) and node is above.test:
        return "uses the number at once: it can only be read less often"
    return ""
