#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden cases (tests/cases/*/*.case) and compares what hone prints, byte for byte.

A case:

    name: truncated gzip
    description: The stream ends in the middle; what was read is analyzed, and the loss is said.

    gzip trace.json.gz cut=-40 <<END
    {"traceEvents": [ ... ]}
    END

    $ hone analyze trace.json.gz
    ----
    expected output: stdout and stderr, in the order printed
    exit 3

Inputs are made in an empty folder, where the commands then run:
    file NAME [options] <<WORD … WORD     text as it stands
    gzip NAME [options] <<WORD … WORD     the same, compressed
    sqlite NAME <<WORD … WORD             a database made by these statements
    hone NAME [options] <<WORD … WORD     a recording made of these tables (tests/hone_file.py)
    path NAME FROM [options]              a copy of FROM: tests/traces/…, or shared/… (data that
                                          does not travel with the project; the case skips)
    folder NAME                           an empty folder
    needs COMMAND                         the case skips when this shell line fails
Options, on the bytes that are written: escaped (\\xff and \\n in the text), chomp (no last newline),
cut=N (keep the first N bytes; negative: drop the last ones), flip=N (invert byte N; negative from
the end). A command is a shell line with `hone`, `pick` (parts of JSON) and the programs of tests/e2e on
its path. `exit N` is written when N is not 0.
"""
import argparse
import difflib
import gzip
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import hone_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77  # what ctest is told when every case was skipped


class CaseError(Exception):
    pass


class Skip(Exception):
    pass


class Command:
    def __init__(self, line):
        self.line = line
        self.expected = ""
        self.exit = 0


class Case:
    def __init__(self, path):
        self.path = path
        self.head = []      # every line before the first command, as it stands
        self.inputs = []    # (kind, name, words, text)
        self.needs = []
        self.commands = []
        self.parse(path.read_text(encoding="utf-8").split("\n"))

    def parse(self, lines):
        at = 0
        while at < len(lines) and not lines[at].startswith("$ "):
            words = lines[at].split()
            begin = at
            if words and words[0] in ("file", "gzip", "sqlite", "hone"):
                if not words[-1].startswith("<<"):
                    raise CaseError(f"line {at + 1}: no <<WORD")
                try:
                    end = lines.index(words[-1][2:], at + 1)
                except ValueError:
                    raise CaseError(f"line {at + 1}: {words[-1]} never ends") from None
                text = "".join(line + "\n" for line in lines[at + 1:end])
                self.inputs.append((words[0], words[1], words[2:-1], text))
                at = end
            elif words and words[0] == "needs":
                self.needs.append(lines[at].partition(" ")[2])
            elif words and words[0] in ("path", "folder"):
                self.inputs.append((words[0], words[1], words[2:], ""))
            elif words and words[0] not in ("name:", "description:") and not lines[at].startswith(" "):
                raise CaseError(f"line {at + 1}: {words[0]!r} is no word of a case")
            self.head += lines[begin:at + 1]
            at += 1
        while at < len(lines):
            if not lines[at].startswith("$ "):
                raise CaseError(f"line {at + 1}: expected a command")
            command = Command(lines[at][2:])
            at += 1
            if at < len(lines) and lines[at] == "----":
                at += 1
            block = []
            while at < len(lines) and not lines[at].startswith("$ "):
                block.append(lines[at])
                at += 1
            while block and not block[-1]:
                block.pop()
            if block and re.fullmatch(r"exit \d+", block[-1]):
                command.exit = int(block.pop().split()[1])
            command.expected = "\n".join(block)
            self.commands.append(command)
        if not self.commands:
            raise CaseError("no command")

    def write(self):
        out = "\n".join(self.head).rstrip("\n") + "\n"
        for command in self.commands:
            out += f"\n$ {command.line}\n----\n"
            out += command.expected + "\n" if command.expected else ""
            out += f"exit {command.exit}\n" if command.exit else ""
        self.path.write_text(out, encoding="utf-8")


def shared_folder():
    return pathlib.Path(os.environ.get("HONE_SHARED") or ROOT.parent / "shared")


def make_input(folder, kind, name, words, text):
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        target.mkdir(exist_ok=True)
        return
    if kind == "sqlite":
        with sqlite3.connect(target) as database:
            database.executescript(text)
        database.close()
        return
    if kind == "path":
        source = words.pop(0)
        where = shared_folder() / source[7:] if source.startswith("shared/") else ROOT / source
        if not where.exists():
            raise Skip(f"{source} is not here")
        if where.is_dir():
            shutil.copytree(where, target)
            return
        data = where.read_bytes()
    else:
        if "chomp" in words:
            text = text.rstrip("\n")
        data = hone_file.write(text) if kind == "hone" else text.encode("utf-8")
        if "escaped" in words:
            data = text.encode("latin-1").decode("unicode_escape").encode("latin-1")
        if kind == "gzip":
            data = gzip.compress(data, mtime=0)
    for word in words:
        option, _, value = word.partition("=")
        if option == "cut":
            data = data[:int(value)]
        elif option == "flip":
            changed = bytearray(data)
            changed[int(value)] ^= 0xFF
            data = bytes(changed)
        elif option not in ("chomp", "escaped"):
            raise CaseError(f"{name}: no such option: {word}")
    target.write_bytes(data)


def run_command(command, folder, hone):
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "TERM")}
    path = [str(hone.parent), str(hone.parent / "test-tools"), str(ROOT / "tests" / "bin"),
            environment["PATH"]]
    environment.update(PATH=":".join(path), LC_ALL="C.UTF-8", HOME=str(folder))
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command.line], cwd=folder,
                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    text = done.stdout.decode("utf-8", errors="backslashreplace")
    return text.rstrip("\n"), done.returncode


def run_case(case, hone, regold):
    """The differences as text, empty when there are none."""
    with tempfile.TemporaryDirectory(prefix="hone-case-") as temporary:
        folder = pathlib.Path(temporary)
        for line in case.needs:
            if run_command(Command(line), folder, hone)[1] != 0:
                raise Skip(f"needs {line}")
        for kind, name, words, text in case.inputs:
            make_input(folder, kind, name, list(words), text)
        difference = ""
        for command in case.commands:
            text, code = run_command(command, folder, hone)
            if regold:
                if code == 127 != command.exit:
                    raise CaseError(f"not written: {command.line}: {text}; make unit builds it")
                command.expected, command.exit = text, code
                continue
            if text != command.expected:
                difference += f"$ {command.line}\n" + "\n".join(difflib.unified_diff(
                    command.expected.split("\n"), text.split("\n"), "expected", "printed",
                    lineterm="")) + "\n"
            if code != command.exit:
                difference += f"$ {command.line}\nexit {code}, expected {command.exit}\n"
        if regold:
            case.write()
        return difference


def main():
    parser = argparse.ArgumentParser(description="runs golden cases")
    parser.add_argument("cases", nargs="*", type=pathlib.Path, help="default: all of tests/cases")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("-k", dest="word", default="", help="only cases whose path contains this")
    parser.add_argument("--regold", action="store_true", help="write what is printed into the cases")
    options = parser.parse_args()
    hone = options.hone.resolve()
    if not hone.is_file():
        print(f"run_cases: {hone}: not there; run make first")
        return 2
    paths = options.cases or sorted((ROOT / "tests" / "cases").rglob("*.case"))
    passed = failed = skipped = 0
    for path in paths:
        if options.word not in str(path):
            continue
        label = os.path.relpath(path, ROOT)
        try:
            difference = run_case(Case(path), hone, options.regold)
        except Skip as reason:
            print(f"SKIP {label}: {reason}")
            skipped += 1
            continue
        except (CaseError, subprocess.TimeoutExpired) as error:
            difference = f"{error}\n"
        if difference:
            print(f"FAIL {label}\n{difference}", end="")
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return SKIPPED if skipped and not passed else 0


if __name__ == "__main__":
    sys.exit(main())
