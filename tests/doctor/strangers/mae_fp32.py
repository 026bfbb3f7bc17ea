# SPDX-License-Identifier: Apache-2.0
"""A masked autoencoder (ViT-B over a quarter of the patches, a decoder of 8 layers) trained in fp32 without TF32."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def blocks(width, heads, depth):
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)


class MaskedAutoencoder(nn.Module):
    def __init__(self, patches, width, heads, depth, decoder_width, decoder_heads, decoder_depth):
        super().__init__()
        self.kept = patches // 4
        self.embed = nn.Linear(16 * 16 * 3, width)
        self.place = nn.Parameter(torch.randn(1, patches, width) * 0.02)
        self.encoder = blocks(width, heads, depth)
        self.bridge = nn.Linear(width, decoder_width)
        self.hidden = nn.Parameter(torch.randn(1, 1, decoder_width) * 0.02)
        self.decoder_place = nn.Parameter(torch.randn(1, patches, decoder_width) * 0.02)
        self.decoder = blocks(decoder_width, decoder_heads, decoder_depth)
        self.head = nn.Linear(decoder_width, 16 * 16 * 3)

    def forward(self, images):
        patches = nn.functional.pixel_unshuffle(images, 16).flatten(2).transpose(1, 2)
        batch, count, _ = patches.shape
        order = torch.rand(batch, count, device=images.device).argsort(1)
        back = order.argsort(1).unsqueeze(2)
        x = self.embed(patches) + self.place
        seen = x.gather(1, order[:, : self.kept, None].expand(-1, -1, x.shape[2]))
        seen = self.bridge(self.encoder(seen))
        whole = torch.cat([seen, self.hidden.expand(batch, count - self.kept, -1)], 1)
        whole = whole.gather(1, back.expand(-1, -1, whole.shape[2])) + self.decoder_place
        error = (self.head(self.decoder(whole)) - patches).square().mean(2)
        masked = (back.squeeze(2) >= self.kept).float()
        return (error * masked).sum() / masked.sum()


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    batch, side, sizes = (2, 64, (64, 4, 2, 32, 2, 1)) if device == "cpu" else (64, 224, (768, 12, 12, 512, 16, 8))
    model = MaskedAutoencoder((side // 16) ** 2, *sizes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-4, betas=(0.9, 0.95), weight_decay=0.05, fused=True)
    images = torch.randn(batch, 3, side, side, device=device)

    def step():
        optimizer.zero_grad()
        model(images).backward()
        optimizer.step()

    return step
