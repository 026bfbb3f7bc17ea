# SPDX-License-Identifier: Apache-2.0
"""RetinaNet's heads trained on kept features under bf16 autocast; matching of anchors, focal loss and GIoU are written out."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"], "steps": 10,
         "timeout": 240}


def overlap(a, b):  # boxes are left, top, right, bottom
    wide = torch.min(a[..., 2], b[..., 2]) - torch.max(a[..., 0], b[..., 0])
    high = torch.min(a[..., 3], b[..., 3]) - torch.max(a[..., 1], b[..., 1])
    common = wide.clamp(min=0) * high.clamp(min=0)
    areas = [(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (a, b)]
    union = areas[0] + areas[1] - common + 1e-7
    return common / union, union


def detection_loss(scores, offsets, anchors, boxes, kinds):
    scores, offsets = scores.float(), offsets.float()
    score, best = overlap(anchors[None, :, None], boxes[:, None])[0].max(2)  # images, anchors
    positive, ignored = score >= 0.5, (score >= 0.4) & (score < 0.5)
    wanted = F.one_hot(kinds.gather(1, best), scores.shape[2]).float() * positive[..., None]
    chance = torch.sigmoid(scores)
    right = chance * wanted + (1 - chance) * (1 - wanted)
    alpha = 0.25 * wanted + 0.75 * (1 - wanted)
    focal = -alpha * (1 - right) ** 2 * torch.log(right.clamp(min=1e-6)) * (~ignored)[..., None]
    middle, size = (anchors[:, :2] + anchors[:, 2:]) / 2, anchors[:, 2:] - anchors[:, :2]
    middle, size = middle + offsets[..., :2] * size, size * torch.exp(offsets[..., 2:].clamp(max=4))
    a, b = torch.cat([middle - size / 2, middle + size / 2], -1), boxes.gather(1, best[..., None].expand(-1, -1, 4))
    shared, union = overlap(a, b)
    wide, high = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).unbind(-1)
    hull = wide * high + 1e-7
    apart = 1 - shared + (hull - union) / hull
    return (focal.sum() + (apart * positive).sum()) / positive.sum().clamp(min=1)


def tower(width, depth, out):
    layers = [layer for _ in range(depth) for layer in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True))]
    return nn.Sequential(*layers, nn.Conv2d(width, out, 3, padding=1))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"  # where nothing is compiled: it takes too long for a mere try
    batch, side, width, classes, objects, shapes, deepest = (2, 64, 8, 5, 3, 3, 3) if cpu else (24, 512, 256, 80, 32, 9, 5)
    heads = nn.ModuleList(tower(width, 2, shapes * out) for out in (classes, 4)).to(device, memory_format=torch.channels_last)
    nn.init.constant_(heads[0][-1].bias, -4.6)  # at first nothing is found anywhere
    optimizer = torch.optim.AdamW(heads.parameters(), lr=1e-4, fused=True)
    cells = [side // 8 >> level for level in range(deepest)]
    levels = [torch.randn(batch, width, n, n, device=device).to(memory_format=torch.channels_last) for n in cells]
    middle = torch.cat([(torch.cartesian_prod(torch.arange(n), torch.arange(n)).flip(1) + 0.5) * side / n for n in cells])
    size = torch.cat([torch.full((n * n, 1, 1), 2.0 * side / n) for n in cells])
    size = size * torch.linspace(0.7, 2, shapes)[:, None] * torch.tensor([1.0, 1.2])
    anchors = torch.cat([middle[:, None] - size, middle[:, None] + size], -1).flatten(0, 1).to(device)
    corner, extent = torch.rand(2, batch, objects, 2, device=device) * side / 2
    boxes = torch.cat([corner, corner + extent + 16], -1)
    kinds = torch.randint(0, classes, (batch, objects), device=device)
    loss_of = torch.compile(detection_loss) if fixed and not cpu else detection_loss

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            out = [[head(level).permute(0, 2, 3, 1).flatten(1) for level in levels] for head in heads]
        scores, offsets = (torch.cat(part, 1).unflatten(1, (len(anchors), -1)) for part in out)
        loss_of(scores, offsets, anchors, boxes, kinds).backward()
        optimizer.step()

    return step
