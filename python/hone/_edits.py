# SPDX-License-Identifier: Apache-2.0
"""Kinds of edits to a source file of the program: each finds its place in the syntax tree."""
import ast
import inspect
import io
import sys
import tokenize

from ._source import Misfit, parts_of, source_of, told_path

# Of what goes in at the same place: what follows the line before, imports, lines before a statement, a header
# around it, its indentation, its own text.
_AFTER, IMPORTS, _BEFORE, _HEADER, _INDENT, _INSIDE = range(-2, 4)


class Edit:
    """make(source) -> changes, a list of (start, end, rank, text)."""

    is_remark = False
    group = None  # which edits go in only together

    def __init__(self, path, told, make, text="", merge=None):
        self.path, self.told, self.make, self.text, self.merge = path, told, make, text, merge


def _edit(site, told, make, text="", merge=None):
    try:
        path, line = parts_of(site)
    except Misfit as why:
        return missing(site, told, str(why))
    return Edit(path, "%s: %s" % (site, told), lambda source: make(source, line), text,
                merge and merge(path, line))


def missing(site, text, why):
    """A change that is not in the patch: only told."""
    def make(source):
        raise Misfit(why)

    path = (site or "").rpartition(":")[0]
    path = told_path(path) if path else ""
    return Edit(path, "%s%s" % (site + ": " if site else "", text.split("\n")[0]), make)


def remark(site, text):
    """No change: a line of its own at the top of the patch."""
    edit = missing(site, text, "")
    edit.is_remark = True
    return edit


def together(edits):
    """All of them or none: half of such a change is a wrong program."""
    group = object()
    for edit in edits:
        edit.group, edit.merge = group, None
    return edits


# Keywords.

def add_keywords(site, callee, keywords):
    """Gives the calls of `callee` on that line keywords, {"num_workers": "8"}; None takes one away."""
    told = "%s(%s)" % (callee, ", ".join("%s=%s" % (k, v) for k, v in keywords.items() if v is not None))

    def make(source, line):
        return [change for call in source.calls_of_kind(line, callee)
                for change in _keyword_changes(source, call, callee, keywords)]

    return _edit(site, told, make, " ".join(filter(None, keywords.values())),
                 lambda path, line: ("keywords", path, line, callee, keywords))


def _keyword_changes(source, call, callee, keywords):
    given = {keyword.arg: keyword for keyword in call.keywords}
    order = sorted(call.args + call.keywords, key=source.start)
    changes, added = [], []
    for name, value in keywords.items():
        if name in given:
            changes.append(_removed(source, order, given[name]) if value is None else (
                source.start(given[name].value), source.end(given[name].value), _BEFORE, value))
        elif value is not None:
            if None in given:
                raise Misfit("some of its keywords come from **%s" % source.piece(given[None].value))
            if _is_positional(callee, name, len(call.args)):
                raise Misfit("%s is given by its position" % name)
            added.append("%s=%s" % (name, value))
    if added:
        changes.append(_added(source, call, order, added))
    return changes


def _removed(source, order, keyword):
    index = order.index(keyword)
    if index > 0:
        return source.end(order[index - 1]), source.end(keyword), _BEFORE, ""
    after = source.start(order[1]) if len(order) > 1 else source.end(keyword)
    return source.start(keyword), after, _BEFORE, ""


def _added(source, call, order, added):
    if not order:
        at = source.end(call) - 1
        return at, at, _HEADER, ", ".join(added)
    last = order[-1]
    blanks = source.indentation(last)
    between = ", " if blanks is None or last.lineno == call.lineno else "," + source.end_of_line + blanks
    at = source.end(last)
    return at, at, _HEADER, "".join(between + text for text in added)


def _is_positional(callee, name, count):
    for home in ("torch.optim", "torch.utils.data"):
        known = getattr(sys.modules.get(home), callee, None)
        if known is not None:
            parameters = list(inspect.signature(known).parameters)
            return name in parameters and parameters.index(name) < count
    return False


def replace_keyword(site, name, value):
    """`name=…` on that line, in whichever call, becomes name=value."""
    def make(source, line):
        found = [node.value for node in ast.walk(source.tree)
                 if isinstance(node, ast.keyword) and node.arg == name and node.value.lineno == line]
        if not found:
            raise Misfit("%s= is not there" % name)
        return [(source.start(node), source.end(node), _BEFORE, value) for node in found]

    return _edit(site, "%s=%s" % (name, value), make, value)


