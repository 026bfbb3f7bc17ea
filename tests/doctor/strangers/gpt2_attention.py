# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 of Hugging Face in bfloat16 autocast with attention written out; the fixed one has scaled_dot_product_attention."""
import torch

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 10}


def build(fixed, device):
    from transformers import GPT2Config, GPT2LMHeadModel

    tiny = {"n_embd": 64, "n_layer": 2, "n_head": 2}
    config = GPT2Config(vocab_size=32000, attn_implementation="sdpa" if fixed else "eager",
                        **(tiny if device == "cpu" else {"n_embd": 1024, "n_layer": 12, "n_head": 16}))
    model = GPT2LMHeadModel(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    words = torch.randint(0, 32000, (2, 16) if device == "cpu" else (8, 1024), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = model(input_ids=words, labels=words, use_cache=False).loss
        loss.backward()
        optimizer.step()

    return step
