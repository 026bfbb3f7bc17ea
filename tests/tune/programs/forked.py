# SPDX-License-Identifier: Apache-2.0
"""Runs programs in forks of a process that has PyTorch already: importing it takes longer than they do.

A request a line on stdin, {"words": […], "environment": {…}, "folder": "…"}; an answer a line, the status.
The program's output is in the folder, out and err. It begins as one does under python/inject, except that
torch is there before: as where hone.apply is called after `import torch`.
"""
import json
import os
import runpy
import sys

import numpy.random  # noqa: F401
import torch
import torch._dynamo  # noqa: F401

request = None
while True:
    line = sys.stdin.readline()
    if not line:
        break
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    request = None
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, flush=True)

if request is not None:
    os.chdir(request["folder"])
    for number, name in ((0, os.devnull), (1, "out"), (2, "err")):
        file = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.environ.update(request["environment"])
    python = request["environment"]["HONE_TEST_PYTHON"]
    package = type(sys)("_hone")
    package.__path__ = [os.path.join(python, "hone")]
    sys.modules["_hone"] = package
    from _hone import _start

    _start.start()
    sys.argv = request["words"]
    runpy.run_path(sys.argv[0], run_name="__main__")
