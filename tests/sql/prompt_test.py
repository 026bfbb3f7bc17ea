#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prompt of hone sql on a real terminal: editing, history, completion, Ctrl-C, .quit."""
import os
import pty
import re
import select
import signal
import sys
import tempfile
import termios
import time
import unittest

import harness

TRACE = str(harness.TRACES / "two_ranks" / "rank0.json")
SLOW = "with recursive r(x) as (values(1) union all select x+1 from r) select count(*) from r;"


class Prompt:
    def __init__(self, home, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, TERM="xterm", LC_ALL="C.UTF-8", COLUMNS="100")
            os.environ.pop("XDG_STATE_HOME", None)
            os.execv(harness.HONE, [harness.HONE, "sql", TRACE, *arguments])
        self.seen = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def type(self, text):
        """Sends it until it is echoed: what is typed while the editor takes the terminal may be thrown away."""
        for _ in range(10):
            self.send(text)
            try:
                return self.until(re.escape(text), 6)
            except AssertionError:
                if self.seen:
                    raise
        raise AssertionError(f"{text!r} is not echoed")

    def until(self, pattern, seconds=60):
        """What came up to the first match of `pattern`, which is taken off."""
        end = time.monotonic() + seconds
        while True:
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", self.seen)
            found = re.search(pattern, plain)
            if found:
                self.seen = plain[found.end():]
                return plain[:found.end()]
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"no {pattern!r} in {plain!r}")
            if select.select([self.fd], [], [], left)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                if not data:
                    raise AssertionError(f"ended before {pattern!r}: {plain!r}")
                self.seen += data.decode("utf-8", "replace")

    def ask(self, text):
        self.send(text + "\r")

    def end(self):
        """The exit code; everything that is still said is read away."""
        deadline = time.monotonic() + 60
        while True:
            try:
                if select.select([self.fd], [], [], 0.2)[0]:
                    os.read(self.fd, 65536)
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                os.close(self.fd)
                raise AssertionError("the prompt does not end")

    def ready(self):
        """Waits for the prompt, and for the terminal to be the editor's: it takes it just after, and
        keys like Ctrl-D mean something else before."""
        self.until("hone> ")
        end = time.monotonic() + 60
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise AssertionError("the editor does not take the terminal")
            time.sleep(0.01)


class PromptTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.prompt = Prompt(self.home.name)
        self.prompt.ready()

    def test_queries_and_commands(self):
        prompt = self.prompt
        prompt.ask("select 40 + 2 as answer;")
        prompt.until(r"answer\n *42\n")
        prompt.ask("select")
        prompt.until(r"\.\.\. ")
        prompt.ask("7 * 6 as more;")
        prompt.until(r"more\n *42\n")
        prompt.ask(".tables")
        prompt.until(r"device_work +kernels, copies")
        prompt.ask(".schema step")
        prompt.until(r"CREATE TABLE step")
        prompt.ask("select nmae from slice;")
        prompt.until(r"hone: no column nmae at character 8; did you mean name\?")
        prompt.ask(".mode csv")
        prompt.ask("select count(*) as n, 'a,b' as t from step;")
        prompt.until(r'n,t\n4,"a,b"\n')
        prompt.ask(".mode table")
        prompt.ask(".limit 2")
        prompt.ask("select id from slice;")
        prompt.until(r"more rows \(\.limit 0 shows all\)")
        prompt.ask(".qiut")
        prompt.until(r"no command \.qiut; did you mean \.quit\?")
        prompt.ask(".quit")
        self.assertEqual(prompt.end(), 0)

    def test_editing_and_completion(self):
        prompt = self.prompt
        prompt.send("select cuont(*) from device_w\t where kind = 'kernel'")
        prompt.send("\x01" + "\x06" * 7)               # to the start, seven to the right
        prompt.send("\x06" + "\x04\x04" + "ou")        # behind the c: "uo" goes, "ou" comes
        prompt.send("\r")
        prompt.ask(";")
        prompt.until(r"count\(\*\)\n *\d+\n")
        prompt.ready()
        prompt.send(".sch\tstep\r")
        prompt.until(r"CREATE TABLE step")
        prompt.ready()
        prompt.type("select dir")
        prompt.send("\t\x03")
        prompt.until(r"\^C")
        prompt.ask(".quit")
        self.assertEqual(prompt.end(), 0)

    def test_history_outlives_the_session(self):
        self.prompt.ask("select 'first', 6 * 7;")
        self.prompt.until(r"first +42\n")
        self.prompt.ready()
        self.prompt.send("\x04")  # Ctrl-D
        self.assertEqual(self.prompt.end(), 0)
        again = Prompt(self.home.name)
        again.ready()
        again.send("\x1b[A\r")
        again.until(r"first +42\n")
        again.ready()
        again.send("\x04")
        self.assertEqual(again.end(), 0)

    def test_interrupt_stops_the_query_only(self):
        prompt = self.prompt
        prompt.ask(SLOW)
        prompt.until(r"\d s, 0 rows so far; Ctrl-C stops the query")
        prompt.send("\x03")
        prompt.until(r"hone: stopped\n")
        prompt.ready()
        prompt.send("select 'half a li\x03")
        prompt.until(r"\^C\n")
        prompt.ask("select 1 + 1 as two;")
        prompt.until(r"two\n *2\n")
        prompt.ask(".quit")
        self.assertEqual(prompt.end(), 0)

    def test_a_single_query_dies_of_ctrl_c(self):
        self.prompt.ask(".quit")
        self.assertEqual(self.prompt.end(), 0)
        one = Prompt(self.home.name, SLOW)
        one.until(r"\d s, 0 rows so far")
        one.send("\x03")
        self.assertEqual(one.end(), -signal.SIGINT)


if __name__ == "__main__":
    sys.exit(unittest.main())
