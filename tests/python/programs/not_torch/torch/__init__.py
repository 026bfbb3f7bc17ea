import sys

if getattr(sys, "torch_fails", False):
    raise OSError("libtorch_cpu.so: not found")
value = 42
