#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the doctor's labelled set: runs each program, times it bare, profiles it, packs traces.

    python3 tests/doctor/record.py --out DIR                     # on a machine with a CUDA device
    python3 tests/doctor/record.py --device cpu --out DIR        # the programs of tests/doctor/cpu
    python3 tests/doctor/record.py --hone build/hone --out DIR   # recorded by hone run, not torch.profiler

See README.md beside this file for what is written.
"""
import argparse
import ast
import concurrent.futures
import gzip
import json
import math
import os
import pathlib
import platform
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ORDER = ["bad", "fixed", "fixed", "bad", "bad", "fixed", "fixed", "bad", "bad", "fixed"]
TAR_BYTES = 16_000_000
MAX_TARS = 6
ALL_TARS_BYTES = 62_000_000
KEPT_TRACE_BYTES = 150_000


class Failed(Exception):
    pass


def read_label(path):
    """LABEL and the docstring, without running the program (the parent never imports torch)."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "LABEL":
            return ast.literal_eval(node.value), ast.get_docstring(tree)
    raise Failed(f"{path.name}: has no LABEL")


class Child:
    """A process that holds one variant (of one rank) and answers commands."""

    def __init__(self, log, env):
        self.log = log
        with open(log, "w") as stream:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "child.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, text=True,
                env={**os.environ, **env}, start_new_session=True)
        self.answers = queue.Queue()
        self.greeted = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def tell(self, **command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; hear() says so

    def hear(self, deadline):
        while True:
            try:
                line = self.answers.get(timeout=0.5)
                break
            except queue.Empty:
                if self.process.poll() is not None and self.answers.empty():
                    line = ""
                    break
                if time.monotonic() > deadline:
                    raise Failed("took too long") from None
        if not line:
            raise Failed(f"process ended with {self.process.wait()}; log {self.log}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def greeting(self, deadline):
        """What it says once torch is there."""
        self.greeted = self.greeted or self.hear(deadline)
        return self.greeted

    def end(self):
        self.tell(verb="exit")
        try:
            self.process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its loader workers, too
        except ProcessLookupError:
            pass
        self.process.wait()


class Variant:
    """The bad or the fixed variant: one child, one per rank, or with --pair one that all variants share."""

    def __init__(self, program, fixed, options):
        self.program = program
        self.fixed = fixed
        self.word = "fixed" if fixed else "bad"
        self.torch = None
        self.shared = options.shared if options.pair else None
        self.children = [self.shared.child()] if self.shared else self.start(program, options)

    def start(self, program, options):
        ranks = program.label.get("ranks", 1)
        env = {"TMPDIR": str(options.scratch), **program.label.get("env", {})}
        if ranks > 1:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks),
                       GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
        return [
            Child(options.scratch / f"{program.name}.{self.word}.{rank}.log",
                  {**env, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)]

    def ask(self, deadline, **command):
        """The same command to every rank; a list of answers."""
        for rank, child in enumerate(self.children):
            child.tell(word=self.word, **{key: value[rank] if isinstance(value, list) else value
                                          for key, value in command.items()})
        return [child.hear(deadline) for child in self.children]

    def build(self, deadline, device):
        self.torch = [child.greeting(deadline) for child in self.children][0]["torch"]
        return self.ask(deadline, verb="build", path=str(self.program.path), fixed=self.fixed,
                        device=device)[0]["device"]

    def run(self, deadline, steps, lead):
        return max(answer["ms"] for answer in self.ask(deadline, verb="run", steps=steps, lead=lead))

    def end(self, failed=False):
        for child in self.children:
            if self.shared and not failed:
                child.tell(verb="forget", word=self.word)
            else:
                child.end()


class Shared:
    """The process that --pair keeps from program to program; a new one after one that failed, and after one
    that torch.profiler was in: CUPTI stays, and launch-bound programs took up to twice as long after it."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.started = 0
        self.now = None

    def child(self):
        if not self.now or self.now.process.poll() is not None:
            self.started += 1
            self.now = Child(self.scratch / f"shared.{self.started}.log", {"TMPDIR": str(self.scratch)})
        return self.now

    def end(self):
        if self.now:
            self.now.end()
            self.now = None


class Program:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.label, self.doc = read_label(path)
        self.variants = {}

    def start(self, options):
        if options.pair and options.hone:
            return  # both are timed in the process that is recorded
        fixed = self.label["fix"] and not options.kept_only and (options.blocks or options.fixed_settings)
        words = ["bad", "fixed"] if fixed else ["bad"]
        self.variants = {word: Variant(self, word == "fixed", options) for word in words}

    def end(self):
        for variant in self.variants.values():
            variant.end()
        self.variants = {}


def warm_up(variant, deadline, options, multiple):
    """At least 5 steps and half a second; returns how many steps make a block of block_s."""
    steps, spent, ms = 5 * multiple, 0.0, 0.0
    while True:
        ms = variant.run(deadline, steps, 0)
        spent += ms * steps / 1e3
        if spent >= options.warm_s:
            break
        steps = max(multiple, math.ceil(options.warm_s * 1e3 / 2 / ms / multiple) * multiple)
    ms = variant.run(deadline, multiple, 0) if multiple > 1 else variant.run(deadline, 2, 0)
    return max(2, math.ceil(options.block_s * 1e3 / ms / multiple) * multiple)


def attempt(program, word, record, work):
    """work(), or None and an entry in the record's errors; a variant that failed is given up."""
    if word not in program.variants:
        return None
    try:
        return work(program.variants[word])
    except Failed as error:
        record["errors"].append(f"{word}: {error}")
        program.variants.pop(word).end(failed=True)
        return None


def build(program, deadline, options, record):
    for word in list(program.variants):
        device = attempt(program, word, record, lambda v: v.build(deadline, options.device))
        if device is not None:
            record["device"] = device
            record["torch"] = program.variants[word].torch


def time_bare(program, deadline, options, record):
    multiple = program.label.get("multiple", 1)
    blocks = {}
    for word in list(program.variants):
        blocks[word] = attempt(program, word, record,
                               lambda v: warm_up(v, deadline, options, multiple))
    record["bare_ms"] = {word: [] for word in blocks}
    record["block_steps"] = blocks
    lead = math.ceil(program.label.get("lead", 2) / multiple) * multiple
    for word in ORDER[:2 * options.blocks]:
        ms = attempt(program, word, record, lambda v, word=word: v.run(deadline, blocks[word], lead))
        if ms is not None:
            record["bare_ms"][word].append(round(ms, 4))


def profile(program, deadline, options, record):
    record["profiled_ms"] = {}
    record["traces"] = {}
    for word in list(program.variants):
        settings = options.settings if word == "bad" else options.fixed_settings
        settings = [record["keep"]] if options.kept_only else settings
        for setting in program.label.get("settings", settings) if settings else []:
            if word not in program.variants:
                break
            stem = program.name + (".fixed" if word == "fixed" else "")
            ranks = len(program.variants[word].children)
            paths = [options.out / (stem + (f".rank{rank}" if ranks > 1 else "") + f".{setting}.json")
                     for rank in range(ranks)]
            answers = attempt(program, word, record, lambda v, setting=setting, paths=paths: v.ask(
                deadline, verb="profile", setting=setting, path=[str(path) for path in paths]))
            if answers is None:
                continue
            key = setting if word == "bad" else f"fixed_{setting}"
            record["profiled_ms"][key] = round(max(answer["ms"] for answer in answers), 4)
            for path in paths:
                record["traces"][path.name + ".gz"] = options.packers.submit(pack, path)


def pack(path):
    """Compresses a trace, which takes as long as recording it: the next one need not wait. Its size."""
    packed = path.with_name(path.name + ".gz")
    with open(path, "rb") as trace, gzip.open(packed, "wb", compresslevel=6) as out:
        shutil.copyfileobj(trace, out, 1 << 20)
    path.unlink()
    return packed.stat().st_size


def record_by_hone(program, options, record):
    """The program as a process of its own under hone run, when nothing else of ours runs."""
    program.end()
    folder = options.out / program.name
    shutil.rmtree(folder, ignore_errors=True)
    steps = ["--steps", str(program.label["steps"])] if "steps" in program.label else []
    done = subprocess.run(
        [str(options.hone), "run", "--quiet", "--no-analyze", *steps, "--out", str(folder), "--", sys.executable,
         str(HERE / "run_program.py"), str(program.path), "--device", options.device,
         *(["--pair"] if options.pair else [])],
        capture_output=True, text=True, timeout=program.label.get("timeout", options.timeout))
    if done.returncode:
        record["errors"].append(f"hone run: exit {done.returncode}: {done.stderr.strip()[-400:]}")
        return
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    record["recorded_ms"] = answer["ms"]
    if options.pair:
        record["bare_ms"] = answer["pair_ms"]
    record["traces"] = {f"{program.name}/{path.name}": path.stat().st_size for path in folder.glob("*.hone")}


def record_program(program, options, after_timing):
    """Measures one program; the record's errors say what is missing when a variant failed."""
    began = time.monotonic()
    deadline = began + program.label.get("timeout", options.timeout)
    record = {"name": program.name, "says": program.doc, "label": program.label,
              "keep": program.label.get("keep", "light"), "python": platform.python_version(),
              "errors": []}
    record["schedule"] = {"wait": 1, "warmup": 2, "active": 4, **program.label.get("schedule", {})}
    if not (options.pair and options.hone):
        build(program, deadline, options, record)
        time_bare(program, deadline, options, record)
    if options.hone:
        record_by_hone(program, options, record)
        after_timing()
    else:
        after_timing()
        profile(program, deadline, options, record)
        if record["profiled_ms"]:
            options.shared.end()
    program.end()
    record["seconds"] = round(time.monotonic() - began, 1)
    return record


class Tars:
    """Packs as it goes, so that a run cut short still leaves what it had."""

    def __init__(self, folder):
        self.folder = folder
        self.sizes = {"kept.tar": 0}
        self.left_out = []
        for old in list(folder.glob("kept.tar")) + list(folder.glob("rest.*.tar")):
            old.unlink()

    def add(self, path, kept, name_in_tar=""):
        need = path.stat().st_size + 2048
        names = ["kept.tar"] * bool(kept) + [f"rest.{i}.tar" for i in range(1, MAX_TARS)]
        for name in names:
            size = self.sizes.get(name, 10240)
            if size + need <= TAR_BYTES and sum(self.sizes.values()) + need + 10240 <= ALL_TARS_BYTES:
                with tarfile.open(self.folder / name, "a") as tar:
                    tar.add(path, arcname=name_in_tar or path.name)
                self.sizes[name] = (self.folder / name).stat().st_size
                return
        self.left_out.append(f"{path.name} ({path.stat().st_size} bytes)")


def is_kept(name, record):
    return f".{record['keep']}.json" in name and ".fixed." not in name


def describe(record):
    def middle(values):
        return sorted(values)[len(values) // 2]

    bare = {word: middle(values) for word, values in record.get("bare_ms", {}).items() if values}
    words = [f"{record['name']:<22}{record['label']['first']:<20}"]
    words += [f"{word} {ms:.2f} ms" for word, ms in bare.items()]
    words += [f"{key} {ms:.2f}" for key, ms in record.get("profiled_ms", {}).items()]
    for name, size in record.get("traces", {}).items():
        if is_kept(name, record):
            words.append(f"kept {size // 1000} kB" + (" TOO LARGE" if size > KEPT_TRACE_BYTES else ""))
    words += [f"FAILED {error}" for error in record["errors"]]
    return "  ".join(words) + f"  [{record['seconds']} s]"


def settings_of(words):
    return [] if words == "none" else words.split(",")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the tar files")
    parser.add_argument("--files", type=pathlib.Path, help="folder for the single files (default: OUT/files)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--set", choices=["programs", "cpu", "run", "strangers"], help="default: cpu with --device cpu")
    parser.add_argument("--hone", type=pathlib.Path, help="record with `hone run` of this program, bad variants only")
    parser.add_argument("--pair", action="store_true",
                        help="both variants in one process, in turns; with --hone after recording")
    parser.add_argument("--settings", default="light,full",
                        help="of torch.profiler: light, shapes, full; none: timed only")
    parser.add_argument("--blocks", type=int, default=5, help="of each variant; 0: profiled only")
    parser.add_argument("--fixed-settings", default="", help="of the fixed variants; default: the same")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--shard", default="1/1", help="i/n: every n-th program, from the i-th on")
    parser.add_argument("--budget", type=float, default=540, help="seconds; what does not fit is skipped")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a program")
    parser.add_argument("--quick", action="store_true", help="short blocks: tests the set, measures nothing")
    parser.add_argument("--kept-only", action="store_true", help="only the traces that are kept, no fixed variant")
    options = parser.parse_args()
    options.warm_s, options.block_s = 0.5, 0.4
    if options.device == "cpu":
        options.warm_s, options.block_s = 0.2, 0.15
    if options.quick:
        options.warm_s, options.block_s, options.blocks = 0.02, 0.02, 2
    options.set = options.set or ("cpu" if options.device == "cpu" else "programs")
    options.fixed_settings = settings_of(options.fixed_settings or options.settings)
    options.settings = settings_of(options.settings)
    if options.hone:
        options.hone = options.hone.resolve()
    options.out = options.out.resolve()
    options.tars = options.out
    options.out = (options.files or options.out / "files").resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    options.tars.mkdir(parents=True, exist_ok=True)
    return options


def choose(options):
    paths = sorted((HERE / options.set).glob("*.py"))
    if options.hone or options.pair:  # one process, with the variables of this one
        labels = {path: read_label(path)[0] for path in paths}
        paths = [path for path in paths if labels[path].get("ranks", 1) == 1
                 and not (options.pair and "env" in labels[path])]
    if options.only:
        wanted = options.only.split(",")
        unknown = set(wanted) - {path.stem for path in paths}
        if unknown:
            sys.exit(f"record: no program {', '.join(sorted(unknown))} in {options.set}")
        paths = [path for path in paths if path.stem in wanted]
    index, count = map(int, options.shard.split("/"))
    return [Program(path) for path in paths[index - 1::count]]


def main():
    options = parse_options()
    programs = choose(options)
    options.scratch = pathlib.Path(tempfile.mkdtemp(prefix="record."))
    options.shared = Shared(options.scratch)
    options.packers = concurrent.futures.ThreadPoolExecutor(2)
    tars = Tars(options.tars)
    began = time.monotonic()
    try:
        return record_all(programs, options, tars, began)
    finally:
        for program in programs:
            program.end()
        options.shared.end()
        shutil.rmtree(options.scratch, ignore_errors=True)


def finish(record, options, tars):
    """Says what was measured and packs it; waits for its traces."""
    record["traces"] = {name: size if isinstance(size, int) else size.result()
                        for name, size in record.get("traces", {}).items()}
    target = options.out / f"{record['name']}.json"
    target.write_text(json.dumps(record, indent=1) + "\n")
    print(describe(record), flush=True)
    tars.add(target, True)
    for name in record["traces"]:
        tars.add(options.out / name, options.hone or is_kept(name, record), name)
    logs = [*options.scratch.glob(f"{record['name']}.*.log"), *options.scratch.glob("shared.*.log")]
    for log in logs:
        if record["errors"]:
            print("".join(f"    {line}\n" for line in log.read_text().splitlines()[-4:]), end="")
            tars.add(log, True)


def record_all(programs, options, tars, began):
    wrong, skipped, finished = [], [], None
    for i, program in enumerate(programs):
        if time.monotonic() - began > options.budget - 15:
            skipped.append(program.name)
            program.end()
            continue
        if not program.variants:
            program.start(options)
        # The next program's processes import torch while this one is profiled, not while it is timed.
        following = programs[i + 1] if i + 1 < len(programs) else None
        record = record_program(program, options, lambda following=following: (
            following.start(options) if following and not options.pair else None))
        if finished:
            finish(finished, options, tars)
        finished = record
        if record["errors"]:
            wrong.append(program.name)
    if finished:
        finish(finished, options, tars)
    print(f"{len(programs) - len(skipped)} programs in {time.monotonic() - began:.0f} s"
          f"; failed: {', '.join(wrong) or 'none'}; skipped: {', '.join(skipped) or 'none'}"
          f"; not packed: {', '.join(tars.left_out) or 'none'}", flush=True)
    return 1 if wrong or skipped else 0


if __name__ == "__main__":
    sys.exit(main())
