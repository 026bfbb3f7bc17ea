# SPDX-License-Identifier: Apache-2.0
"""Puts marks into a method by compiling its source again: same file, same lines, same traceback.

    def fetch(self, index):                 def fetch(self, index):
        data = self.dataset[index]              _hone_fetch()
        return self.collate_fn(data)            try:
                                                    data = self.dataset[index]
                                                    _hone_collate()
                                                    try:
                                                        return self.collate_fn(data)
                                                    finally:
                                                        _hone_end()
                                                finally:
                                                    _hone_end()
"""
import ast
import linecache


def mark(module, class_name, method):
    """Whether it could be done; the method is as it was otherwise."""
    if method.__closure__:
        return False
    source = "".join(linecache.getlines(module.__file__, module.__dict__))
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for function in node.body:
                if isinstance(function, ast.FunctionDef) and function.name == method.__name__:
                    return _compile(module, function, method)
    return False


def _compile(module, function, method):
    # The file on the disk may not be the one that was imported.
    if function.lineno != method.__code__.co_firstlineno or function.decorator_list:
        return False
    function = _Collate().visit(function)
    function.body = _between(function.body, "_hone_fetch")
    function.returns = None
    code = compile(ast.Module(body=[function], type_ignores=[]), module.__file__, "exec")
    code = next(c for c in code.co_consts if hasattr(c, "co_code"))
    old = method.__code__
    if code.co_varnames[:code.co_argcount] != old.co_varnames[:old.co_argcount] or code.co_freevars:
        return False
    names = {"co_filename": old.co_filename, "co_name": old.co_name}
    if hasattr(old, "co_qualname"):
        names["co_qualname"] = old.co_qualname
    method.__code__ = code.replace(**names)
    return True


class _Collate(ast.NodeTransformer):
    def visit_Return(self, node):
        value = node.value
        if (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
                and value.func.attr == "collate_fn"):
            return _between([node], "_hone_collate")
        return node


def _between(body, begin):
    """The statements, between a call of `begin` and one of _hone_end, whatever happens."""
    place = body[0]
    if isinstance(place, ast.Expr) and isinstance(getattr(place, "value", None), ast.Constant):
        place = body[-1]
    guarded = ast.Try(body=body, handlers=[], orelse=[], finalbody=[_call("_hone_end", place)])
    return [_call(begin, place), ast.copy_location(guarded, place)]


def _call(name, place):
    call = ast.Expr(value=ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[], keywords=[]))
    for node in ast.walk(call):
        ast.copy_location(node, place)
    return call
