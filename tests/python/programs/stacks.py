# SPDX-License-Identifier: Apache-2.0
"""Stacks of every kind, read by the recorder and told by Python: both must be the same, to the line."""
import asyncio
import ctypes
import importlib
import os
import sys
import tempfile
import threading

library = ctypes.PyDLL(os.environ["HONE_LIBRARY"])
library.hone_frame_here.restype = ctypes.c_uint32
DEEPEST = 64  # what is surely told; entries that Python does not show count as well
checked = 0


def recorded(frame):
    """[(file, line, function)] of a frame's number, innermost first."""
    found = []
    text = ctypes.create_string_buffer(8192)
    while frame:
        assert library.hone_frame_text(frame, text, len(text)) > 0, frame
        caller, file, line, function = text.value.decode().split("\t")
        found.append((file, int(line), function))
        frame = int(caller)
    return found


def told(frame):
    found = []
    while frame is not None and len(found) < DEEPEST:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        if not code.co_filename.startswith("<frozen importlib."):  # left out
            found.append((code.co_filename, frame.f_lineno, name))
        frame = frame.f_back
    return found


def check(*_):
    """Called from everywhere. One line, so that both look at the same one."""
    global checked
    seen, known = recorded(library.hone_frame_here(1))[:DEEPEST], told(sys._getframe())
    assert seen == known, "\n".join(map(str, ["recorded:", *seen, "told:", *known]))
    checked += 1
    return checked


class Descriptor:
    def __get__(self, instance, owner):
        return check()


class Thing:
    attribute = Descriptor()

    def __init__(self, depth=0):
        check()
        if depth:
            Thing(depth - 1)

    def __getitem__(self, key):
        return check()

    def __del__(self):
        check()

    @property
    def value(self):
        return (
            check(

            )
        )

    @classmethod
    def maker(cls):
        return [cls(1) for _ in range(2)]


def generator(n):
    for i in range(n):
        check()
        yield i
    yield from generator(n - 1) if n else ()


async def coroutine(n):
    check()
    await asyncio.sleep(0)
    if n:
        await coroutine(n - 1)
    check()


def recursion(n):
    if n:
        return recursion(n - 1)
    return check()


def through_c():
    sorted([3, 1, 2], key=check)
    list(map(check, range(2)))
    max((lambda: check())() for _ in range(2))
    {check(): check() for _ in range(2)}
    int.__add__(check(), 1)
    callback = ctypes.PYFUNCTYPE(ctypes.c_int)(check)
    callback()


def exceptions():
    try:
        try:
            raise ValueError
        except ValueError:
            check()
            raise KeyError
        finally:
            check()
    except KeyError:
        check()
    with open(os.devnull) as _, open(
            os.devnull) as _:
        check()


def made_at_run_time():
    # The same address for other code, again and again: what was learnt of the last must not be told.
    for i in range(200):
        scope = {"check": check}
        source = "\n" * (i % 7) + "def f%d():\n  %scheck()\nf%d()" % (i % 5, "\n  " * (i % 3), i % 5)
        exec(compile(source, "<made %d>" % (i % 11), "exec"), scope)
        eval(compile("\n\n(lambda:\ncheck())()", "<\u00e9val \u03a9 \U0001f600 %d>" % i, "eval"), scope)


def long_function():
    # Far more instructions and lines than one entry of a line table can say.
    body = "def long():\n" + "".join(
        "  x = [%s]\n%s" % (", ".join(map(str, range(i % 90))), "\n" * (i % 400)) for i in range(300))
    scope = {"check": check}
    exec(compile(body + "  check()\n  for i in (1, 2):\n    check()\nlong()", "<long>", "exec"), scope)


def imports():
    # A module that checks while it is imported: the import system's own frames are left out.
    sys.check = check
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "checks_itself.py"), "w") as file:
            file.write("import sys\n\nsys.check()\n")
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        sys.modules.pop("checks_itself", None)
        import checks_itself  # noqa: F401
        sys.path.remove(folder)


def everything():
    check()
    Thing(3).value, Thing()[0], Thing().attribute, Thing.maker()
    list(generator(4))
    asyncio.run(coroutine(3))
    recursion(40)
    recursion(200)
    through_c()
    exceptions()
    made_at_run_time()
    long_function()
    if threading.current_thread() is threading.main_thread():
        imports()


def main():
    everything()
    failures = []

    def in_thread():
        try:
            everything()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    pid = os.fork()
    if pid == 0:
        try:
            everything()
            os._exit(0)
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0, "in the child of a fork"
    print("checked", checked)


main()
