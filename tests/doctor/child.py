# SPDX-License-Identifier: Apache-2.0
"""One variant of one program in a process of its own; record.py tells it what to do, line by line.

Commands and answers are JSON objects, one a line: commands on stdin, answers on the stdout this
process was started with. What the program itself prints goes to stderr, which is its log.
"""
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback

DEFAULT_SCHEDULE = {"wait": 1, "warmup": 2, "active": 4}


def load(path):
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(path).resolve().parent)]  # parts.py
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that worker processes can name the program's classes
    spec.loader.exec_module(module)
    return module


class Program:
    def __init__(self, path, fixed, device):
        import torch

        self.torch = torch
        self.cuda = device == "cuda"
        module = load(path)
        self.label = module.LABEL
        self.device_name = torch.cuda.get_device_name() if self.cuda else "cpu"
        job = module.build(fixed, device)
        self.step = job if callable(job) else job.step
        self.synchronize()

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def run(self, steps, lead):
        """Milliseconds a step over a block of `steps`; `lead` steps before it are not counted."""
        for _ in range(lead):
            self.step()
        self.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.synchronize()
        return (time.perf_counter() - start) * 1e3 / steps

    def profile(self, full, path):
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
        with Timed(
            activities=activities,
            schedule=torch.profiler.schedule(**schedule, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(path),
            record_shapes=full,
            profile_memory=full,
            with_stack=full,
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
    program = None
    try:
        import torch

        answers.write(json.dumps({"torch": torch.__version__}) + "\n")
        for line in sys.stdin:
            command = json.loads(line)
            verb = command.pop("verb")
            if verb == "exit":
                break
            if verb == "build":
                program = Program(**command)
                answer = {"device": program.device_name}
            else:
                answer = {"ms": getattr(program, verb)(**command)}
            answers.write(json.dumps(answer) + "\n")
    except BaseException as error:  # whatever it is, the other programs go on
        traceback.print_exc()
        answers.write(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}) + "\n")
    sys.stderr.flush()
    answers.close()
    os._exit(0)  # loader workers and open graphs are not worth an orderly end


if __name__ == "__main__":
    main()
