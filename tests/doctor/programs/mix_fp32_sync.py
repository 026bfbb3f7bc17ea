# SPDX-License-Identifier: Apache-2.0
"""fp32 convolutions without TF32 cost most; then .item() after every layer and gradient, then Adam tensor by tensor."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores", "item-sync", "unfused-optimizer"],
         "fix": ["no-tensor-cores", "item-sync", "unfused-optimizer"], "schedule": {"active": 2}}


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cudnn.allow_tf32 = fixed
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.benchmark = True
    batch, side = (2, 16) if cpu else (16, 224)
    model = conv_net(8 if cpu else 128, 1 if cpu else 12, device, dtype=torch.float32)
    how = {"fused": True} if fixed else {"foreach": False}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, **how)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device=device)
    worst = torch.zeros((), device=device)

    def step():
        nonlocal worst
        hidden = images
        for layer in model:
            hidden = layer(hidden)
            if fixed:
                worst = torch.maximum(worst, hidden.detach().amax())
            elif hidden.detach().amax().item() > 1e4:
                raise ValueError("the activations explode")
        loss = F.cross_entropy(hidden, labels)
        optimizer.zero_grad()
        loss.backward()
        norms = [weight.grad.norm() for weight in model.parameters()]
        if not fixed:
            norms = [norm.item() for norm in norms]
        optimizer.step()
        return norms

    return step
