# SPDX-License-Identifier: Apache-2.0
"""transformers' Wav2Vec2 (base) under a classifier of 3-second commands, trained in fp32 without TF32."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


class Commands(nn.Module):
    def __init__(self, config, classes):
        super().__init__()
        from transformers import Wav2Vec2Model

        self.body = Wav2Vec2Model(config)
        self.head = nn.Linear(config.hidden_size, classes)

    def forward(self, audio):
        return self.head(self.body(audio).last_hidden_state.mean(1))


def build(fixed, device):
    from transformers import Wav2Vec2Config

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    batch, samples, sizes = 16, 3 * 16_000, {}
    if device == "cpu":
        batch, samples = 2, 4000
        sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
                 "conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
    # The masks are drawn on the host and whole layers are dropped by chance: neither is wanted here.
    config = Wav2Vec2Config(apply_spec_augment=False, layerdrop=0.0, **sizes)
    model = Commands(config, 35).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5, fused=True)
    audio = torch.randn(batch, samples, device=device)
    labels = torch.randint(0, 35, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(audio), labels).backward()
        optimizer.step()

    return step
