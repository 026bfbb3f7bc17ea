# SPDX-License-Identifier: Apache-2.0
"""Treatments as changes to the program's own source: small, in its own formatting, told as a diff.

An edit (_edits) finds its place in the syntax tree and replaces bytes there; everything around stays as it
is. Edits are put in one after the other, and one that does not fit any more, or after which the file would
not parse, falls out and is told at the top of the diff.
"""
import ast
import difflib

from ._edits import IMPORTS, Edit, add_keywords, insert_after_imports, insert_before, missing, remark
from ._edits import replace, replace_keyword, wrap_call
from ._source import Misfit, find_call, find_keyword, first_argument, owners_of_parameters
from ._source import same_function, site_before_use, source_of, told_path

__all__ = ["Edit", "add_keywords", "find_call", "find_keyword", "first_argument", "insert_after_imports",
           "insert_before", "missing", "owners_of_parameters", "remark", "replace", "replace_keyword",
           "same_function", "site_before_use", "told_path", "unified", "wrap_call"]


def unified(edits):
    """The diff of all edits; what could not be made, and remarks, stand at its top as comments."""
    told, diffs, by_path = [], [], {}
    for edit in _merged(edits):
        if edit.is_remark:
            told.append("# %s\n" % edit.told)
            continue
        by_path.setdefault(edit.path, []).append(edit)
    for path, some in by_path.items():
        try:
            source = source_of(path)
        except Misfit as why:
            told += ["# not in this patch: %s (%s)\n" % (edit.told, _why(edit, why)) for edit in some]
            continue
        diffs.append(_diff_of(source, some, told))
    return "".join(told) + "".join(diffs)


def _why(edit, why):
    try:
        edit.make(None)
    except Misfit as own:
        return own
    except Exception:
        pass
    return why


def _merged(edits):
    """Keywords for the same call, and lines after the same imports, are one edit; the same edit twice, too."""
    merged, known = [], {}
    for edit in edits:
        if edit.merge is None:
            if (edit.told, edit.text) not in known:
                known[edit.told, edit.text] = edit
                merged.append(edit)
            continue
        key = edit.merge[:-1]
        if key not in known:
            known[key] = len(merged)
            merged.append(edit)
            continue
        before = merged[known[key]]
        if key[0] == "keywords":
            both = {**before.merge[-1], **edit.merge[-1]}
            merged[known[key]] = add_keywords("%s:%d" % key[1:3], key[3], both)
        elif edit.merge[-1] not in before.merge[-1].split("\n"):
            merged[known[key]] = insert_after_imports(key[1], before.merge[-1] + "\n" + edit.merge[-1])
    return merged


def _diff_of(source, edits, told):
    accepted, texts = [], []
    for edit in edits:
        try:
            changes = accepted + edit.make(source)
            ast.parse(_applied(source, changes))
        except (Misfit, SyntaxError, ValueError) as why:
            if isinstance(why, SyntaxError):
                why = "the file would not parse with it"
            told.append("# not in this patch: %s (%s)\n" % (edit.told, why))
            continue
        accepted = changes
        texts.append(edit.text)
    if any("torch." in text for text in texts) and not any(map(source.binds_torch, source.tree.body)):
        at = source.line_start(source.after_imports())
        accepted = [(at, at, IMPORTS - 1, "import torch" + source.end_of_line)] + accepted
    return _diff(source.path, source.text, _applied(source, accepted))


def _applied(source, changes):
    """The text with all changes; Misfit where two want the same bytes."""
    pieces, position = [], 0
    for start, end, _, text in sorted(changes, key=lambda c: (c[0], c[1] > c[0], c[2])):
        if start < position:
            raise Misfit("another change stands in the same place")
        pieces += [source.data[position:start], text.encode()]
        position = end
    return b"".join(pieces + [source.data[position:]]).decode()


def _diff(path, before, after):
    old, new = ("/dev/null", path) if not before else (path, path)
    if not path.startswith("/"):
        old, new = "a/" + old, "b/" + new
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _lines(text):
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
