#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When treatments of a model fit and when they must not: asked about runs that are told of, on a GPU too."""
import os
import re

import harness

harness.need_torch()

import torch  # noqa: E402
from torch import nn  # noqa: E402

from hone import _seen, treatments  # noqa: E402
from models import Block, Images, blocks  # noqa: E402

OURS = ("tf32", "cudnn-benchmark", "sdpa-attention", "channels-last", "gradient-checkpointing", "bf16-autocast",
        "fp16-autocast", "fused-optimizer", "foreach-optimizer", "set-to-none", "compile-default",
        "compile-reduce-overhead", "compile-max-autotune", "compile-regional", "compiled-autograd")


def seen(model=None, **facts):
    """A run on an H200, as it is told of."""
    model = model if model is not None else blocks()
    told = dict(device="cuda", capability=(9, 0), device_bytes=100, peak_device_bytes=50, backwards_per_step=1.0,
                roots=[_seen.Root(kind=type(model).__name__, module=model, name="model", site="train.py:9")],
                optimizers=[optimizer()])
    told.update(facts)
    run = _seen.Seen(**told)
    run.kept = model  # a root only refers to it
    return run


def optimizer(kind="Adam", devices=("cuda",), dtypes=("float32",), foreach_by_default=True, **arguments):
    defaults = {"foreach": arguments.get("foreach")}
    return _seen.Optimizer(kind=kind, arguments=arguments, defaults=defaults, devices=set(devices), dtypes=set(dtypes),
                           foreach_by_default=foreach_by_default, site="train.py:5")


class Conditions(harness.Case):
    def fits(self, name, a_run):
        variants = treatments.load(name).variants(a_run)
        self.assertEqual(len(variants), 1)
        self.assertTrue(treatments.load(name).code(a_run, variants[0][0]))
        return variants[0][1]

    def test_declarations(self):
        rules = harness.ROOT / "src/doctor/rules"
        ids = set(re.findall(r'finding\.id = "([a-z-]+)"', "".join(p.read_text() for p in rules.glob("*.cc"))))
        # What no rule asks for and the replay can predict.
        ids |= set(re.findall(r'EditInfo\{"([a-z0-9-]+)"', (harness.ROOT / "src/replay/edit.cc").read_text()))
        for name in OURS:
            kind = treatments.load(name)
            self.assertEqual(kind.name, name)
            self.assertIn(name.replace("-", "_"), treatments.NAMES)
            self.assertIn(kind.risk, (treatments.EXACT, treatments.NUMERIC))
            self.assertTrue(kind.title and kind.prior > 0, name)
            self.assertLessEqual(set(kind.cures), ids, name)

    def test_tf32(self):
        self.fits("tf32", seen())
        self.check_unfit("tf32", seen(device="cpu"), "not on a GPU")
        self.check_unfit("tf32", seen(capability=(7, 5)), "this GPU has 7.5")
        self.check_unfit("tf32", seen(matmul_precision="high"), "'high' itself")
        self.check_unfit("tf32", seen(optimizers=[optimizer(dtypes=("bfloat16",))]), "no parameter is float32")

    def test_cudnn_benchmark(self):
        self.fits("cudnn-benchmark", seen(Images()))
        self.check_unfit("cudnn-benchmark", seen(), "no convolution")
        self.check_unfit("cudnn-benchmark", seen(Images(), device="cpu"), "not on a GPU")
        self.check_unfit("cudnn-benchmark", seen(Images(), cudnn_benchmark=True), "itself")
        varying = seen(Images())
        varying.roots[0].input_shapes = {((1, 3, 8, 8),), ((1, 3, 9, 9),)}
        self.check_unfit("cudnn-benchmark", varying, "vary")

    def test_layout_and_attention(self):
        self.fits("channels-last", seen(Images()))
        self.fits("channels-last", seen(Images(), device="cpu", capability=None))
        self.check_unfit("channels-last", seen(), "no Conv2d")
        self.check_unfit("channels-last", seen(Images(), capability=(6, 1)), "7.0")
        self.check_unfit("channels-last", seen(Images().to(memory_format=torch.channels_last)), "already")
        self.check_unfit("sdpa-attention", seen(nn.MultiheadAttention(8, 2)), "Hugging Face")

    def test_gradient_checkpointing(self):
        self.fits("gradient-checkpointing", seen(peak_device_bytes=90))
        self.check_unfit("gradient-checkpointing", seen(), "50 % of the GPU's memory")
        self.check_unfit("gradient-checkpointing", seen(device="cpu"), "not on a GPU")
        self.check_unfit("gradient-checkpointing", seen(nn.Linear(1, 1), peak_device_bytes=90), "repeated")

    def test_autocast(self):
        self.fits("bf16-autocast", seen())
        self.check_unfit("bf16-autocast", seen(capability=(7, 5)), "8.0")
        for name in ("bf16-autocast", "fp16-autocast"):
            self.check_unfit(name, seen(autocast={"bfloat16 on cuda"}), "autocast itself")
            self.check_unfit(name, seen(optimizers=[optimizer(dtypes=("bfloat16",))]), "float32")
            self.check_unfit(name, seen(roots=[]), "no nn.Module")
        self.fits("fp16-autocast", seen(capability=(7, 5)))
        for facts, words in (({"device": "cpu"}, "not on a GPU"), ({"scaler_used": True}, "scales"),
                             ({"clips_gradients": True}, "clips"), ({"backwards_per_step": 2.0}, "2.0 times"),
                             ({"optimizers": [optimizer(), optimizer()]}, "there are 2"),
                             ({"capability": (6, 1)}, "6.1")):
            self.check_unfit("fp16-autocast", seen(**facts), words)
        lightning = seen(closures=True)
        lightning.roots[0].loop = "lightning"
        self.check_unfit("fp16-autocast", lightning, 'try Trainer(precision="16-mixed") by hand')

    def test_optimizers(self):
        self.assertEqual(self.fits("fused-optimizer", seen()), "fused Adam")
        self.fits("fused-optimizer", seen(device="cpu", optimizers=[optimizer(devices=("cpu",))]))
        for facts, words in ((dict(kind="RMSprop"), "no fused form"), (dict(fused=False), "fused=False itself"),
                             (dict(devices=("cuda", "cpu")), "cpu and cuda"), (dict(dtypes=("complex64",)), "floating"),
                             (dict(differentiable=True), "differentiates")):
            self.check_unfit("fused-optimizer", seen(optimizers=[optimizer(**facts)]), words)
        self.check_unfit("fused-optimizer", seen(nn.Embedding(2, 2, sparse=True)), "sparse")
        self.fits("foreach-optimizer", seen(optimizers=[optimizer(foreach=False, foreach_by_default=False)]))
        self.check_unfit("foreach-optimizer", seen(), "by itself")
        self.check_unfit("foreach-optimizer", seen(optimizers=[optimizer(devices=("cpu",))]), "CPU")
        self.fits("set-to-none", seen(set_to_none_off=3))
        self.check_unfit("set-to-none", seen(), "zeroed in place")

    def test_compile(self):
        here = seen(device="cpu", capability=None)
        for name in ("compile-default", "compile-regional", "compiled-autograd"):
            self.fits(name, here)
            self.check_unfit(name, seen(device="cpu", compiled=True), "compiles itself")
        self.check_unfit("compile-reduce-overhead", here, "not on a GPU")
        self.check_unfit("compile-max-autotune", here, "not on a GPU")
        self.check_unfit("compile-regional", seen(nn.Linear(1, 1), device="cpu"), "repeated")
        self.check_unfit("compile-default", seen(torch.jit.script(nn.Linear(1, 1)), device="cpu"), "TorchScript")
        self.check_unfit("compiled-autograd", seen(device="cpu", optimizers=[]), "backward")
        before = dict(os.environ, CXX="")
        os.environ["CXX"] = "/no/such/compiler"
        self.addCleanup(lambda: os.environ.pop("CXX") if not before["CXX"] else None)
        self.check_unfit("compile-default", here, "no C++ compiler")

    def test_blocks_are_layers_neither_heads_nor_stages(self):
        from hone.treatments import _model

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = nn.ModuleList(Block(2) for _ in range(4))
                self.wide = nn.Linear(32, 32)

        class Stage(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(Layer() for _ in range(3))

        model = nn.Sequential(Stage(), Stage(), nn.Linear(1, 1))
        self.assertEqual([type(block).__name__ for block in _model.repeated_blocks(torch, model)], ["Layer"] * 6)
        self.assertEqual(_model.repeated_blocks(torch, nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))), [])


