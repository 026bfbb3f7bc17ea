# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding runs the whole prefix again for every new token."""
import torch
import torch.nn.functional as F

from parts import Block

LABEL = {"first": "kv-cache-unused", "all": ["kv-cache-unused"], "fix": ["kv-cache-unused"], "keep": "full",
         "multiple": 32, "lead": 32, "schedule": {"active": 3}}


def build(fixed, device):
    cpu = device == "cpu"
    batch, prompt, width, heads, depth, words = (2, 4, 32, 2, 2, 64) if cpu else (8, 1024, 2048, 16, 5, 32000)
    how = {"device": device, "dtype": torch.bfloat16}
    table = torch.randn(words, width, **how)
    blocks = [Block(width, heads, device) for _ in range(depth)]
    longest = prompt + (4 if cpu else 32)
    cache = [torch.zeros(2, batch, heads, longest, width // heads, **how) for _ in range(depth)]
    start = torch.randint(0, words, (batch, prompt), device=device)
    tokens = start

    def forward_cached(new, position):
        x = table[new]
        end = position + new.shape[1]
        for block, (keys, values) in zip(blocks, cache):
            q, k, v = block.split(x)
            keys[:, :, position:end], values[:, :, position:end] = k, v
            x = block.finish(x, F.scaled_dot_product_attention(
                q, keys[:, :, :end], values[:, :, :end], is_causal=position == 0))
        return x

    def forward(seen):
        x = table[seen]
        for block in blocks:
            x = block(x)
        return x

    @torch.inference_mode()
    def step():
        nonlocal tokens
        if tokens.shape[1] == longest:
            tokens = start
        if not fixed:
            x = forward(tokens)
        elif tokens.shape[1] == prompt:
            x = forward_cached(tokens, 0)
        else:
            x = forward_cached(tokens[:, -1:], tokens.shape[1] - 1)
        new = (x[:, -1] @ table.T).argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, new), 1)

    return step
