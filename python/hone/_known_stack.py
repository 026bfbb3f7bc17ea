# SPDX-License-Identifier: Apache-2.0
"""Stacks for the recorder to learn an interpreter by (src/collect/python_layout.h).

The C side asks the interpreter about the calling thread's stack and looks for the answers in memory.
So these calls are of every kind that keeps a frame somewhere else: plain, nested, methods, generators,
through C, and in files of any name; on lines far from each other, and back.
"""
import sys

_LEARN, _TEST, _USE = 0, 1, 2


def learn(library):
    from ._library import loss

    if sys.implementation.name != "cpython":
        loss("python", sys.implementation.name + " is not CPython; no Python lines in this process")
        return
    if "t" in getattr(sys, "abiflags", ""):
        loss("python", "this CPython runs without the GIL; no Python lines in this process")
        return
    ready = library.python_ready
    # Learnt on a simple stack, tested on one that has everything.
    if _Shapes(ready).method(_LEARN) == 0 and _Shapes(ready).recursion(_TEST) == 0:
        ready(_USE)


class _Shapes:
    def __init__(self, ready):
        self.ready = ready

    def method(self, stage):
        def nested(
            stage,
        ):

            return (lambda: self.ready(stage))()

        return [
            nested(stage)
            for _ in (1,)
        ][0]

    def through_c(self, stage):
        # Python, C, Python: an entry of its own for the interpreter.
        answers = []
        sorted((1, 2), key=lambda _: answers.append(self.method(stage)) or 0)
        return max(map(abs, answers))

    def generators(self, stage):
        def inner():
            yield 0
            yield self.through_c(stage)

        def outer():
            yield from inner()

        return max(map(abs, outer()))

    def oddly_named(self, stage):
        def other():
            return self.generators(stage)

        # (compiling it would cost 2 ms in a process that compiles nothing else)
        other.__code__ = other.__code__.replace(co_filename="<m\u00e9moire \u03a9>")
        return other()

    def recursion(self, stage, depth=6):
        if depth == 0:
            return self.oddly_named(stage)
        try:
            raise KeyError
        except KeyError:
            return self.recursion(stage, depth - 1)