try:
    import transformers
except ImportError:
    transformers = None


@harness.unittest.skipUnless(transformers, "no transformers in this Python")
class HuggingFace(harness.Case):
    def make(self, attention="eager"):
        torch.manual_seed(0)
        config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=64, n_positions=32,
                                         attn_implementation=attention)
        return transformers.GPT2LMHeadModel(config).eval()

    def test_sdpa(self):
        x = torch.arange(32)[None]
        plain = self.make()(input_ids=x, labels=x)
        session = self.session("sdpa-attention", "bf16-autocast")
        model = self.make()
        out = model(input_ids=x, labels=x)
        self.check_applied(session, "sdpa-attention", 1)
        self.check_applied(session, "bf16-autocast", 1)
        self.assertEqual(model.config._attn_implementation, "sdpa")
        self.assertIs(type(out), type(plain))
        self.assertEqual(out.logits.dtype, torch.float32)
        self.assertIs(out["logits"], out.logits)
        torch.testing.assert_close(out.logits, plain.logits, rtol=0.05, atol=0.05)
        session.undo()
        session = self.session("sdpa-attention")
        torch.testing.assert_close(self.make()(input_ids=x).logits, plain.logits, rtol=1e-4, atol=1e-5)
        session.undo()
        session = self.session("sdpa-attention")
        self.make("sdpa")(input_ids=x)
        self.check_state(session, "sdpa-attention", "inert", "sdpa attention already")

    def test_conditions(self):
        self.assertTrue(treatments.load("sdpa-attention").variants(seen(self.make())))
        self.check_unfit("sdpa-attention", seen(self.make("sdpa")), "already")
        model = self.make()
        self.assertTrue(treatments.load("gradient-checkpointing").variants(seen(model, peak_device_bytes=90)))
        session = self.session("gradient-checkpointing")
        model.train()(input_ids=torch.arange(8)[None], labels=torch.arange(8)[None])
        self.check_applied(session, "gradient-checkpointing", 1)
        self.assertTrue(model.is_gradient_checkpointing)
        from hone.treatments import _model

        self.assertEqual({type(b).__name__ for b in _model.repeated_blocks(torch, model)}, {"GPT2Block"})


if __name__ == "__main__":
    harness.main()