def replace(site, old, new):
    """A piece of text of the statement on that line, which must stand there once."""
    def make(source, line):
        statement = source.statement(line)
        start, piece = source.start(statement), source.piece(statement).encode()
        if piece.count(old.encode()) != 1:
            raise Misfit("%r stands there %d times" % (old, piece.count(old.encode())))
        at = start + piece.index(old.encode())
        return [(at, at + len(old.encode()), _BEFORE, new)]

    return _edit(site, "%s becomes %s" % (old, new), make, new)


# Numbers that stay on the device.

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)


def unread(site, kept):
    """`x += loss.item()`, `xs.append(loss.item())`, `x = loss.item()`: .item() becomes ".detach()"."""
    return _edit(site, ".item() becomes " + kept, lambda source, line: _unread(source, line, kept), kept)


def unread_text(site, kept):
    """The statement as unread() leaves it; empty where that does not fit."""
    try:
        path, line = parts_of(site)
        source = source_of(path)
        changes, statement = _unread(source, line, kept), source.statement(line)
    except Misfit:
        return ""
    text, at = b"", source.start(statement)
    for start, end, _, new in sorted(changes):
        text, at = text + source.data[at:start] + new.encode(), end
    return (text + source.data[at:source.end(statement)]).decode()


def _unread(source, line, kept):
    statement = source.statement(line)
    value = _number_of(statement)
    if value is None:
        raise Misfit("what becomes of the number is not in sight")
    changes = []
    for call in source.calls_of_kind(line, "item"):
        node = call
        while node is not value:
            node = source.parents[node]
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                raise Misfit("a division on the device may round otherwise")
            if not (isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC)
                    or isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
                raise Misfit("the number is used at once")
        if call.args or call.keywords or not isinstance(call.func, ast.Attribute):
            raise Misfit("it is no .item() of a tensor")
        changes.append((source.end(call.func.value), source.end(call), _BEFORE, kept))
    if isinstance(statement, ast.AugAssign):
        changes += _assigned(source, statement)
    return changes


def _number_of(statement):
    """The expression whose value a statement keeps; None: it does something else."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        return value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and not isinstance(
            statement.targets[0], (ast.Tuple, ast.List)):
        return value
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and (
            getattr(value.func, "attr", "") == "append" and len(value.args) == 1):
        return value.args[0]
    return None


def _assigned(source, statement):
    """x += y as x = x + y: the first would write into a tensor that the program may hold by another name."""
    target, value = statement.target, statement.value
    if any(isinstance(node, (ast.Call, ast.NamedExpr)) for node in ast.walk(target)):
        raise Misfit("its target would be computed twice")
    sign = "+" if isinstance(statement.op, ast.Add) else "-"
    start, end = source.end(target), source.start(value)
    between = source.data[start:end].decode()
    longer = "= %s %s" % (source.piece(target), sign)
    changes = [(start, end, _BEFORE, between.replace(sign + "=", longer, 1))]
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) and "(" not in between:
        changes += [(end, end, _HEADER, "("), (source.end(value), source.end(value), _HEADER, ")")]
    return changes


# Lines.

def insert_before(site, text):
    """Lines before the statement on that line, with its indentation."""
    def make(source, line):
        statement = source.statement(line)
        blanks = source.indentation(statement)
        if blanks is None:
            raise Misfit("its statement does not begin the line")
        at = source.line_start(statement.lineno)
        return [(at, at, _BEFORE, _indented(source, text, blanks))]

    return _edit(site, text.split("\n")[0], make, text)


def insert_after_imports(path, text):
    """Lines after the imports at the head of a file."""
    path = told_path(path)
    return Edit(path, "%s: %s" % (path, text.split("\n")[0]),
                lambda source: _after_imports(source, text), text, ("imports", path, text))


def _after_imports(source, text):
    at = source.line_start(source.after_imports())
    end = source.end_of_line
    before = "" if at == 0 else end
    if at == len(source.data) and at and not source.text.endswith("\n"):
        before += end
    return [(at, at, IMPORTS, before + _indented(source, text, ""))]


def _indented(source, text, blanks):
    return "".join((blanks + line if line else "") + source.end_of_line for line in text.split("\n"))


# Blocks.

def wrap_call(site, name, header, suffix="", scaler=""):
    """Puts the statement that calls `name` under `header`, "with …" without its colon.

    suffix: follows the call's result (".float()"). Where there is none, and the result is no loss yet,
    what follows in the block up to the backward pass goes under the header too. scaler: the name of the
    gradient scaler for a loss that this statement goes backward from.
    """
    def make(source, line):
        call = source.call_of_name(line, name)
        statement = source.statement_of(call)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            raise Misfit("it is part of a larger statement")
        changes = [(source.end(call), source.end(call), _BEFORE, suffix)] if suffix else []
        if _backward_of(statement) is not None:
            return changes + _split(source, statement, call, header, scaler)
        if scaler:
            raise Misfit("what goes backward is made in the same statement")
        block, first = source.block_of(statement)
        last = first
        if not suffix and not _takes_loss(source, call):
            last = _before_backward(block, first)
        return changes + _wrapped(source, block[first:last + 1], block[last + 1:last + 2], header)

    return _edit(site, header, make, header)


def _takes_loss(source, call):
    above = source.parents[call]
    return getattr(above, "attr", None) == "loss" or (
        isinstance(above, ast.Subscript) and getattr(above.slice, "value", None) == "loss")


def _backward_of(statement):
    """X where a statement is X.backward(…)."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and (
            getattr(value.func, "attr", None) == "backward"):
        return value.func.value
    return None


