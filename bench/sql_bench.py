#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU seconds of the questions of docs/user/sql.md: by hone sql over the trace, and by SQLite on the file
that hone export --to sqlite makes of it, in the same run.

hone sql has to read the trace first, each time: `read` is a query that asks nothing, and the column
`query` is what is left of a question without it. Medians of --runs, in seconds of CPU (both of hone's
threads together), which other work on the machine changes least.
"""
import argparse
import pathlib
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def spent():
    """CPU seconds of this program and of those it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def seconds(work, runs):
    times = []
    for _ in range(runs):
        start = spent()
        work()
        times.append(spent() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--trace", help="a trace; without it resnet50_bad_light repeated")
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    page = (ROOT / "docs" / "user" / "sql.md").read_text(encoding="utf-8")
    questions = re.findall(r"\n([^\n]+\?)\n\n```sql\n(.*?)```", page, re.S)
    with tempfile.TemporaryDirectory() as folder:
        trace = arguments.trace
        if trace is None:
            trace = f"{folder}/trace.json.gz"
            source = ROOT / "tests" / "traces" / "resnet50_bad_light.json.gz"
            megabytes = round(arguments.events / 64_542 * 16.7)  # tests/traces/README.md
            subprocess.run([sys.executable, str(ROOT / "bench" / "make_trace.py"), str(source), "-o",
                            trace, "--mb", str(megabytes)], check=True, stdout=subprocess.DEVNULL)

        def ask(query):
            subprocess.run([arguments.hone, "sql", trace, "--csv", "--quiet"], input=query, text=True,
                           stdout=subprocess.DEVNULL, check=True)

        out = f"{folder}/trace.sqlite"
        exported = seconds(lambda: subprocess.run(
            [arguments.hone, "export", trace, "--to", "sqlite", "-o", out, "--quiet"], check=True), 1)
        database = sqlite3.connect(out)
        events = subprocess.run([arguments.hone, "sql", trace, "--csv", "--quiet",
                                 "select sum(events) from trace"], capture_output=True, text=True,
                                check=True).stdout.split()[1]
        read = seconds(lambda: ask("select 1"), arguments.runs)
        print(f"{events} events, {pathlib.Path(trace).stat().st_size / 1e6:.1f} MB; read {read:.3f} s; "
              f"export {exported:.2f} s, {pathlib.Path(out).stat().st_size / 1e6:.1f} MB")
        print(f"{'hone sql':>9} {'query':>8} {'sqlite':>8}  CPU seconds")
        for question, query in questions:
            def there(text=query):
                for statement in filter(str.strip, text.split(";")):
                    database.execute(statement).fetchall()
            whole = seconds(lambda text=query: ask(text), arguments.runs)
            print(f"{whole:9.3f} {max(whole - read, 0):8.3f} {seconds(there, arguments.runs):8.3f}  "
                  f"{question}")


if __name__ == "__main__":
    main()
