# SPDX-License-Identifier: Apache-2.0
"""The places of a gradient scaler in a program's source: where it is made, where the loss goes backward, and
where the optimizer steps. They go in together (_edits.together) or not at all."""
import ast

from . import _edits
from ._source import Misfit, owner_of_call, parts_of, path_of


def make_scaler(site, uses, text):
    """`text`, which gives the scaler its name, where all uses see it: before the statement on the site's
    line, which makes the optimizer, or after the imports of the file that the uses are in."""
    path = path_of(uses[0])
    if any(path_of(use) != path for use in uses):
        return _edits.missing(uses[0], text, "its uses stand in several files, %s"
                              % " and ".join(sorted(set(map(path_of, uses)))))

    def make(source):
        statement = None
        if path_of(site) == path:
            statement = _outermost_choice(source, source.statement(parts_of(site)[1]))
        if statement is None or source.indentation(statement) is None or not all(
                _sees(source, source.statement(parts_of(use)[1]), statement) for use in uses):
            return _edits._after_imports(source, text)
        at = source.line_start(statement.lineno)
        return [(at, at, _edits._BEFORE, _edits._indented(source, text, source.indentation(statement)))]

    return _edits.Edit(path, "%s: %s" % (site if path_of(site) == path else path, text), make, text)


def _outermost_choice(source, statement):
    """The statement itself, or that which decides whether it is run, in the same function."""
    found, node = statement, source.parents.get(statement)
    while node is not None and node is not source.function_of(statement):
        is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        if isinstance(node, (ast.If, ast.Try)) and not is_main:
            found = node
        node = source.parents.get(node)
    return found


def _sees(source, use, statement):
    """Whether a name that is made before `statement` is there where `use` runs."""
    home = source.function_of(statement)
    if source.function_of(use) is not home:
        # In a function of its own, which runs later: inside of this one, or anywhere if this is the module.
        node = source.parents.get(use)
        while node is not None and node is not home:
            node = source.parents.get(node)
        return node is home
    block, index = source.block_of(statement)
    while use is not None and use not in block:
        use = source.parents.get(use)
    return use is not None and block.index(use) >= index


def scale_backward(site, scaler, is_method, is_split=False):
    """`X.backward()` becomes `scaler.scale(X).backward()`; torch.autograd.backward(X) likewise. is_split:
    another edit (_edits.wrap_call) takes the statement apart and does so."""
    def make(source, line):
        call = source.call_of_method(line, "backward")
        _require_alone(source, call, lambda other: True)
        _require_unread(source)
        if is_split:
            return []
        if is_method:
            if not isinstance(call.func, ast.Attribute):
                raise Misfit("it is not called by .backward()")
            loss, start = call.func.value, source.start(call.func)
        else:
            tensors = [keyword.value for keyword in call.keywords if keyword.arg == "tensors"]
            loss = (call.args[:1] or tensors or [None])[0]
            if loss is None or isinstance(loss, ast.Starred):
                raise Misfit("what goes backward is not in sight")
            start = source.start(loss)
        if start < source.start(loss):  # in parentheses
            return [(start, start, _edits._INSIDE, scaler + ".scale")]
        return [(start, start, _edits._INSIDE, scaler + ".scale("),
                (source.end(loss), source.end(loss), _edits._INSIDE, ")")]

    told = "%s.scale(%s).backward()" % (scaler, owner_of_call(site, "backward") or "…")
    return _edits._edit(site, told if is_method else "%s.scale(…)" % scaler, make)


def scale_step(site, scaler):
    """`opt.step()` becomes `scaler.step(opt)`, with `scaler.update()` on the next line."""
    def make(source, line):
        call = source.call_of_method(line, "step")
        statement = source.statement_of(call)
        if call.args or call.keywords:
            raise Misfit("the optimizer is given a closure")
        if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(call.func, ast.Attribute):
            raise Misfit("it is part of a larger statement")
        block, index = source.block_of(statement)
        blanks, following = source.indentation(statement), block[index + 1:index + 2]
        if blanks is None or any(after.lineno == statement.end_lineno for after in following):
            raise Misfit("several statements stand on its line")
        owner = ast.unparse(call.func.value)
        _require_alone(source, call, lambda other: isinstance(other.func, ast.Attribute)
                       and ast.unparse(other.func.value) == owner)
        at, update = source.line_start(statement.end_lineno + 1), blanks + scaler + ".update()"
        cut_off = at == len(source.data) and not source.text.endswith(("\n", "\r"))
        update = source.end_of_line + update if cut_off else update + source.end_of_line
        return [(source.start(call), source.end(call), _edits._INSIDE,
                 "%s.step(%s)" % (scaler, source.piece(call.func.value))), (at, at, _edits._AFTER, update)]

    told = "%s.step(%s), %s.update()" % (scaler, owner_of_call(site, "step") or "…", scaler)
    return _edits._edit(site, told, make)


def _require_unread(source):
    """Misfit where the file looks at gradients, which would be scaled there."""
    for node in ast.walk(source.tree):
        name = getattr(node, "attr", getattr(node, "id", None))
        if name == "grad" and isinstance(node, ast.Attribute):
            read = isinstance(node.ctx, ast.Load) and not ast.unparse(node.value).endswith("autograd")
        else:
            read = isinstance(name, str) and name.startswith("clip_grad_")
        if read:
            raise Misfit("gradients are read on line %d, where they would be scaled" % node.lineno)


def _require_alone(source, call, counts):
    """Misfit where the file has another such call, which the run did not come to: it would not be scaled."""
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    for other in ast.walk(source.tree):
        if isinstance(other, ast.Call) and other is not call and counts(other) and (
                getattr(other.func, "attr", getattr(other.func, "id", None)) == name):
            raise Misfit("%s is called on line %d too, which the run did not come to" % (name, other.lineno))
