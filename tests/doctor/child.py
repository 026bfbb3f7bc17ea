# SPDX-License-Identifier: Apache-2.0
"""Variants of programs in a process of its own; record.py tells it what to do, line by line.

Commands and answers are JSON objects, one a line: commands on stdin, answers on the stdout this
process was started with. What the program itself prints goes to stderr, which is its log.
"""
import contextlib
import gc
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback

DEFAULT_SCHEDULE = {"wait": 1, "warmup": 2, "active": 4}
# What torch.profiler is asked for beside operators and kernels.
SETTINGS = {
    "light": {},
    "shapes": {"record_shapes": True},
    "full": {"record_shapes": True, "profile_memory": True, "with_stack": True},
}


def load(path):
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(path).resolve().parent)]  # parts.py
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that worker processes can name the program's classes
    spec.loader.exec_module(module)
    return module


class Program:
    """One variant, with the switches of torch as its build() left them: another may live beside it."""

    def __init__(self, path, fixed, device):
        import torch

        self.torch = torch
        self.cuda = device == "cuda"
        module = load(path)
        self.label = module.LABEL
        self.device_name = torch.cuda.get_device_name() if self.cuda else "cpu"
        self.places = [(torch.backends.cuda.matmul, "allow_tf32"), (torch.backends.cudnn, "allow_tf32"),
                       (torch.backends.cudnn, "benchmark")]
        as_found = [getattr(*place) for place in self.places]
        job = module.build(fixed, device)
        self.step = job if callable(job) else job.step
        self.synchronize()
        self.switches = [getattr(*place) for place in self.places]
        self.set(as_found)

    def set(self, switches):
        for place, value in zip(self.places, switches, strict=True):
            setattr(*place, value)

    @contextlib.contextmanager
    def turn(self):
        as_found = [getattr(*place) for place in self.places]
        self.set(self.switches)
        self.synchronize()
        try:
            yield
        finally:
            self.synchronize()
            self.set(as_found)

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def run(self, steps, lead):
        """Milliseconds a step over a block of `steps`; `lead` steps before it are not counted."""
        with self.turn():
            for _ in range(lead):
                self.step()
            self.synchronize()
            start = time.perf_counter()
            for _ in range(steps):
                self.step()
            self.synchronize()
            return (time.perf_counter() - start) * 1e3 / steps

    def profile(self, setting, path):
        """Writes a trace of the active steps; returns milliseconds an active step under the profiler."""
        torch = self.torch
        cuda = self.cuda

        # Two events just outside the recorded steps time them on the device's own clock: nothing
        # waits between the steps, and neither the profiler's start nor the export is counted.
        class Timed(torch.profiler.profile):
            def start_trace(self):
                super().start_trace()
                self.began = mark()

            def stop_trace(self):
                self.ended = mark()
                super().stop_trace()

        def mark():
            if not cuda:
                return time.perf_counter()
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            return event

        schedule = {**DEFAULT_SCHEDULE, **self.label.get("schedule", {})}
        activities = [torch.profiler.ProfilerActivity.CPU]
        if cuda:
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with self.turn(), Timed(
            activities=activities,
            schedule=torch.profiler.schedule(**schedule, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(path),
            **SETTINGS[setting],
        ) as profiler:
            for _ in range(sum(schedule.values())):
                self.step()
                profiler.step()
        self.synchronize()
        if cuda:
            return profiler.began.elapsed_time(profiler.ended) / schedule["active"]
        return (profiler.ended - profiler.began) * 1e3 / schedule["active"]


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    programs = {}  # by word: "bad", "fixed"
    try:
        import torch

        answers.write(json.dumps({"torch": torch.__version__}) + "\n")
        for line in sys.stdin:
            command = json.loads(line)
            verb, word = command.pop("verb"), command.pop("word", "")
            if verb == "exit":
                break
            if verb == "build":
                programs[word] = Program(**command)
                answer = {"device": programs[word].device_name}
            elif verb == "forget":
                programs.pop(word, None)
                gc.collect()
                if torch.cuda.is_initialized():
                    torch.cuda.empty_cache()
                continue
            else:
                answer = {"ms": getattr(programs[word], verb)(**command)}
            answers.write(json.dumps(answer) + "\n")
    except BaseException as error:  # whatever it is, the other programs go on
        traceback.print_exc()
        answers.write(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}) + "\n")
    sys.stderr.flush()
    answers.close()
    os._exit(0)  # loader workers and open graphs are not worth an orderly end


if __name__ == "__main__":
    main()
