#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hone run shortens in torch's backward passes (collect/torch_backward.h) changes no answer: names of types, and
callbacks and switches that belong to a thread."""
import collections
import subprocess
import textwrap

import harness

# A pool's threads get the state of the thread that forked, by the function that backward passes use.
FORKED = textwrap.dedent('''
    import atexit, os, sys, time, torch
    # A thread of the pool that lives while Python goes down may end the process ("terminate called without an active
    # exception" after the last line of 2 of 15 bare runs).
    atexit.register(lambda: (sys.stdout.flush(), os._exit(0)))

    @torch.jit.script
    def work(x):
        for _ in range(4):
            x = torch.tanh(x)
        return x

    @torch.jit.script
    def forked(x):
        return torch.jit.wait(torch.jit.fork(work, x))

    @torch.jit.script
    def other(x):
        return torch.sinh(x)

    @torch.jit.script
    def unseen(x):
        return torch.jit.wait(torch.jit.fork(other, x))

    x = torch.randn(4)
    for _ in range(20):
        forked(x)
''')


class Backward(harness.Case):
    def setUp(self):
        super().setUp()
        self.python = harness.torch_python()

    def same_as_bare(self, text):
        """What the program prints, with and without the recorder."""
        program = self.script(text)
        bare = subprocess.run([self.python, program], capture_output=True, check=True)
        done = self.run_hone([self.python, program], ["--all", "--no-analyze"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, bare.stdout, done.stderr)
        return done

    def test_types_are_spelt_as_ever(self):
        # Texts that come and go share an address, and of many some share a place in the table. One of each
        # length around that at which a text moves out of its string, and what is no type at all.
        self.same_as_bare('''
            import torch
            spell = torch._C._demangle
            names = [f"N{len(word)}{word}{len(node)}{node}E" for word in ("torch", "at", "c10")
                     for node in ["N" * n for n in range(1, 40)] + [f"Node{n}Backward0" for n in range(2000)]]
            names += ["", "_", "i", "no type", "x" * 20000, "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"]
            for _ in range(3):
                for name in names:
                    print(spell(name))
            class Twice(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2
                @staticmethod
                def backward(ctx, grad):
                    return grad * 2
            for _ in range(50):
                y = Twice.apply(torch.ones(3, requires_grad=True)).relu().log_softmax(0).sum()
                print(y.grad_fn.name(), y.grad_fn.next_functions[0][0].name())
                y.backward()
        ''')

    def test_a_threads_own_callbacks_reach_the_pool(self):
        done = self.same_as_bare(FORKED + textwrap.dedent('''
            for _ in range(3):
                with torch.autograd.profiler.profile() as profile:
                    for _ in range(5):
                        forked(x)
                    # A fork's own record ends after wait(): torch's profiler does not bear one that is late.
                    time.sleep(0.02)
                print({event.key: event.count for event in profile.key_averages()})
                forked(x)  # the pool's threads no longer have them
            torch._C._autograd._set_empty_test_observer(False, 1.0)
            for _ in range(5):
                forked(x)
        '''))
        self.assertIn(b"'aten::tanh': 20", done.stdout)

    def test_a_thread_that_wants_no_records(self):
        done = self.same_as_bare(FORKED + textwrap.dedent('''
            for _ in range(10):
                torch._C._autograd._enable_record_function(False)
                unseen(x)
                torch._C._autograd._enable_record_function(True)
                forked(x)
        '''))
        counts = collections.Counter(name for _, _, name in harness.operators_of(done.out))
        self.assertEqual(counts["aten::tanh"], 4 * 30)
        self.assertEqual(counts["aten::sinh"], 0)


if __name__ == "__main__":
    harness.main()
