#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CSV, read back by Python's own reader, holds what SQLite holds, cell by cell.

The two writers share the list of columns and nothing else; hone sql answers from the same list.
"""
import csv
import io
import pathlib
import shutil
import sqlite3
import sys
import tempfile

from harness import Checks, hone, inputs

csv.field_size_limit(1 << 30)


def shown(value):
    """A cell of SQLite as CSV has it: control characters are not let into files for terminals."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "".join("\ufffd" if (c < " " and c not in "\t\r\n") or "\x7f" <= c < "\xa0" else c
                       for c in value)
    return value


def same(cell, value):
    value = shown(value)
    if isinstance(value, float):
        return float(cell) == value
    return cell == str(value)


def check(checks, label, path, folder):
    tables = folder / "tables"
    shutil.rmtree(tables, ignore_errors=True)
    database = folder / "trace.sqlite"
    hone("export", path, "--to", "csv", "-o", tables, "--quiet")
    hone("export", path, "--to", "sqlite", "-o", database, "--quiet")
    connection = sqlite3.connect(database)
    names = [n for n, in connection.execute("select name from sqlite_master where type = 'table'")]
    filled = {n for n in names if connection.execute(f"select count(*) from {n}").fetchone()[0]}
    checks.equal({p.stem for p in tables.iterdir()}, filled, f"{label}: files for tables with rows")
    for name in filled:
        with open(tables / f"{name}.csv", encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file, strict=True)
        cursor = connection.execute(f"select * from {name} order by id")
        checks.equal(head, [column[0] for column in cursor.description], f"{label}: {name}: head")
        wanted = cursor.fetchall()
        checks.equal(len(rows), len(wanted), f"{label}: {name}: rows")
        wrong = [(row, value) for row, values in zip(rows, wanted)
                 for cell, value in zip(row, values) if not same(cell, value)]
        checks.equal(wrong[:1], [], f"{label}: {name}: cells")
        checks.that(all(len(row) == len(head) for row in rows), f"{label}: {name}: ragged rows")
    one = hone("export", path, "--to", "csv", "--table", "slice", "-o", "-").decode("utf-8")
    if "slice" in filled:
        checks.that(one == (tables / "slice.csv").read_bytes().decode("utf-8"),
                    f"{label}: --table slice -o - is not the file")
    else:
        checks.equal(len(list(csv.reader(io.StringIO(one)))), 1, f"{label}: an empty table has a head")
    connection.close()


def main():
    checks = Checks()
    with inputs() as traces, tempfile.TemporaryDirectory() as temporary:
        for label, path in traces:
            check(checks, label, path, pathlib.Path(temporary))
        print(f"{len(traces)} traces")
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
