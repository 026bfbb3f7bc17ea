# SPDX-License-Identifier: Apache-2.0
"""Decoding with a key-value cache of fixed size, one CUDA graph a token."""
import torch
import torch.nn.functional as F

from parts import Block, graphed

LABEL = {"first": "healthy", "all": [], "fix": []}


def build(fixed, device):
    cpu = device == "cpu"
    batch, longest, width, heads, depth, words = (2, 8, 32, 2, 1, 64) if cpu else (64, 512, 4096, 32, 16, 32000)
    how = {"device": device, "dtype": torch.bfloat16}
    table = torch.randn(words, width, **how)
    blocks = [Block(width, heads, device) for _ in range(depth)]
    cache = [torch.zeros(2, batch, heads, longest, width // heads, **how) for _ in range(depth)]
    places = torch.arange(longest, device=device)
    position = torch.zeros(1, dtype=torch.long, device=device)
    tokens = torch.zeros(batch, 1, dtype=torch.long, device=device)

    @torch.no_grad()
    def step():
        x = table[tokens]
        seen = (places <= position)[None, None, None]
        for block, (keys, values) in zip(blocks, cache):
            q, k, v = block.split(x)
            keys.index_copy_(2, position, k)
            values.index_copy_(2, position, v)
            x = block.finish(x, F.scaled_dot_product_attention(q, keys, values, attn_mask=seen))
        tokens.copy_((x[:, -1] @ table.T).argmax(-1, keepdim=True))
        position.add_(1).remainder_(longest)

    return graphed(step, device)
