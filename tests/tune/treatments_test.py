#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Treatments of a model in real torch on the CPU: each takes effect, keeps the results, is inert where the
program does it itself. Where they are unfit: model_conditions_test.py.
"""
import collections
import copy
import dataclasses
import io
import tempfile
import warnings

import harness

harness.need_torch()

import torch  # noqa: E402
from torch import nn  # noqa: E402

from models import Block, Images, blocks  # noqa: E402

def train(make_model=blocks, make_optimizer=None, steps=4, inputs=(16, 8), call=lambda model, x: model(x), zero=None):
    """Losses, and the parameters after it."""
    torch.manual_seed(0)
    model = make_model()
    optimizer = (make_optimizer or (lambda p: torch.optim.SGD(p, lr=0.05)))(model.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(**(zero or {}))
        loss = call(model, torch.randn(inputs)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().clone() for p in model.parameters()], model, optimizer


class Same(harness.Case):
    """Trainings with and without a treatment."""

    def both(self, name, tolerance=0.0, **how):
        before = train(**how)
        session = self.session(name)
        after = train(**how)
        for a, b in zip(before[0], after[0]):
            self.assertLessEqual(abs(a - b), tolerance * max(1, abs(a)))
        for a, b in zip(before[1], after[1]):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        return session, after


class Settings(Same):
    def setUp(self):
        self.addCleanup(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        self.addCleanup(setattr, torch.backends.cudnn, "benchmark", torch.backends.cudnn.benchmark)

    def test_tf32(self):
        session = self.session("tf32")
        train(steps=1)
        self.check_applied(session, "tf32")
        self.assertEqual(torch.get_float32_matmul_precision(), "high")

    def test_tf32_that_the_program_sets(self):
        torch.set_float32_matmul_precision("medium")
        session = self.session("tf32")
        train(steps=1)
        self.check_state(session, "tf32", "inert", "'medium'")
        self.assertEqual(torch.get_float32_matmul_precision(), "medium")

    def test_cudnn_benchmark(self):
        session = self.session("cudnn-benchmark")
        train(steps=1)
        self.check_applied(session, "cudnn-benchmark", 1)
        self.assertTrue(torch.backends.cudnn.benchmark)

    def test_cudnn_benchmark_that_the_program_sets_or_forbids(self):
        torch.backends.cudnn.benchmark = True
        session = self.session("cudnn-benchmark")
        train(steps=1)
        self.check_state(session, "cudnn-benchmark", "inert", "itself")
        session.undo()
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        self.addCleanup(setattr, torch.backends.cudnn, "deterministic", False)
        session = self.session("cudnn-benchmark")
        train(steps=1)
        self.check_state(session, "cudnn-benchmark", "inert", "deterministic")
        self.assertFalse(torch.backends.cudnn.benchmark)


class ChannelsLast(Same):
    def test_layout_and_results(self):
        session, (_, _, model, _) = self.both("channels-last", 1e-5, make_model=Images, inputs=(4, 3, 8, 8))
        self.check_applied(session, "channels-last", 1)
        self.assertTrue(model.conv.weight.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(model.seen.is_contiguous(memory_format=torch.channels_last))
        self.assertEqual([*model.state_dict()][:2], ["conv.weight", "conv.bias"])

    def test_keywords_only(self):
        session, (_, _, model, _) = self.both("channels-last", 1e-5, make_model=Images, inputs=(4, 3, 8, 8),
                                              call=lambda model, x: model(images=x, scale=2))
        self.check_applied(session, "channels-last", 1)
        self.assertTrue(model.seen.is_contiguous(memory_format=torch.channels_last))

    def test_states_of_a_checkpoint_follow(self):
        def resumed(parameters):
            optimizer = torch.optim.Adam(parameters)
            for p in optimizer.param_groups[0]["params"]:
                optimizer.state[p] = {"step": torch.tensor(1.0), "exp_avg": torch.ones(p.shape),
                                      "exp_avg_sq": torch.ones(p.shape)}
            return optimizer

        _, (_, _, model, optimizer) = self.both("channels-last", 1e-5, make_model=Images, inputs=(4, 3, 8, 8),
                                                make_optimizer=resumed)
        state = optimizer.state[model.conv.weight]["exp_avg"]
        self.assertEqual(state.stride(), model.conv.weight.stride())

    def test_nothing_to_do(self):
        session, _ = self.both("channels-last")
        self.check_state(session, "channels-last", "not applicable", "no Conv2d")

    def test_the_program_does_it(self):
        session, _ = self.both("channels-last", make_model=lambda: Images().to(memory_format=torch.channels_last),
                               inputs=(4, 3, 8, 8))
        self.check_state(session, "channels-last", "inert", "already")

    def test_before_the_buckets_of_distributed_data_parallel(self):
        import torch.distributed as dist

        folder = tempfile.mkdtemp()
        dist.init_process_group("gloo", init_method="file://%s/store" % folder, rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        session, (_, _, model, _) = self.both(
            "channels-last", 1e-5, make_model=lambda: nn.parallel.DistributedDataParallel(Images()),
            inputs=(4, 3, 8, 8))
        self.check_applied(session, "channels-last", 1)
        self.assertTrue(model.module.conv.weight.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(model.module.seen.is_contiguous(memory_format=torch.channels_last))


class Checkpointing(Same):
    def test_the_same_numbers_with_dropout(self):
        ran = []
        hook = Block.forward
        self.addCleanup(setattr, Block, "forward", hook)
        Block.forward = lambda block, x: ran.append(1) or hook(block, x)
        session, _ = self.both("gradient-checkpointing", make_model=lambda: blocks(3, dropout=0.5), steps=2)
        self.check_applied(session, "gradient-checkpointing", 3)
        self.assertEqual(len(ran), 2 * 3 + 2 * 2 * 3)  # without: once a block and step; with: twice

    def test_no_gradients_no_checkpoints(self):
        session = self.session("gradient-checkpointing")
        _, _, model, _ = train(steps=1)
        with torch.no_grad():
            torch.testing.assert_close(model.eval()(torch.ones(2, 8)), copy.deepcopy(model)(torch.ones(2, 8)))
        self.check_applied(session, "gradient-checkpointing", 3)

    def test_batch_norm_would_be_updated_twice(self):
        session, _ = self.both("gradient-checkpointing", make_model=lambda: nn.Sequential(
            *(WithNorm() for _ in range(2)), nn.Linear(8, 1)))
        self.check_state(session, "gradient-checkpointing", "not applicable", "BatchNorm")


class WithNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.line(x))


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    words: list


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(8, 8)

    def forward(self, x):
        y = self.line(x)
        self.dtype = y.dtype
        number = torch.arange(3)
        return {"pair": Pair(y, number), "list": [y, (y, "word")], "out": Output(y, [1]), "double": y.double(),
                "bool": y > 0, "none": None}


class Autocast(Same):
    def test_bfloat16(self):
        session, (losses, parameters, _, _) = self.both("bf16-autocast", 0.02)
        self.check_applied(session, "bf16-autocast", 1)
        self.assertEqual(parameters[0].dtype, torch.float32)
        session.undo()
        self.assertNotEqual(losses, train()[0])  # it did round

    def test_outputs_keep_their_types(self):
        session = self.session("bf16-autocast")
        model = Structured()
        out = model(torch.randn(2, 8))
        self.check_applied(session, "bf16-autocast", 1)
        self.assertEqual(model.dtype, torch.bfloat16)
        self.assertIsInstance(out["pair"], Pair)
        self.assertEqual([out["pair"].first.dtype, out["pair"].second.dtype], [torch.float32, torch.int64])
        self.assertEqual([out["list"][0].dtype, out["list"][1][0].dtype], [torch.float32, torch.float32])
        self.assertEqual((type(out["list"][1]), out["list"][1][1]), (tuple, "word"))
        self.assertEqual((type(out["out"]), out["out"].logits.dtype, out["out"].words), (Output, torch.float32, [1]))
        self.assertEqual([out["double"].dtype, out["bool"].dtype, out["none"]], [torch.float64, torch.bool, None])

    def test_the_program_runs_under_it(self):
        def call(model, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return model(x)

        session, _ = self.both("bf16-autocast", call=call)
        self.check_state(session, "bf16-autocast", "inert", "autocast itself")

    def test_two_models_and_evaluation_between(self):
        session = self.session("bf16-autocast")
        first, second = nn.Linear(8, 8), nn.Linear(8, 1)
        for _ in range(2):
            second(first(torch.randn(4, 8))).mean().backward()
            with torch.no_grad():
                self.assertEqual(first.eval()(torch.ones(1, 8)).dtype, torch.float32)
            first.train()
        self.check_applied(session, "bf16-autocast", 2)

    def test_inference_without_gradients(self):
        session = self.session("bf16-autocast", "channels-last")
        model = Images().eval().requires_grad_(False)
        with torch.inference_mode():
            self.assertEqual(model(torch.randn(2, 3, 8, 8)).dtype, torch.float32)
        self.check_applied(session, "bf16-autocast", 1)
        self.check_applied(session, "channels-last", 1)
        self.assertFalse(model.conv.weight.is_inference())

    def test_a_saved_module_is_the_programs_own(self):
        self.session("bf16-autocast")
        _, _, model, _ = train(steps=1)
        copied = copy.deepcopy(model)
        self.assertIs(type(copied), nn.Sequential)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        torch.testing.assert_close(torch.load(buffer, weights_only=False).state_dict(), model.state_dict())


class Scaled(Same):
    def test_the_same_training_within_rounding(self):
        session, _ = self.both("fp16-autocast", 0.02)
        self.check_applied(session, "fp16-autocast", 1)
        self.assertEqual(self.effect(session, "fp16-autocast")._scaler.get_scale(), 65536.0)

    def test_with_a_fused_optimizer_and_a_scheduler(self):
        def optimizer(parameters):
            adam = torch.optim.Adam(parameters, lr=0.01, fused=True)
            self.schedule = torch.optim.lr_scheduler.StepLR(adam, 1)
            return adam

        session, (_, _, _, adam) = self.both("fp16-autocast", 0.05, make_optimizer=optimizer)
        self.schedule.step()
        self.assertEqual(adam.param_groups[0]["lr"], 0.001)
        self.check_applied(session, "fp16-autocast", 1)

    def test_gradients_are_true_when_the_optimizer_steps(self):
        norms = []

        def optimizer(parameters):
            sgd = torch.optim.SGD(parameters, lr=0.05)
            sgd.register_step_pre_hook(lambda o, *_: norms.append(
                sum(p.grad.norm() ** 2 for p in o.param_groups[0]["params"]).sqrt().item()))
            return sgd

        self.both("fp16-autocast", 0.02, make_optimizer=optimizer)
        for before, after in zip(norms[:4], norms[4:]):
            self.assertAlmostEqual(before, after, delta=0.02 * before)

    def test_an_overflow_leaves_the_step_out(self):
        session = self.session("fp16-autocast")
        model = nn.Linear(4, 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = model.weight.detach().clone()
        (model(torch.full((2, 4), 1000.0)).sum() * 1e3).backward()
        optimizer.step()
        torch.testing.assert_close(model.weight.detach(), before, rtol=0, atol=0)
        self.assertEqual(self.effect(session, "fp16-autocast")._scaler.get_scale(), 32768.0)
        optimizer.zero_grad()
        model(torch.ones(2, 4)).mean().backward()
        optimizer.step()
        torch.testing.assert_close(model.weight.detach(), before - 0.1)

    def test_skipped_steps_are_counted(self):
        from hone import _losses

        session = self.session()
        counted = _losses.Losses(session)
        session.add([{"treatment": "fp16-autocast"}])
        model = nn.Linear(4, 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for scale in (1e6, 0.5):
            optimizer.zero_grad()
            loss = model(torch.full((2, 4), 1.0)).sum() * scale
            loss.backward()
            optimizer.step()
            counted.step_ended()
        told = counted.told()
        self.assertEqual(told["skipped_steps"], 1)
        self.assertAlmostEqual(told["losses"][1], loss.item())  # as the program computed it, not scaled

    def test_two_optimizers_and_closures_give_up(self):
        session = self.session("fp16-autocast")
        first, second = nn.Linear(2, 2), nn.Linear(2, 2)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second)]
        before = first.weight.detach().clone()
        first(torch.ones(1, 2)).sum().backward()
        optimizers[0].step()
        torch.testing.assert_close(first.weight.detach(), before - 0.1)
        self.check_state(session, "fp16-autocast", "failed", "several optimizers")

        session.undo()
        session = self.session("fp16-autocast")
        model = nn.Linear(2, 1, bias=False)
        before = model.weight.detach().clone()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(1, 2)).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        torch.testing.assert_close(model.weight.detach(), before - 0.1)
        self.assertEqual(self.effect(session, "fp16-autocast").state, "failed")


class Optimizers(Same):
    def test_fused(self):
        for kind, more in ((torch.optim.Adam, {}), (torch.optim.AdamW, {"foreach": False}),
                           (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adagrad, {"foreach": True})):
            session, (_, _, _, optimizer) = self.both(
                "fused-optimizer", 1e-5, make_optimizer=lambda p, kind=kind, more=more: kind(p, lr=0.01, **more))
            self.check_applied(session, "fused-optimizer", 1)
            self.assertTrue(optimizer.defaults["fused"])
            session.undo()

    def test_fused_groups_of_generators(self):
        def groups(parameters):
            first, *rest = parameters
            return torch.optim.AdamW([{"params": iter([first]), "lr": 0.1}, {"params": iter(rest)}], lr=0.01)

        session, (_, _, _, optimizer) = self.both("fused-optimizer", 1e-5, make_optimizer=groups)
        self.check_applied(session, "fused-optimizer", 1)
        self.assertEqual([len(group["params"]) for group in optimizer.param_groups], [1, 13])

    def test_fused_that_is_chosen_or_not_possible(self):
        for make, state, words in (
                (lambda p: torch.optim.Adam(p, lr=0.01, fused=True), "inert", "fused=True itself"),
                (lambda p: torch.optim.Adam(p, lr=0.01, fused=False), "inert", "fused=False itself"),
                (lambda p: torch.optim.RMSprop(p, lr=0.01), "not applicable", "nothing in the program")):
            session, _ = self.both("fused-optimizer", make_optimizer=make)
            self.check_state(session, "fused-optimizer", state, words)
            session.undo()
        session = self.session("fused-optimizer")
        torch.optim.SGD([torch.zeros(2, dtype=torch.complex64, requires_grad=True)], lr=0.1)
        self.check_state(session, "fused-optimizer", "not applicable", "floating-point")

    def test_foreach(self):
        session, (_, _, _, optimizer) = self.both(
            "foreach-optimizer", 1e-5, make_optimizer=lambda p: torch.optim.RMSprop(p, lr=0.01, foreach=False))
        self.check_applied(session, "foreach-optimizer", 1)
        self.assertTrue(optimizer.defaults["foreach"])
        session.undo()
        session, _ = self.both("foreach-optimizer", make_optimizer=lambda p: torch.optim.SGD(p, lr=0.1, fused=True))
        self.check_state(session, "foreach-optimizer", "inert", "fused=True itself")

    def test_set_to_none(self):
        session, (_, _, model, optimizer) = self.both("set-to-none", zero={"set_to_none": False})
        self.check_applied(session, "set-to-none", 4)
        optimizer.zero_grad(False)
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        session.undo()
        session, _ = self.both("set-to-none")
        self.assertEqual(self.effect(session, "set-to-none").state, "not applicable")


class Compiled(Same):
    """Three models are compiled here, which takes many seconds each: a test looks at several things."""

    def setUp(self):
        warnings.filterwarnings("error", "Dynamo does not know")  # where it meets something of ours
        self.addCleanup(warnings.resetwarnings)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def graphs(self):
        return torch._dynamo.utils.counters["stats"]["unique_graphs"]

    def test_whole_with_autocast(self):
        before, _, model, _ = train()
        keys = [*model.state_dict()]
        session = self.session("compile-default", "bf16-autocast")
        losses, _, model, _ = train()
        self.check_applied(session, "compile-default", 1)
        self.check_applied(session, "bf16-autocast", 1)
        for a, b in zip(before, losses):
            self.assertAlmostEqual(a, b, delta=0.02 * a)
        self.assertEqual(self.graphs(), 1)
        self.assertEqual([*model.state_dict()], keys)

    def test_regional(self):
        session, (_, _, model, _) = self.both("compile-regional", 1e-4, make_model=lambda: blocks(4))
        self.check_applied(session, "compile-regional", 4)
        self.assertEqual(self.graphs(), 2)  # the first block's input wants no gradient
        self.assertEqual([*model.state_dict()][0], "0.up.weight")

    def test_compiled_autograd(self):
        self.addCleanup(setattr, torch._dynamo.config, "compiled_autograd", False)
        session, _ = self.both("compiled-autograd", 1e-4, make_model=lambda: nn.Linear(8, 1), steps=3)
        self.check_applied(session, "compiled-autograd", 1)
        self.assertGreater(torch._dynamo.utils.counters["compiled_autograd"]["captures"], 0)

    def test_what_distributed_data_parallel_holds(self):
        import torch.distributed as dist

        dist.init_process_group("gloo", init_method="file://%s/store" % tempfile.mkdtemp(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        session = self.session()
        session.add([{"treatment": "compile-default"}])
        self.effect(session, "compile-default").arguments = {"backend": "eager"}
        train(make_model=lambda: nn.parallel.DistributedDataParallel(blocks(1)), steps=1)
        self.check_applied(session, "compile-default", 1)
        self.assertGreaterEqual(self.graphs(), 1)

    def test_a_model_that_is_part_of_another(self):
        session = self.session("compile-default")
        self.effect(session, "compile-default").arguments = {"backend": "eager"}
        part = blocks(1)
        whole = nn.Sequential(part, nn.Linear(1, 1))
        whole(part(torch.ones(2, 8)).detach().expand(2, 8)).sum().backward()
        self.check_applied(session, "compile-default", 2)

    def test_not_where_the_program_compiles_itself(self):
        session = self.session("compile-default")
        model = torch.compile(nn.Linear(2, 1), backend="eager")
        model(torch.ones(1, 2))
        self.check_state(session, "compile-default", "inert", "compiles itself")
        session.undo()
        session = self.session("compiled-autograd")
        model = nn.Linear(2, 1)
        model.weight.register_hook(lambda gradient: gradient)
        model(torch.ones(1, 2)).sum().backward()
        self.check_state(session, "compiled-autograd", "not applicable", "hooks")


if __name__ == "__main__":
    harness.main()
