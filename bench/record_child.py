#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a training script as it is and times blocks of its steps.

    record_child.py [--profiler light|full] --blocks 20-60,100-150 --out times.json SCRIPT [ARGS…]

A step ends where the script's optimizer steps (PyTorch's own hook for that). At the edges of a
block the device is waited for, so a block holds all its work; nothing is done inside a block.
"""
import argparse
import json
import os
import resource
import runpy
import sys
import time

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


class Blocks:
    """Time of each block of steps, in milliseconds a step."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.edges = {edge for block in blocks for edge in block}
        self.times = {}
        self.usage = {}
        self.step = 0
        self.ends = []  # of every step as the host sees it: how long a hiccup lasts, not what a step takes

    def __call__(self, *_):
        self.step += 1
        self.ends.append(time.perf_counter())
        if self.step not in self.edges:
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.times[self.step] = time.perf_counter()
        self.usage[self.step] = {"thread": resource.getrusage(resource.RUSAGE_THREAD),
                                 "process": resource.getrusage(resource.RUSAGE_SELF)}

    def used(self, first, last):
        """What the training thread and the whole process took from the machine, a step."""
        fields = {"user_ms": ("ru_utime", 1e3), "system_ms": ("ru_stime", 1e3), "faults": ("ru_minflt", 1),
                  "waits": ("ru_nvcsw", 1), "preemptions": ("ru_nivcsw", 1)}
        return {who: {name: round((getattr(self.usage[last][who], field) - getattr(self.usage[first][who], field))
                                  * scale / (last - first), 4) for name, (field, scale) in fields.items()}
                for who in ("thread", "process")}

    def result(self):
        found = {f"{a}-{b}": (self.times[b] - self.times[a]) / (b - a) * 1e3
                 for a, b in self.blocks if a in self.times and b in self.times}
        used = {f"{a}-{b}": self.used(a, b) for a, b in self.blocks if a in self.times and b in self.times}
        return {**found, "used": used, "steps": [round((b - a) * 1e3, 3) for a, b in zip(self.ends, self.ends[1:])]}


def profiler(kind):
    """torch.profiler as a user switches it on: CPU and CUDA; full: shapes, stacks and memory too."""
    from torch.profiler import ProfilerActivity, profile
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    full = kind == "full"
    return profile(activities=activities, record_shapes=full, with_stack=full, profile_memory=full)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profiler", choices=["light", "full"])
    parser.add_argument("--blocks", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    blocks = Blocks([tuple(map(int, block.split("-"))) for block in options.blocks.split(",")])
    register_optimizer_step_post_hook(blocks)
    running = []
    if options.profiler:
        first, last = blocks.blocks[0]

        def switch(*_):
            if blocks.step == first - 1:
                running.append(profiler(options.profiler))
                running[0].start()
            elif blocks.step == last:
                running[0].stop()

        register_optimizer_step_post_hook(switch)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))  # as Python itself does
    runpy.run_path(options.script, run_name="__main__")
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(blocks.result(), file)


if __name__ == "__main__":
    main()
