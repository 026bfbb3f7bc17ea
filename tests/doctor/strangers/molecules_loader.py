# SPDX-License-Identifier: Apache-2.0
"""torch_geometric's GINE over batches of 512 molecules that the training process itself jitters, measures and collates."""
import torch
import torch.nn.functional as F
from torch import nn

from parts import endless

LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": ["input-bound"], "steps": 20}


class Molecules(torch.utils.data.Dataset):
    def __init__(self, count):
        from torch_geometric.data import Data

        self.kept = []
        for atoms in torch.randint(12, 40, (count,)).tolist():
            chain = torch.arange(atoms - 1)
            bonds = torch.cat([torch.stack([chain, chain + 1]), torch.randint(0, atoms, (2, atoms // 5))], 1)
            bonds = torch.cat([bonds, bonds.flip(0)], 1)
            kinds = torch.randint(0, 20, (atoms,))
            self.kept.append(Data(x=kinds, edge_index=bonds, pos=torch.randn(atoms, 3), y=torch.randn(1)))

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        data = self.kept[index % len(self.kept)].clone()
        data.pos = data.pos + 0.05 * torch.randn_like(data.pos)
        start, end = data.edge_index
        length = (data.pos[start] - data.pos[end]).norm(dim=1, keepdim=True)
        data.edge_attr = torch.exp(-((length - torch.linspace(0, 4, 16)) ** 2) / 0.1)
        return data


class Network(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        from torch_geometric.nn import GINEConv, SumAggregation

        self.embed, self.pool, self.head = nn.Embedding(20, width), SumAggregation(), nn.Linear(width, 1)
        inner = [nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)) for _ in range(depth)]
        self.convs = nn.ModuleList(GINEConv(net, edge_dim=16) for net in inner)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(depth))

    def forward(self, batch, graphs):
        x = self.embed(batch.x)
        for conv, norm in zip(self.convs, self.norms):
            x = x + F.relu(norm(conv(x, batch.edge_index, batch.edge_attr)))
        return self.head(self.pool(x, batch.batch, dim_size=graphs)).squeeze(1)


def build(fixed, device):
    from torch_geometric.loader import DataLoader

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    graphs, width, depth, kept = (8, 16, 2, 16) if cpu else (512, 300, 5, 2048)
    how = {"num_workers": 2 if cpu else 12, "persistent_workers": True, "prefetch_factor": 4} if fixed else {"num_workers": 0}
    batches = endless(DataLoader(Molecules(kept), graphs, shuffle=True, drop_last=True, pin_memory=not cpu, **how))
    model = Network(width, depth).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step():
        batch = next(batches).to(device, non_blocking=True)
        optimizer.zero_grad()
        F.l1_loss(model(batch, graphs), batch.y).backward()
        optimizer.step()

    return step
