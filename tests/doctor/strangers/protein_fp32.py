# SPDX-License-Identifier: Apache-2.0
"""A protein language model (ESM-2 of transformers) is pretrained by a small trainer, its matrices multiplied in float32 without TF32."""
from dataclasses import dataclass

import torch
from transformers import EsmConfig, EsmForMaskedLM

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}

PAD, CLS, EOS, MASK = 1, 0, 2, 32


@dataclass
class Arguments:
    learning_rate: float = 4e-4
    weight_decay: float = 0.01
    warmup_steps: int = 2000
    max_grad_norm: float = 1.0
    mlm_probability: float = 0.15
    tf32: bool = False


class Collator:
    """Masks residues as BERT does, on the device and without indexing by a mask."""

    def __init__(self, probability):
        self.probability = probability

    def __call__(self, ids):
        draw = torch.rand(ids.shape, device=ids.device)
        chosen = (draw < self.probability) & (ids > EOS)
        labels = torch.where(chosen, ids, -100)
        kind = torch.rand(ids.shape, device=ids.device)
        noise = torch.randint(4, 24, ids.shape, device=ids.device)
        inputs = torch.where(chosen & (kind < 0.8), MASK, ids)
        inputs = torch.where(chosen & (kind >= 0.9), noise, inputs)
        return {"input_ids": inputs, "labels": labels}


class Trainer:
    def __init__(self, model, arguments, collator):
        self.model, self.arguments, self.collator = model, arguments, collator
        plain = [p for n, p in model.named_parameters() if p.ndim < 2]
        decayed = [p for n, p in model.named_parameters() if p.ndim >= 2]
        groups = [{"params": decayed, "weight_decay": arguments.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=arguments.learning_rate, betas=(0.9, 0.98), fused=True)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: min(1.0, (s + 1) / arguments.warmup_steps))
        self.set_precision()

    def set_precision(self):
        torch.backends.cuda.matmul.allow_tf32 = self.arguments.tf32
        torch.backends.cudnn.allow_tf32 = self.arguments.tf32

    def training_step(self, ids):
        self.set_precision()
        self.model.train()
        loss = self.model(**self.collator(ids)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.arguments.max_grad_norm)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        return loss.detach()


def build(fixed, device):
    cpu = device == "cpu"
    batch, length = (2, 16) if cpu else (12, 512)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64} if cpu else {
        "hidden_size": 640, "num_hidden_layers": 12, "num_attention_heads": 10, "intermediate_size": 2560}
    config = EsmConfig(vocab_size=40, pad_token_id=PAD, mask_token_id=MASK, position_embedding_type="rotary", token_dropout=False,
                       max_position_embeddings=1026, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **size)
    model = EsmForMaskedLM(config).to(device)
    trainer = Trainer(model, Arguments(tf32=fixed), Collator(Arguments.mlm_probability))
    proteins = torch.randint(4, 24, (8 * batch, length), device=device)
    proteins[:, 0], proteins[:, -1] = CLS, EOS
    position = 0

    def step():
        nonlocal position
        ids = proteins[position:position + batch]
        position = (position + batch) % len(proteins)
        return trainer.training_step(ids)

    return step
