# SPDX-License-Identifier: Apache-2.0
"""A source file of the program, and what stands where in it. Offsets are in bytes of UTF-8, as ast counts."""
import ast
import io
import os
import re
import tokenize

from . import _sites

_sources = {}


class Misfit(Exception):
    """What was looked for is not there, or cannot be changed; the text says why."""


def parts_of(site):
    """("train.py", 30)"""
    path, _, line = (site or "").rpartition(":")
    if not path or not line.isdigit():
        raise Misfit("no line of the program is known for it")
    return told_path(path), int(line)


def told_path(path):
    """Relative where it lies below the folder that the program was started in."""
    return _sites.told(os.path.join(_sites._cwd, path))


def source_of(path):
    path = told_path(path)
    if path not in _sources:
        _sources[path] = Source(path)
    return _sources[path]


class Source:
    def __init__(self, path):
        self.path, full = path, os.path.join(_sites._cwd, path)
        if not _sites.is_program(full):
            raise Misfit("it belongs to an installed package")
        try:
            with open(full, "rb") as file:
                data = file.read()
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
            self.text = data.decode(encoding)
            self.tree = ast.parse(self.text)
        except (OSError, ValueError, SyntaxError, LookupError) as trouble:
            raise Misfit("its source cannot be read: %s" % trouble) from trouble
        self.data = self.text.encode()
        self._starts = [0] + [match.end() for match in re.finditer(rb"\r\n|\r|\n", self.data)]
        self.end_of_line = "\r\n" if "\r\n" in self.text else "\n"
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @property
    def indentation_unit(self):
        """As the file indents: four blanks, two, a tab."""
        for node in ast.walk(self.tree):
            inside = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(inside, list):
                outer, inner = self.indentation(node), self.indentation(inside[0])
                if outer is not None and inner and inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer):]
        return "    "

    # Offsets.

    def line_start(self, line):
        return self._starts[line - 1] if line <= len(self._starts) else len(self.data)

    def start(self, node):
        return self.line_start(node.lineno) + node.col_offset

    def end(self, node):
        return self.line_start(node.end_lineno) + node.end_col_offset

    def piece(self, node):
        return self.data[self.start(node):self.end(node)].decode()

    def indentation(self, node):
        """The blanks before a node that begins its line; else None."""
        before = self.data[self.line_start(node.lineno):self.start(node)].decode()
        return before if not before.strip() else None

    # What stands on a line.

    def _nodes(self, kind, line):
        return [node for node in ast.walk(self.tree)
                if isinstance(node, kind) and node.lineno <= line <= node.end_lineno]

    def statement(self, line):
        """The innermost statement on it."""
        found = self._nodes(ast.stmt, line)
        if not found:
            raise Misfit("no statement stands there")
        return min(found, key=lambda node: (node.end_lineno - node.lineno, -node.col_offset))

    def statement_of(self, node):
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def calls(self, line):
        """Calls on it, those that begin there first, inner ones first."""
        return sorted(self._nodes(ast.Call, line),
                      key=lambda node: (node.lineno != line, node.end_lineno - node.lineno,
                                        self.end(node) - self.start(node)))

    def calls_of_kind(self, line, callee):
        """The calls of a class, function or method that begin on a line, or the one that goes over it; by
        its last name or what it was imported as."""
        names = {callee}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                names.update(alias.asname for alias in node.names if alias.name == callee and alias.asname)
        found = [call for call in self.calls(line)
                 if getattr(call.func, "attr", getattr(call.func, "id", None)) in names]
        if not found:
            raise Misfit("no call of %s stands there" % callee)
        return [call for call in found if call.lineno == line] or found[:1]

    def call_of_name(self, line, name):
        """The call of an expression: "model", "self.net"."""
        for call in self.calls(line):
            if ast.unparse(call.func) == name:
                return call
        raise Misfit("no call of %s stands there" % name)

    def call_of_method(self, line, name):
        """The one call of a method, or of a function, by its last name."""
        found = [call for call in self.calls(line)
                 if getattr(call.func, "attr", getattr(call.func, "id", None)) == name]
        if len(found) != 1:
            raise Misfit("%d calls of %s stand there" % (len(found), name) if found
                         else "no call of %s stands there" % name)
        return found[0]

    def block_of(self, statement):
        """(the list of statements that it stands in, its place there)"""
        parent = self.parents.get(statement, self.tree)
        for field in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                return block, block.index(statement)
        raise Misfit("it does not stand in a block")

    def function_of(self, node):
        while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            node = self.parents.get(node)
        return node or self.tree

    # Modules.

    def binds_torch(self, statement):
        return self._binds_module(statement, "torch")

    def _binds_module(self, statement, name):
        return isinstance(statement, ast.Import) and any(
            alias.asname is None and (alias.name + ".").startswith(name + ".") for alias in statement.names)

    def imports(self, name):
        """Whether "torch.utils.checkpoint" can be used by that name in all of the file."""
        return any(self._binds_module(statement, name) for statement in self.tree.body)

    def after_imports(self):
        """The line after the imports at the head of the file; after torch's, where that comes later."""
        last = 0
        for index, statement in enumerate(self.tree.body):
            docstring = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            tried = isinstance(statement, ast.Try) and all(
                isinstance(inside, (ast.Import, ast.ImportFrom)) for inside in statement.body)
            if not (docstring or tried or isinstance(statement, (ast.Import, ast.ImportFrom))):
                break
            last = statement.end_lineno
        late = [s.end_lineno for s in self.tree.body if self.binds_torch(s) and s.end_lineno > last]
        return (late[0] if late else last) + 1


