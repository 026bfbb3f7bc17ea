#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that forks while the recorder is at work: the child must not inherit a lock that nobody lets go."""
import harness

# Another thread has the recorder put its callbacks into torch's list and take them out, as windows do, but
# without a pause; torch's lock around that list is then held much of the time.
FORKS = '''
    import ctypes, os, signal, sys, threading, torch
    torch.set_num_threads(1)
    lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
    x = torch.ones(4, 4)
    x + 1
    toggles, over = 0, False
    def toggle():
        global toggles
        while not over:
            lib.hone_torch_probe(1)
            lib.hone_torch_probe(2)
            toggles += 1
    sys.setswitchinterval(1e-5)  # threads take turns often
    threads = [threading.Thread(target=toggle) for _ in range(2)]
    for thread in threads:
        thread.start()
    ends = {"well": 0, "stuck": 0}
    for _ in range(100):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # ends what would wait for ever
            x + 1
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        ends["well" if status == 0 else "stuck"] += 1
        if status != 0:
            break
    over = True
    for thread in threads:
        thread.join()
    print(ends["well"], ends["stuck"], toggles > 100)
'''


class Fork(harness.Case):
    def test_a_fork_while_callbacks_come_and_go(self):
        done = self.run_hone([harness.torch_python(), self.script(FORKS)], ["--no-analyze", "--collect", "ops"])
        self.assertEqual((done.returncode, done.stdout), (0, b"100 0 True\n"), done.stderr)


if __name__ == "__main__":
    harness.main()
