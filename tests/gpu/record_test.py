#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only a real GPU can show of a recording: lines of waits, CUDA graphs, streams, copies, memory, another user of
CUPTI, Triton, NVTX, NCCL, a program without Python, and the device's own counters.

    record_test.py [--hone build/hone] [TEST…]

Run by hand, on a machine with a GPU (exits with 77 without one). All programs are recorded first, four at a
time: none of the tests is about time.
"""
import argparse
import concurrent.futures
import functools
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
LIMIT_S = 240
HONE = str(ROOT / "build" / "hone")

TRAIN = '''
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(256, 512, device="cuda")
def train():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss
'''

# name: (options of hone run, program). Lines that tests ask for end with "# here: WORD".
PROGRAMS = {
    "waits": (["--all"], TRAIN + '''
other, event = torch.cuda.Stream(), torch.cuda.Event()
big = torch.randn(4096, 4096, device="cuda")
def work():
    return big @ big
for _ in range(40):
    loss = train()
    work(); torch.cuda.synchronize()  # here: device
    work(); torch.cuda.current_stream().synchronize()  # here: stream
    work(); event.record(); event.synchronize()  # here: event
    work(); loss.item()  # here: item
    y = work(); y.cpu()  # here: cpu
    y = work(); torch.nonzero(y[0])  # here: nonzero
'''),
    "graph": (["--all"], TRAIN + '''
a = torch.zeros(1 << 20, device="cuda")
def body():
    for _ in range(20):
        a.add_(1)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    body()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    body()
a.zero_()
for _ in range(40):
    train()
    graph.replay()
torch.cuda.synchronize()
print(int(a[0].item()))
'''),
    "streams": (["--all"], TRAIN + '''
pinned, pageable = torch.randn(1 << 20).pin_memory(), torch.randn(1 << 20)
other = torch.cuda.Stream()
for _ in range(40):
    train()
    with torch.cuda.stream(other):
        a = pinned.to("cuda", non_blocking=True)
        b = a * 2
    torch.cuda.current_stream().wait_stream(other)
    c = pageable.to("cuda")
    d = (b + c).to("cpu")
'''),
    "memory": (["--all"], TRAIN + '''
kept = []
for step in range(40):
    train()
    kept.append(torch.empty(3 << 20, dtype=torch.uint8, device="cuda"))  # here: kept
    if step == 20:
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            print("no room")
'''),
    "profiler": (["--all"], TRAIN + '''
from torch.profiler import ProfilerActivity, profile
for step in range(60):
    if step == 20:
        profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        profiler.start()
    train()
    if step == 29:
        torch.cuda.synchronize()
        profiler.stop()
print(sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events()))
'''),
    "triton": (["--all"], '''
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(512, 512)
    def forward(self, x):
        return (torch.sin(self.a(x)) * 2 + 1).relu()
model = torch.compile(Net().cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(256, 512, device="cuda")
for _ in range(40):
    optimizer.zero_grad()
    model(x).mean().backward()
    optimizer.step()
'''),
    "recompile": ([], '''
import torch
torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(512, 512)
    def forward(self, x, word):
        return self.a(x) * 2 if word.startswith("epoch") else x
net = Net().cuda()
model = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(256, 512, device="cuda")
for step in range(200):
    optimizer.zero_grad()
    model(x, f"epoch{step // 5}").mean().backward()
    optimizer.step()
'''),
    "nvtx": (["--all"], TRAIN + '''
for _ in range(40):
    torch.cuda.nvtx.range_push("the whole step")
    train()
    torch.cuda.nvtx.range_pop()
'''),
    "nccl": (["--all"], TRAIN + '''
import os
import torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533", RANK="0", WORLD_SIZE="1")
dist.init_process_group("nccl")
for _ in range(40):
    train()
    dist.all_reduce(x)
torch.cuda.synchronize()
dist.destroy_process_group()
'''),
    "told": (["--all"], TRAIN + '''
for _ in range(40):
    train()
'''),
}

PLAIN = r'''
#include <cstdio>
__global__ void Scale(float* data, float by) { data[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
int main() {
  float* data;
  cudaMalloc(&data, 1 << 20);
  cudaMemset(data, 0, 1 << 20);
  for (int i = 0; i < 1000; ++i) Scale<<<1024, 256>>>(data, 1.0f);
  std::printf("%d\n", cudaDeviceSynchronize());
}
'''


class Recording:
    def __init__(self, folder, program, done):
        self.folder, self.program, self.done = folder, program, done

    @functools.cached_property
    def answer(self):
        told = subprocess.run([HONE, "analyze", str(self.folder), "--json"], capture_output=True, text=True, check=True)
        return json.loads(told.stdout)

    def rows(self, query):
        told = subprocess.run([HONE, "sql", str(self.folder), "--json", query], capture_output=True, text=True)
        if told.returncode:
            raise AssertionError(told.stderr)
        return json.loads(told.stdout)

    def one(self, query):
        return next(iter(self.rows(query)[0].values()))

    def line(self, word):
        lines = self.program.read_text().split("\n")
        return 1 + next(i for i, line in enumerate(lines) if line.endswith("# here: " + word))


def record(work, name):
    options, text = PROGRAMS[name]
    program, folder = work / f"train_{name}.py", work / name  # triton.py would stand in for triton
    program.write_text(textwrap.dedent(text))
    env = dict(os.environ, **({"HONE_TEST_SELF_TEST": "fail"} if name == "told" else {}))
    done = subprocess.run([HONE, "run", "--quiet", "--no-analyze", "--out", str(folder), *options, "--", sys.executable,
                           str(program)], capture_output=True, text=True, timeout=LIMIT_S, env=env)
    return Recording(folder, program, done)


def record_plain(work):
    source, program, folder = work / "plain.cu", work / "plain.exe", work / "plain"
    source.write_text(PLAIN)
    subprocess.run(["nvcc", "-o", str(program), str(source)], check=True, capture_output=True)
    done = subprocess.run([HONE, "run", "--quiet", "--no-analyze", "--out", str(folder), "--", str(program)],
                          capture_output=True, text=True, timeout=LIMIT_S)
    return Recording(folder, source, done)


class Gpu(unittest.TestCase):
    recordings = {}

    def recording(self, name):
        recording = self.recordings[name].result()
        self.assertEqual(recording.done.returncode, 0, recording.done.stderr)
        return recording

    def test_lines_of_waits(self):
        recording = self.recording("waits")
        found = {}
        for row in recording.rows("select call_site, name, count(*) n, avg(dur) d from slice where blocks = 1 "
                                  "and call_site is not null group by 1, 2"):
            found.setdefault(row["call_site"].split(" ")[0], []).append((row["name"], row["n"], round(row["d"] / 1e3)))
        for word in ("device", "stream", "event", "item", "cpu", "nonzero"):
            here = next((calls for site, calls in found.items() if f"({recording.line(word)})" in site
                         or site.endswith(f":{recording.line(word)}")), None)
            with self.subTest(word):
                self.assertIsNotNone(here, found)
                self.assertTrue(any(39 <= count <= 40 for _, count, _ in here), here)
        for word in ("device", "stream", "event"):  # 0.1 ms of work at the least lay before each
            with self.subTest(word + " waits"):
                calls = [calls for site, calls in found.items() if f"{recording.line(word)}" in site]
                self.assertTrue(calls and max(us for _, _, us in calls[0]) > 100, calls)

    def test_nodes_of_a_graph(self):
        recording = self.recording("graph")
        self.assertEqual(recording.done.stdout.split(), ["800"])
        self.assertEqual(recording.one(
            "select count(*) from device_work where graph is not null and kind = 'kernel'"), 800)
        self.assertEqual(recording.one("select count(*) from slice where call = 'graph_launch'"), 40)

    def test_streams_and_copies(self):
        recording = self.recording("streams")
        self.assertGreaterEqual(recording.one("select count(distinct stream_id) from device_work"), 2)
        copies = {(row["direction"], row["source"], row["target"]): row["n"] for row in recording.rows(
            "select direction, source, target, count(*) n from device_work where kind = 'copy' and bytes = 4194304 "
            "group by 1, 2, 3")}
        self.assertEqual(copies.get(("host to device", "pinned", "device")), 40, copies)
        self.assertEqual(copies.get(("host to device", "pageable", "device")), 40, copies)
        self.assertEqual(copies.get(("device to host", "device", "pageable")), 40, copies)

    def test_memory_by_line(self):
        recording = self.recording("memory")
        rows = recording.rows("select call_site, count(*) n, sum(bytes) b from memory where device_type = 'gpu' and "
                              "bytes = 3145728 group by 1")
        self.assertEqual([(row["n"], row["b"]) for row in rows], [(40, 40 * 3145728)], rows)
        self.assertIn(str(recording.line("kept")), rows[0]["call_site"])
        self.assertEqual(recording.one("select count(*) from instant where name = '[OutOfMemory]'"), 1)

    def test_the_programs_own_profiler(self):
        recording = self.recording("profiler")
        theirs = int(recording.done.stdout)
        self.assertGreater(theirs, 100)  # it had CUPTI
        gaps = recording.rows("select * from loss where kind = 'recording-gap'")
        self.assertTrue(gaps and "torch.profiler" in gaps[0]["first"], gaps)
        steps = recording.rows("select s.number, count(w.id) n from step s left join device_work w on w.step_id = s.id "
                               "group by 1 order by 1")
        self.assertGreaterEqual(len(steps), 28, steps)  # of the 30 after it: CUPTI was given back
        self.assertTrue(all(row["n"] > 0 for row in steps), steps)  # and none of those in which it was away

    def test_triton_kernels(self):
        recording = self.recording("triton")
        names = recording.rows("select name, count(*) n from device_work where name like 'triton_%' group by 1")
        self.assertTrue(any(row["n"] >= 39 for row in names), names)

    def test_recompile(self):
        recording = self.recording("recompile")
        findings = [finding["id"] for finding in recording.answer["findings"]]
        self.assertEqual(findings[:1], ["recompile"], recording.answer["findings"][:2])

    def test_nvtx(self):
        recording = self.recording("nvtx")
        self.assertEqual(recording.one("select count(*) from slice where name = 'the whole step'"), 40)

    def test_nccl(self):
        # One rank launches no collective, so its plugin has nothing to tell: the calls are there by NVTX.
        recording = self.recording("nccl")
        calls = {row["name"]: row["n"] for row in recording.rows(
            "select name, count(*) n from slice where name like '%nccl%' or name like '%c10d%' group by 1")}
        self.assertEqual([calls.get(name) for name in ("c10d::allreduce_", "nccl:all_reduce", "ncclAllReduce")],
                         [40, 40, 40], calls)

    def test_operators_by_torchs_own_words(self):
        recording = self.recording("told")
        print("\n", recording.answer["trust"]["losses"][:4])
        self.assertEqual(recording.one("select count(*) from slice where name = 'aten::addmm'"), 160)

    def test_a_program_without_python(self):
        recording = self.recording("plain")
        self.assertEqual(recording.done.stdout.split(), ["0"])
        self.assertEqual(recording.one(
            "select count(*) from device_work where kind = 'kernel' and name like '%Scale%'"), 1000)
        self.assertEqual(recording.one("select count(*) from device_work where kind = 'set'"), 1)

    def test_counters_of_the_device(self):
        recording = self.recording("waits")
        series = {f"{row['track']}/{row['series']}": round(row["v"], 2) for row in recording.rows(
            "select track, series, avg(value) v from counter "
            "where track like '%gpu%' or track like '%cuda%' group by 1, 2")}
        print("\n", series)
        words = " ".join(series).lower()
        for word in ("power", "clock", "energy", "memory", "util", "sm", "tensor", "dram", "pcie"):
            with self.subTest(word):
                self.assertIn(word, words)


def main():
    global HONE
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=HONE)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--keep", help="folder for the recordings")
    options, rest = parser.parse_known_args()
    HONE = os.path.abspath(options.hone)
    if not glob.glob("/dev/nvidia[0-9]*"):
        print("skipped: no GPU here")
        sys.exit(SKIPPED)
    work = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="hone_gpu_"))
    work.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        Gpu.recordings = {name: pool.submit(record, work, name) for name in PROGRAMS}
        Gpu.recordings["plain"] = pool.submit(record_plain, work)
        try:
            unittest.main(argv=[sys.argv[0], "-v", *rest])
        finally:
            if not options.keep:
                shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