# Questions of treatments; none of them fails.

def _quiet(otherwise):
    def decorate(function):
        def ask(*arguments):
            try:
                return function(*arguments)
            except Misfit:
                return otherwise
        ask.__doc__ = function.__doc__
        return ask
    return decorate


@_quiet(())
def owners_of_parameters(site):
    """["net"] where the statement asks net.parameters()."""
    path, line = parts_of(site)
    source = source_of(path)
    found = [ast.unparse(node.func.value) for node in ast.walk(source.statement(line))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
             and node.func.attr in ("parameters", "named_parameters")]
    return list(dict.fromkeys(found))


@_quiet(False)
def same_function(site, other):
    (path, line), (other_path, other_line) = parts_of(site), parts_of(other)
    source = source_of(path)
    return path == other_path and (
        source.function_of(source.statement(line)) is source.function_of(source.statement(other_line)))


@_quiet(False)
def same_statement(site, other):
    (path, line), (other_path, other_line) = parts_of(site), parts_of(other)
    source = source_of(path)
    statement = source.statement(line)
    return path == other_path and statement is source.statement(other_line) and not any(
        source.end(other) <= source.start(statement) for other in source._nodes(ast.stmt, line))


def path_of(site):
    """"train.py", as it is told; "" for no site."""
    path = (site or "").rpartition(":")[0]
    return told_path(path) if path else ""


@_quiet("")
def unused_name(site, *names):
    """The first of these that stands nowhere in the site's file; "" where all do."""
    text = source_of(parts_of(site)[0]).text
    return next((name for name in names if not re.search(r"\b%s\b" % name, text)), "")


@_quiet(False)
def binds_name(site, name):
    """Whether the site's file uses a name for something else than a method."""
    source = source_of(parts_of(site)[0])
    return any(isinstance(node, ast.Name) and node.id == name
               or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
               and not isinstance(source.parents[node], ast.ClassDef) for node in ast.walk(source.tree))


@_quiet("")
def owner_of_call(site, method):
    """"self.opt" where the line calls self.opt.step()."""
    path, line = parts_of(site)
    call = source_of(path).call_of_method(line, method)
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def given_name(site, callee, argument):
    """"net" where a call on that line is given it as its first argument or by that keyword. Misfit: it is
    not, or not by a name."""
    path, line = parts_of(site)
    call = source_of(path).calls_of_kind(line, callee)[0]
    given = [keyword.value for keyword in call.keywords if keyword.arg == argument] or call.args[:1]
    name = ast.unparse(given[0]) if given else ""
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise Misfit("the model has no name where %s is given it" % callee)
    return name


@_quiet("")
def first_argument(site, name):
    """"x" where the line calls name(x, …)."""
    path, line = parts_of(site)
    call = source_of(path).call_of_name(line, name)
    return call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""


@_quiet("")
def site_before_use(site, name):
    """The first line after `name` was made that leads to its use at the site: mostly the loop.

    Looked for from the outside in, in the function that the site stands in; "" where `name` was made
    elsewhere, since a line there might run many times.
    """
    path, line = parts_of(site)
    source = source_of(path)
    statement, chain = source.statement(line), []
    function = source.function_of(statement)
    while statement is not None and statement is not function:
        if isinstance(statement, ast.stmt):
            chain.append(statement)
        statement = source.parents.get(statement)
    for statement in reversed(chain):
        block, index = source.block_of(statement)
        if any(_binds(before, name) for before in block[:index]):
            return "%s:%d" % (path, statement.lineno)
    return ""


def _binds(statement, name):
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    for node in ast.walk(statement):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == name:
                        return True
    return False


@_quiet(())
def find_call(path, callee):
    """Sites of calls of a name."""
    source = source_of(path)
    return ["%s:%d" % (source.path, node.lineno) for node in ast.walk(source.tree)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == callee]


@_quiet(())
def find_keyword(path, name, value):
    """Sites of calls with name=value, a constant."""
    source = source_of(path)
    return ["%s:%d" % (source.path, node.value.lineno) for node in ast.walk(source.tree)
            if isinstance(node, ast.keyword) and node.arg == name
            and isinstance(node.value, ast.Constant) and node.value.value == value
            and type(node.value.value) is type(value)]
