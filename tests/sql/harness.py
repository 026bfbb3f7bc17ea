# SPDX-License-Identifier: Apache-2.0
"""Running hone sql, for the tests of this folder."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HONE = os.environ.get("HONE", str(ROOT / "build" / "hone"))
TRACES = ROOT / "tests" / "traces"
PAGE = ROOT / "docs" / "user" / "sql.md"


def hone(*arguments, stdin=None, check=True):
    done = subprocess.run([HONE, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=250)
    if check and done.returncode != 0:
        raise AssertionError(f"hone {arguments}: exit {done.returncode}: {done.stderr}")
    return done


def schema():
    """({table: [(column, type, what)]}, {view: [(column, what)]}, {name: what}) of .schema."""
    text = hone("sql", TRACES / "two_ranks" / "rank0.json", ".schema").stdout
    tables, views, about = {}, {}, {}
    for block in re.split(r"\n(?=-- [^ ])", text):
        kind, name = re.search(r"CREATE (TABLE|VIEW) (\w+)", block).groups()
        about[name] = re.match(r"-- (.*)", block).group(1)
        if kind == "TABLE":
            tables[name] = re.findall(r"^  (\w+) (\w+),? +-- (.*)$", block, re.M)
        else:
            views[name] = re.findall(r"^--   (\w+) +(.*)$", block, re.M)
    return tables, views, about


def examples():
    """The ```sql blocks of the page, with the question above each."""
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(r"\n([^\n]+\?)\n\n```sql\n(.*?)```", page, re.S)
