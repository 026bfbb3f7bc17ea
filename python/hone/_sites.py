# SPDX-License-Identifier: Apache-2.0
"""Lines of the user's program: "train.py:30" for the frame that asked a library for something."""
import os
import sys

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_LOOPS = (("/transformers/trainer.py", "transformers"), ("/lightning/pytorch/loops/", "lightning"),
          ("/pytorch_lightning/loops/", "lightning"))
_cwd = os.getcwd()
_known, _known_ours = {}, {}  # file name: whether it is the program's, whether it is ours


def is_program(path):
    """Whether a file is the program's own: no library, not Python's, not ours."""
    known = _known.get(path)
    if known is None:
        full = os.path.abspath(path)
        known = _known[path] = not (path.startswith("<") or full.startswith((_OURS, _STANDARD))
                                    or any(part in full for part in _PACKAGES))
    return known


def frame_of_program(depth=1):
    """The nearest frame of the program above the caller's caller; None where there is none."""
    try:
        return program_above(sys._getframe(depth + 1))
    except ValueError:
        return None


def program_above(frame):
    """The frame itself or the nearest above it that is the program's."""
    while frame is not None and not is_program(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def caller(depth=1):
    """The frame that called the caller, ours left out; None where there is none."""
    frame = sys._getframe(depth + 1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_ours(path):
    known = _known_ours.get(path)
    if known is None:
        known = _known_ours[path] = os.path.abspath(path).startswith(_OURS)
    return known


def frame_outside(depth, folder):
    """The nearest frame above the caller's caller that is neither ours nor below the folder; or None."""
    frame, leave = sys._getframe(depth), (_OURS, folder + os.sep)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(leave):
        frame = frame.f_back
    return frame


def site_of(frame):
    """"train.py:30", "" for no frame. Relative where it lies below the folder the program started in."""
    return "%s:%d" % (told(frame.f_code.co_filename), frame.f_lineno) if frame is not None else ""


def site(depth=1):
    return site_of(frame_of_program(depth + 1))


def told(path):
    full = os.path.abspath(path)
    return os.path.relpath(full, _cwd) if full.startswith(_cwd + os.sep) else full


def loop_around(frame):
    """(whose training loop the frame stands in: "transformers", "lightning", the loop's outermost frame);
    ("", None): none that is known."""
    library, outermost = "", None
    while frame is not None:
        path = frame.f_code.co_filename.replace(os.sep, "/")
        for part, name in _LOOPS:
            if part in path:
                library, outermost = library or name, frame
        frame = frame.f_back
    return library, outermost


def site_of_traceback(traceback):
    """The innermost line of the program that an exception went through; else where it was raised."""
    found = last = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        last = "%s:%d" % (told(code.co_filename), traceback.tb_lineno)
        if is_program(code.co_filename):
            found = last
        traceback = traceback.tb_next
    return found or last


def name_of_callee(frame, thing):
    """How the line that `frame` stands on calls `thing`: "model", "self.net"; "" where it cannot be told."""
    import ast
    import linecache

    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    # A line by itself: `for x in y:` and `with z:` want a body.
    for text in (line, line.rstrip(":"), line + " pass", line.lstrip("el") + " pass"):
        try:
            tree = ast.parse(text)
            break
        except (SyntaxError, ValueError):
            tree = None
    names = _names_called(ast, tree) if tree is not None else _names_by_eye(line)
    for name in names:
        if _value(frame, name) is thing:
            return name
    return ""


def _names_called(ast, tree):
    return [_dotted(ast, node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _names_by_eye(line):
    import re  # a call over several lines

    return re.findall(r"([A-Za-z_][A-Za-z_0-9.]*)\s*\(", line)


def _dotted(ast, node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(ast, node.value)
        return owner + "." + node.attr if owner else ""
    return ""


def _value(frame, name):
    """What a dotted name stands for; only what lies in dictionaries, so that no property runs."""
    first, *rest = name.split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for part in rest:
        fields = getattr(value, "__dict__", None) or {}
        value = fields.get(part, (fields.get("_modules") or {}).get(part))
    return value
