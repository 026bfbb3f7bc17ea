#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone run on real PyTorch on the CPU: what is recorded, what is answered, what is unchanged."""
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import statistics
import struct
import subprocess
import termios
import time
import unittest

import harness

ROWS = pathlib.Path(harness.HONE).parent / "test-tools" / "hone_rows"

TRAIN = '''
    import sys, time, torch
    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.002
    for step in range(steps):
        x = torch.randn(32, 64)
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sys.stdout.write("%d %s\\n" % (step, loss.item().hex()))  # whole, whatever PYTHONUNBUFFERED says
        sys.stdout.flush()
        time.sleep(pause)
'''


PROFILED = '''
    import sys, torch
    from torch.profiler import ProfilerActivity, profile
    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.Adam(model.parameters())
    profiler = profile(activities=[ProfilerActivity.CPU])
    for step in range(40):
        if step == 10:
            profiler.start()
        optimizer.zero_grad()
        model(torch.randn(16, 64)).square().mean().backward()
        optimizer.step()
        if step == 29:
            profiler.stop()
    profiler.export_chrome_trace(sys.argv[1])
'''


class Torch(harness.Case):
    def setUp(self):
        super().setUp()
        self.python = harness.torch_python()

    def test_the_answer(self):
        program = self.script(TRAIN, "train.py")
        done = self.run_hone([self.python, program, "1000"], ["--steps", "20"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.opens(done.out)
        files = self.processes(done.out)
        self.assertEqual(len(files), 1, done.stderr)
        self.assertGreater(harness.rows_of(files[0], "host"), 20 * 20)
        report = self.answer(done)
        # How many of them count as warm-up depends on what else the machine does.
        self.assertGreaterEqual(report["steps"]["count"], 20)
        self.assertIn(b"the program runs on", done.stderr)
        self.assertIn(str(done.out.name).encode(), done.stderr)
        # And again from the folder, to the same numbers.
        again = subprocess.run([harness.HONE, "analyze", str(done.out), "--json"],
                               capture_output=True, check=True)
        self.assertEqual(json.loads(again.stdout)["steps"], report["steps"])

    def test_without_operators_nothing_takes_their_place(self):
        program = self.script(TRAIN, "train.py")
        done = self.run_hone([self.python, program, "60"], ["--steps", "20", "--collect", "memory"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (file,) = self.processes(done.out)
        self.assertGreater(harness.rows_of(file, "memory"), 100)
        report = self.answer(done)
        self.assertEqual(report["trust"]["present"]["ops"], 0)
        self.assertEqual(report["trust"]["losses"], [], "they were not asked for, so nothing is missing")
        self.assertGreaterEqual(report["steps"]["count"], 20, "steps are counted all the same")

    @unittest.skipUnless(ROWS.exists(), "hone_rows is not built")
    def test_memory_of_devices_by_either_name(self):
        """The totals were signed in torch 1.13, which is another name for the same call."""
        program = self.script('''
            import ctypes, torch
            class Device(ctypes.Structure):
                _fields_ = [("type", ctypes.c_int8), ("index", ctypes.c_int8)]
            GPU = Device(1, 0)
            here, number = ctypes.CDLL(None), ctypes.c_int64
            torch.ones(3) + 1
            for totals in ("mm", "ll"):
                report = here["_ZN3c1027reportMemoryUsageToProfilerEPvl%sNS_6DeviceE" % totals]
                report.argtypes, report.restype = (ctypes.c_void_p, number, number, number, Device), None
                report(4096, 512, 512, 2048, GPU)
                report(4096, -512, 0, 2048, GPU)
                fails = here["_ZN3c1027reportOutOfMemoryToProfilerEl%sNS_6DeviceE" % totals]
                fails.argtypes, fails.restype = (number, number, number, Device), None
                fails(1 << 40, 512, 2048, GPU)
        ''')
        done = self.run_hone([self.python, program], ["--all", "--no-analyze"])
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = subprocess.run([ROWS, done.out, "memory", "bytes", "allocated", "reserved", "device", "oom",
                               "?device_type=1"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(rows, 2 * "512 512 2048 0 0\n-512 0 2048 0 0\n1099511627776 512 2048 0 1\n")

    def test_results_are_the_same_bit_for_bit(self):
        program = self.script(TRAIN, "train.py")
        bare = subprocess.run([self.python, program, "60"], capture_output=True, check=True)
        done = self.run_hone([self.python, program, "60"], ["--steps", "20"])
        self.assertEqual(done.stdout, bare.stdout, done.stderr)

    def test_without_start_up_files(self):
        """The writer finds torch by itself; the window is still open when torch is taken down."""
        program = self.script(TRAIN, "train.py")
        bare = subprocess.run([self.python, "-I", program, "60"], capture_output=True, check=True)
        for flags, options in ((["-I"], ["--all"]), (["-E"], ["--steps", "20"])):
            done = self.run_hone([self.python, *flags, program, "60"], options)
            self.assertEqual((done.returncode, done.stdout), (0, bare.stdout), done.stderr)
            (file,) = self.processes(done.out)
            self.assertGreater(harness.rows_of(file, "host"), 20 * 20)
            self.assertEqual(harness.rows_of(file, "losses"), 0)
            self.assertTrue(self.answer(done)["trust"]["present"]["shapes"])

    def test_the_answer_comes_while_the_program_runs(self):
        program = self.script(TRAIN, "train.py")
        process = self.start_hone([self.python, program, "100000"], ["--steps", "10"])
        harness.wait_for((process.out / "report.json").exists, 60)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_ctrl_c_gives_the_answer(self):
        program = self.script(TRAIN, "train.py")
        process = self.start_hone([self.python, program, "100000"], ["--all"])
        for _ in range(60):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, process.stderr_text = process.communicate(timeout=60)
        process.stderr = None
        self.assertIn(process.returncode, (1, 130), process.stderr_text)  # KeyboardInterrupt
        self.assertTrue((process.out / "report.json").exists(), process.stderr_text)

    def test_killed_at_random_moments(self):
        program = self.script(TRAIN, "train.py")
        # Seconds after its start, or after its first step: torch takes a while to come.
        for moment, stepped in ((0.2, False), (1.0, False), (0, True), (0.3, True), (1.5, True)):
            process = self.start_hone([self.python, program, "100000"], ["--all"])
            if stepped:
                process.stdout.readline()
            time.sleep(moment)
            os.kill(harness.children(process.pid)[0], signal.SIGKILL)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 137, err)
            self.opens(process.out)
            if moment >= 1.5:  # drained ten times a second
                self.assertTrue((process.out / "report.json").exists(), err)

    def test_every(self):
        program = self.script(TRAIN, "train.py")
        done = self.run_hone([self.python, program, "400"], ["--steps", "10", "--every", "100"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(done.stderr.count(b"hone: window "), 2, done.stderr)
        self.answer(done)

    def test_loader_workers(self):
        program = self.script('''
            import sys, torch
            class Data(torch.utils.data.Dataset):
                def __len__(self): return 4000
                def __getitem__(self, i):
                    return torch.full((16,), float(i)), i % 2
            def main():
                model = torch.nn.Linear(16, 2)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                loader = torch.utils.data.DataLoader(Data(), 20, num_workers=2,
                                                     multiprocessing_context=sys.argv[1])
                for x, y in loader:
                    torch.nn.functional.cross_entropy(model(x), y).backward()
                    optimizer.step()
                    optimizer.zero_grad()
                print("trained")
            if __name__ == "__main__":
                main()
        ''', "train.py")
        for method in ("fork", "spawn"):
            done = self.run_hone([self.python, program, method], ["--all"])
            self.assertEqual((done.returncode, done.stdout), (0, b"trained\n"), done.stderr)
            self.assertGreaterEqual(len(self.processes(done.out)), 3, method)
            self.opens(done.out)

    def test_a_region_named_like_an_optimizers_step_is_one(self):
        """As the recorder marks them where Dynamo took torch's own hook away (python/hone/_optimizer.py)."""
        program = self.script('''
            import hone, time, torch
            torch.set_num_threads(1)
            model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
            optimizer = torch.optim.Adam(model.parameters())
            torch.optim.Adam.step = torch.optim.Adam.step.__wrapped__
            for step in range(300):
                time.sleep(0.01)  # three seconds in all: the window closes long before
                model(torch.randn(16, 64)).square().mean().backward()
                with hone.region("Optimizer.step#Adam.step"):
                    optimizer.step()
                optimizer.zero_grad()
        ''', "train.py")
        done = self.run_hone([self.python, program], ["--steps", "20"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"the program runs on", done.stderr)
        steps = self.answer(done)["steps"]
        self.assertEqual(steps["source"], "optimizer steps")
        self.assertGreaterEqual(steps["count"], 20)

    def test_the_users_own_profiler_still_works(self):
        program = self.script('''
            import torch
            x = torch.randn(100, 100)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                for _ in range(5):
                    x = (x @ x).tanh()
            print({event.key: event.count for event in profile.key_averages()})
        ''')
        bare = subprocess.run([self.python, program], capture_output=True, check=True)
        done = self.run_hone([self.python, program])
        self.assertEqual(done.stdout, bare.stdout, done.stderr)

    def test_operators_are_those_of_torchs_profiler(self):
        program = self.script(PROFILED, "train.py")
        done = self.run_hone([self.python, program, str(self.folder / "theirs.json")], ["--all", "--no-analyze"])
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs, ours = harness.operators(self.folder / "theirs.json"), harness.operators_of(done.out)
        self.assertGreater(len(theirs), 2000)
        # Both stand in the same process; what ran before and after the profiler is ours alone. Steps are
        # alike, so of the places where the names agree that counts whose times do best.
        names = [one[2] for one in theirs]
        runs = [ours[i:i + len(theirs)] for i in range(len(ours) - len(theirs) + 1)
                if [one[2] for one in ours[i:i + len(theirs)]] == names]
        self.assertTrue(runs, "not the same operators in the same order")
        same = min(runs, key=lambda run: statistics.median(abs(a[0] - b[0]) for a, b in zip(run, theirs)))
        # A few lie apart by what the profiler does between the two, when it takes memory.
        near = [abs(a[0] - b[0]) <= 10_000 and abs(a[1] - b[1]) <= 10_000 for a, b in zip(same, theirs)]
        self.assertGreater(sum(near), 0.95 * len(near))

    def test_shapes_are_those_of_torchs_profiler(self):
        program = self.script('''
            import sys, torch
            from torch.profiler import ProfilerActivity, profile
            torch.set_num_threads(1)
            embedding, model = torch.nn.Embedding(10, 8), torch.nn.Conv1d(8, 4, 3, bias=False)
            optimizer = torch.optim.SGD([*embedding.parameters(), *model.parameters()], lr=0.1)
            profiler = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
            for step in range(20):
                if step == 10:
                    profiler.start()
                x = embedding(torch.randint(0, 10, (2, 7))).transpose(1, 2)
                loss = torch.nn.functional.cross_entropy(model(x), torch.randint(0, 4, (2, 5)))
                torch.stack([loss, torch.zeros(0).sum()]).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            profiler.stop()
            profiler.export_chrome_trace(sys.argv[1])
        ''')
        done = self.run_hone([self.python, program, str(self.folder / "theirs.json")], ["--all", "--no-analyze"])
        self.assertEqual(done.returncode, 0, done.stderr)
        harness.operators_of(done.out)

        def shapes(path):
            events = json.loads(path.read_text())["traceEvents"]
            return {(e["name"], json.dumps(e["args"]["Input Dims"])) for e in events
                    if e.get("cat") == "cpu_op" and e["name"].startswith("aten::") and
                    "Input Dims" in e.get("args", ())}

        theirs, ours = shapes(self.folder / "theirs.json"), shapes(done.out / "operators.json")
        self.assertGreater(len(theirs), 30)
        self.assertEqual(theirs - ours, set())
        self.assertIn("aten::nll_loss2d_forward", {name for name, _ in theirs})  # has weights, and none were given

    def test_two_ranks(self):
        program = self.script('''
            import os, sys, time, torch, torch.distributed as dist
            dist.init_process_group("gloo")
            torch.set_num_threads(1)
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(150):
                model(torch.randn(8, 64)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            # While DDP lives so do gloo's threads, and one that lets go of its last work while Python goes
            # down ends the process: ~AsyncWork wants Python's lock ("terminate called without an active
            # exception" in 1 of 430 runs; torch's own, there is none of ours on that thread).
            del model, optimizer
            dist.destroy_process_group()
            time.sleep(0.5)  # and what they had left lets go before that
        ''', "ddp.py")
        done = self.run_hone([self.python, "-m", "torch.distributed.run", "--nproc-per-node", "2",
                              "--master-port", str(20000 + os.getpid() % 20000), program],
                             ["--steps", "20"], timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.answer(done)
        self.assertEqual(len(report["ranks"]["list"]), 2, done.stderr)

    def test_ranks_that_the_program_spawns(self):
        """Nothing in their environment says which rank they are: torch.distributed is told."""
        program = self.script('''
            import sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp

            def train(rank):
                torch.set_num_threads(1)
                dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=1 - rank, world_size=2)
                model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for step in range(150):
                    model(torch.randn(8, 64)).sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                print("pid of rank %d: %d" % (dist.get_rank(), __import__("os").getpid()), flush=True)
                del model, optimizer
                dist.destroy_process_group()
                time.sleep(0.5)  # as in test_two_ranks

            if __name__ == "__main__":
                mp.spawn(train, nprocs=2)
        ''', "spawned.py")
        done = self.run_hone([self.python, program, self.folder / "store"], ["--steps", "20"], timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.answer(done)
        self.assertEqual(report["trace"]["world_size"], 2)
        pids = dict(re.findall(r"pid of rank (\d): (\d+)", done.stdout.decode()))
        self.assertEqual({str(rank["rank"]): os.path.basename(rank["path"]) for rank in report["ranks"]["list"]},
                         {rank: "process-%s.hone" % pid for rank, pid in pids.items()}, done.stderr)

    def test_on_a_terminal(self):
        """The program's own lines stay whole, and the status is gone at the end."""
        program = self.script(TRAIN, "train.py")
        line, out = self.command([self.python, program, "80", "0.1"], ["--steps", "20"])
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", COLUMNS="100")
            os.execv(line[0], line)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        text = b""
        try:
            while True:
                text += os.read(terminal, 65536)
        except OSError:
            pass
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, text)
        self.assertIn(b"of 20", text)
        plain = re.sub(rb"\x1b7.*?\x1b8", b"", text)  # between save and restore of the cursor
        steps = [found for found in plain.split(b"\r\n") if re.match(rb"\d+ -?0x", found)]
        self.assertEqual(len(steps), 80, plain)


if __name__ == "__main__":
    harness.main()
