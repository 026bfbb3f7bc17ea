#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hone view` asked over real sockets: by a browser, by another site, by those who ask too much."""

import http.client
import os
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
TRACE = ROOT / "tests" / "traces" / "tiny_bad_light.json.gz"


class View:
    """A server for the length of a `with`, ended by Ctrl-C."""

    def __init__(self, *words, environment=None):
        self.process = subprocess.Popen(
            [HONE, "view", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", **(environment or {})})
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rstrip("/").rpartition(":")[2] or 0) if self.url else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.code = self.process.wait(timeout=10)
        self.said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, path="/", method="GET", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body


class ViewTest(unittest.TestCase):
    def test_the_page_and_nothing_else(self):
        with View(TRACE, "--no-open") as view:
            self.assertRegex(view.url, r"^http://127\.0\.0\.1:\d+/$")
            answer, body = view.ask()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.getheader("Content-Type"), "text/html; charset=utf-8")
            self.assertIn(b'<script id="hone-report" type="application/json">', body)
            self.assertEqual(int(answer.getheader("Content-Length")), len(body))
            self.assertIn("default-src 'none'", answer.getheader("Content-Security-Policy"))
            head, nothing = view.ask(method="HEAD")
            self.assertEqual((head.status, nothing), (200, b""))
            self.assertEqual(view.ask("/?step=2")[1], body)
            self.assertEqual(view.ask(host=f"localhost:{view.port + 1}")[0].status, 200)
            for host in ("evil.example", f"evil.example:{view.port}", "127.0.0.1.evil.example"):
                refused, text = view.ask(host=host)
                self.assertEqual(refused.status, 403, host)
                self.assertNotIn(b"hone-report", text)
            self.assertEqual(view.ask("/favicon.ico")[0].status, 404)
            self.assertEqual(view.ask("/../etc/passwd")[0].status, 404)
            self.assertEqual(view.ask(method="POST")[0].status, 405)
        self.assertEqual(view.code, 0)

    def test_listens_on_this_machine_only(self):
        with View(TRACE, "--no-open") as view:
            here = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
            mine = [words[1] for words in here if words[1].endswith(f":{view.port:04X}") and words[3] == "0A"]
            self.assertEqual(mine, [f"0100007F:{view.port:04X}"])

    def test_idle_and_broken_connections_hold_up_nobody(self):
        with View(TRACE, "--no-open") as view:
            idle = [socket.create_connection(("127.0.0.1", view.port)) for _ in range(20)]
            half = socket.create_connection(("127.0.0.1", view.port))
            half.sendall(b"GET / HT")
            self.assertEqual(view.ask()[0].status, 200)
            half.sendall(b"TP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(half.recv(100).startswith(b"HTTP/1.1 200"))
            gone = socket.create_connection(("127.0.0.1", view.port))
            gone.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\n\r\n".encode())
            gone.close()
            long = socket.create_connection(("127.0.0.1", view.port))
            long.sendall(b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 20000)
            self.assertTrue(long.recv(100).startswith(b"HTTP/1.1 400"))
            self.assertEqual(view.ask()[0].status, 200)
            for one in (*idle, half, long):
                one.close()
        self.assertEqual(view.code, 0)

    def test_more_connections_than_descriptors_wait_and_cost_nothing(self):
        with View(TRACE, "--no-open") as view:
            self.assertEqual(view.ask()[0].status, 200)
            process = pathlib.Path(f"/proc/{view.process.pid}")
            taken = len(list((process / "fd").iterdir()))
            resource.prlimit(view.process.pid, resource.RLIMIT_NOFILE, (taken + 2, taken + 2))
            many = [socket.create_connection(("127.0.0.1", view.port)) for _ in range(6)]

            def ticks():
                words = (process / "stat").read_text().rpartition(")")[2].split()
                return int(words[11]) + int(words[12])

            before = ticks()
            time.sleep(1.5)  # a server that asks again and again would need all of it
            self.assertLess(ticks() - before, 50)
            for one in many:
                one.close()
            self.assertEqual(view.ask()[0].status, 200)
        self.assertEqual(view.code, 0)

    def test_a_page_is_served_byte_for_byte(self):
        with tempfile.TemporaryDirectory(prefix="hone-view-") as folder:
            path = pathlib.Path(folder) / "report.html"
            subprocess.run([HONE, "analyze", TRACE, "--html", path, "--quiet"], check=True)
            with View(path, "--no-open") as view:
                self.assertEqual(view.ask()[1], path.read_bytes())

    def test_a_taken_port_is_said_at_once(self):
        with View(TRACE, "--no-open") as view:
            done = subprocess.run([HONE, "view", TRACE, "--no-open", "--port", str(view.port)],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "")
            self.assertIn(f"port {view.port} is taken", done.stderr)

    def test_opens_the_browser_where_there_is_a_display(self):
        with tempfile.TemporaryDirectory(prefix="hone-view-") as folder:
            opener, opened = pathlib.Path(folder) / "xdg-open", pathlib.Path(folder) / "opened"
            opener.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
            opener.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            with View(TRACE, environment={"DISPLAY": ":9", "PATH": path}) as view:
                deadline = time.monotonic() + 60
                while not opened.exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertEqual(opened.read_text().strip(), view.url)
            opened.unlink()
            with View(TRACE, "--no-open", environment={"DISPLAY": ":9", "PATH": path}) as view:
                view.ask()
            self.assertFalse(opened.exists())


if __name__ == "__main__":
    unittest.main()
