# SPDX-License-Identifier: Apache-2.0
"""The program's own torch.profiler, in each of the ways it is used. Prints what it saw."""
import torch
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity, profile, schedule


def work():
    x = torch.ones(4, 4, requires_grad=True)
    (x @ x).sum().backward()


def names(prof):
    return sorted({event.key for event in prof.key_averages()} & {"aten::mm", "aten::sum"})


with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as prof:
    work()
print("plain", names(prof))
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    work()
print("cuda", names(prof))
steps = []
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2),
             on_trace_ready=lambda p: steps.append(names(p))) as prof:
    for _ in range(5):
        work()
        prof.step()
print("schedule", steps)
with autograd_profiler.profile() as prof:
    work()
print("autograd", names(prof))
try:
    with profile(activities=[ProfilerActivity.CPU]), profile(activities=[ProfilerActivity.CPU]):
        pass
except RuntimeError as error:
    print("twice", str(error).splitlines()[0])
with autograd_profiler.emit_itt(enabled=False):
    work()
print(autograd_profiler._is_profiler_enabled)
