# SPDX-License-Identifier: Apache-2.0
"""What torch is to torch.cuda.synchronize(): code that is not where a person looks for his line."""
import threading

STREAM_SYNCHRONIZE = 131  # as CUPTI numbers the runtime's functions


def wait(fake, number, function=STREAM_SYNCHRONIZE, microseconds=2000):
    line = "runtime cbid=%d start=now wait=%d end=now corr=%d tid=%d" % (
        function, microseconds, number, threading.get_native_id())
    assert fake.FakeCuptiLine(line.encode())