def _before_backward(block, first):
    for index in range(first + 1, len(block)):
        if any(getattr(node, "attr", None) == "backward" for node in ast.walk(block[index])):
            return index - 1
    return first


def _wrapped(source, statements, following, header):
    blanks = source.indentation(statements[0])
    last = statements[-1]
    if blanks is None or any(source.indentation(statement) is None for statement in statements) or any(
            after.lineno == last.end_lineno for after in following):
        raise Misfit("several statements stand on its line")
    at = source.line_start(statements[0].lineno)
    changes = [(at, at, _HEADER, blanks + header + ":" + source.end_of_line)]
    inside = _lines_inside_strings(source)
    for line in range(statements[0].lineno, last.end_lineno + 1):
        start = source.line_start(line)
        if line not in inside and source.data[start:source.line_start(line + 1)].strip():
            changes.append((start, start, _INDENT, source.indentation_unit))
    return changes


def _lines_inside_strings(source):
    """Lines that begin within a text, whose blanks are part of it."""
    inside, opened = set(), []
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind.endswith("STRING_START"):
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            inside.update(range(opened.pop() + 1, token.end[0] + 1))
    return inside


def wrap_statement(site, header):
    """Puts the statement on that line under `header`."""
    def make(source, line):
        statement = source.statement(line)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            raise Misfit("it is part of a larger statement")
        block, index = source.block_of(statement)
        return _wrapped(source, [statement], block[index + 1:index + 2], header)

    return _edit(site, header, make, header)


def _split(source, statement, call, header, scaler):
    """`X.backward()` with the model's call in X: the loss gets a name, so that backward stays outside."""
    used = {node.id for node in ast.walk(source.function_of(statement)) if isinstance(node, ast.Name)}
    name = next(name for name in ("loss", "step_loss", "hone_loss") if name not in used or name == "hone_loss")
    loss = _backward_of(statement)
    if call not in ast.walk(loss):
        raise Misfit("what goes backward is made in the same statement")
    blanks, end = source.indentation(statement), source.end_of_line
    if blanks is None or statement.lineno != statement.end_lineno:
        raise Misfit("its statement does not stand on one line of its own")
    at = source.start(statement)
    func = statement.value.func
    dot = source.data.rindex(b".", source.end(loss), source.end(func))  # after any parenthesis
    return [(source.line_start(statement.lineno), source.line_start(statement.lineno), _HEADER,
             blanks + header + ":" + end),
            (at, at, _INDENT, source.indentation_unit + name + " = "),
            (dot, dot, _INDENT, end + blanks + ("%s.scale(%s)" % (scaler, name) if scaler else name))]
