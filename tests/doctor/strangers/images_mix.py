# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-34 in fp32 without TF32, fed with pageable images that the training process itself crops and colours."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from parts import endless

LABEL = {"first": "input-bound", "all": ["input-bound", "no-tensor-cores", "pageable-copy"],
         "fix": ["input-bound", "no-tensor-cores", "pageable-copy"], "steps": 10}


class Photos(Dataset):
    """Decoded photos in memory, cropped, resized, flipped, coloured and normalized one by one."""

    def __init__(self, count, side, crop):
        self.photos = torch.randint(0, 256, (128, 3, side, side), dtype=torch.uint8)
        self.count, self.side, self.crop = count, side, crop
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        self.deviation = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        size = int(self.side * 0.8)
        top, left = torch.randint(0, self.side - size, (2,)).tolist()
        photo = self.photos[index % len(self.photos)][:, top : top + size, left : left + size].float() / 255
        photo = F.interpolate(photo[None], size=(self.crop, self.crop), mode="bilinear", antialias=True)[0]
        if torch.rand(()) < 0.5:
            photo = photo.flip(2)
        bright, contrast, saturation = (torch.rand(3) * 0.8 + 0.6).tolist()
        photo = (photo * bright).clamp(0, 1)
        photo = torch.lerp(photo.mean().expand_as(photo), photo, contrast).clamp(0, 1)
        photo = torch.lerp(photo.mean(0, keepdim=True).expand_as(photo), photo, saturation).clamp(0, 1)
        return (photo - self.mean) / self.deviation, index % 1000


def build(fixed, device):
    from torchvision.models import resnet34

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    cpu = device == "cpu"
    batch, photos = (2, Photos(2000, 80, 64)) if cpu else (64, Photos(256_000, 400, 224))
    how = {"num_workers": 2 if cpu else 8, "persistent_workers": True, "pin_memory": not cpu} if fixed else {"num_workers": 0}
    batches = endless(DataLoader(photos, batch, shuffle=True, drop_last=True, **how))
    model = resnet34().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)

    def step():
        images, labels = (part.to(device, non_blocking=fixed) for part in next(batches))
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step
