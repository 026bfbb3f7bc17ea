# SPDX-License-Identifier: Apache-2.0
"""Embeddings of texts by transformers' OPT (12 layers as wide as OPT-1.3B's) in bfloat16; nothing is wrong with it."""
import itertools

import torch
import torch.nn.functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 20}


def build(fixed, device):
    from transformers import OPTConfig, OPTModel

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    if cpu:
        batch, length, words = 2, 16, 100
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 64, "num_attention_heads": 2}
    else:
        batch, length, words = 16, 512, 50_272
        sizes = {"hidden_size": 2048, "num_hidden_layers": 12, "ffn_dim": 8192, "num_attention_heads": 32}
    with torch.device(device):
        model = OPTModel(OPTConfig(vocab_size=words, attn_implementation="sdpa", use_cache=False, **sizes))
    model = model.to(device, torch.bfloat16).eval()
    texts = [torch.randint(4, words, (batch, length)) for _ in range(8)]
    queue = itertools.cycle(texts if cpu else [text.pin_memory() for text in texts])
    answers = []

    @torch.inference_mode()
    def step():
        hidden = model(input_ids=next(queue).to(device, non_blocking=True)).last_hidden_state
        answers[:] = [F.normalize(hidden.float().mean(1), dim=1).cpu()]  # they are sent to who asked

    return step
