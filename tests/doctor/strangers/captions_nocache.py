# SPDX-License-Identifier: Apache-2.0
"""Captions of 24 tokens for 32 images by a decoder of 8 layers that goes over image and caption again for every token."""
import torch
import torch.nn.functional as F
from torch import nn

from parts import Block

LABEL = {"first": "kv-cache-unused", "all": ["kv-cache-unused"], "fix": ["kv-cache-unused"], "steps": 10}


class Layer(Block):
    def forward(self, x, cache=None, start=0):
        q, k, v = self.split(x)
        if cache is not None:
            end = start + x.shape[1]
            cache[0, :, :, start:end], cache[1, :, :, start:end] = k, v
            k, v = cache[:, :, :, :end]
        return self.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=x.shape[1] > 1))


class Captioner(nn.Module):
    def __init__(self, vocabulary, width, heads, depth, longest, **how):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width, **how), nn.Embedding(longest, width, **how)
        self.layers = nn.ModuleList(Layer(width, heads, **how) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width, **how), nn.Linear(width, vocabulary, bias=False, **how)

    def forward(self, x, caches=None, start=0):
        x = x + self.place.weight[start : start + x.shape[1]]
        for index, layer in enumerate(self.layers):
            x = layer(x, None if caches is None else caches[index], start)
        return self.head(self.norm(x[:, -1])).argmax(1, keepdim=True)


def build(fixed, device):
    how = {"device": device, "dtype": torch.bfloat16}
    batch, patches, words, sizes = (2, 8, 4, (100, 64, 2, 2)) if device == "cpu" else (32, 256, 24, (32_000, 768, 12, 8))
    longest, (_, width, heads, depth) = patches + words, sizes
    model = Captioner(*sizes, longest, **how).eval()
    images = torch.randn(batch, patches, width, **how)  # as an image encoder left them
    caches = torch.empty(depth, 2, batch, heads, longest, width // heads, **how) if fixed else None

    @torch.inference_mode()
    def step():
        seen, start, caption = images, 0, []
        for _ in range(words):
            caption.append(model(seen, caches, start))
            word = model.embed(caption[-1])
            if fixed:
                seen, start = word, start + seen.shape[1]
            else:
                seen = torch.cat([seen, word], 1)
        return torch.cat(caption, 1)

    return step
