# SPDX-License-Identifier: Apache-2.0
"""Treatments as changes to the program's own source: small, in its own formatting, told as a diff.

An edit (_edits) finds its place in the syntax tree and replaces bytes there; everything around stays as it
is. Edits are put in one after the other, and one that does not fit any more, or after which the file would
not parse, falls out and is told at the top of the diff; so are those that go in only together with it.
"""
import ast
import difflib
import re

from ._edits import IMPORTS, Edit, add_keywords, insert_after_imports, insert_before, missing, remark
from ._edits import replace, replace_keyword, together, unread, unread_text, wrap_call, wrap_statement
from ._edits_of_scaler import make_scaler, scale_backward, scale_step
from ._source import Misfit, binds_name, find_call, find_keyword, first_argument, given_name, owner_of_call
from ._source import owners_of_parameters, path_of, same_function, same_statement, site_before_use, source_of
from ._source import told_path, unused_name

__all__ = ["Edit", "Misfit", "add_keywords", "binds_name", "find_call", "find_keyword", "first_argument",
           "given_name", "insert_after_imports", "insert_before", "make_scaler", "missing", "owner_of_call",
           "owners_of_parameters", "path_of", "remark", "replace", "replace_keyword", "same_function",
           "same_statement", "scale_backward", "scale_step", "site_before_use", "together", "told_path",
           "unified", "unread", "unread_text", "unused_name", "wrap_call", "wrap_statement"]

# What a line needs: by the beginning of a name in it, the import, and those that bring it along.
_NEEDS = (("types.", "types"), ("torch.utils.checkpoint.", "torch.utils.checkpoint"), ("torch.", "torch"))


def unified(edits):
    """The diff of all edits; what could not be made, and remarks, stand at its top as comments."""
    edits, fallen = _merged(edits), {}
    while True:
        told, diffs, misfits = _attempt(edits, fallen)
        broken = [edit for edit in misfits if edit.group is not None and edit.group not in fallen]
        if not broken:
            return "".join(told) + "".join(diffs)
        for edit in broken:
            fallen.setdefault(edit.group, {})[edit] = misfits[edit]


def _attempt(edits, fallen):
    """(lines, diffs, {edit: why it does not fit}); fallen: by group, those of it that do not fit."""
    told, diffs, misfits, by_path = [], [], {}, {}
    for edit in edits:
        if edit.is_remark:
            told.append("# %s\n" % edit.told)
        elif edit.group in fallen:
            misfits[edit] = fallen[edit.group].get(edit) or "only together with %s" % " and ".join(
                other.told.partition(": ")[0] for other in fallen[edit.group])
        else:
            by_path.setdefault(edit.path, []).append(edit)
    for path, some in by_path.items():
        try:
            source = source_of(path)
        except Misfit as why:
            misfits.update((edit, _why(edit, why)) for edit in some)
            continue
        diffs.append(_diff_of(source, some, misfits))
    told += ["# not in this patch: %s (%s)\n" % (edit.told, misfits[edit])
             for edit in edits if edit in misfits]
    return told, diffs, misfits


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
            if edit.group is not None or (edit.told, edit.text) not in known:
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


def _diff_of(source, edits, misfits):
    accepted, texts = [], []
    for edit in edits:
        try:
            changes = accepted + edit.make(source)
            ast.parse(_applied(source, changes))
        except (Misfit, SyntaxError, ValueError) as why:
            if isinstance(why, SyntaxError):
                why = "the file would not parse with it"
            misfits[edit] = why
            continue
        accepted = changes
        texts.append(edit.text)
    at = source.line_start(source.after_imports())
    for name in _imports(source, "\n".join(texts)):
        accepted = accepted + [(at, at, IMPORTS - 1, "import %s%s" % (name, source.end_of_line))]
    return _diff(source.path, source.text, _applied(source, accepted))


def _imports(source, text):
    """What the lines need and the file does not import."""
    found = []
    for words, name in _NEEDS:
        if re.search(r"(?<![\w.])" + re.escape(words), text) and not source.imports(name) and not any(
                other.startswith(words) for other in found):
            found.append(name)
    return found


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
