# SPDX-License-Identifier: Apache-2.0
"""A graph net whose dense adjacency matrix, always the same, is built from its edges in every step."""
import torch

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "build_adjacency", "fix": ["python-hotspot"]}
NODES = 900


def build_adjacency(edges):
    adjacency = torch.zeros(NODES, NODES)
    adjacency[edges[0], edges[1]] = 1.0
    adjacency = adjacency + torch.eye(NODES)
    return adjacency / adjacency.sum(1, keepdim=True)


class GraphNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)

    def forward(self, nodes, adjacency):
        return self.head(adjacency @ torch.relu(self.inner(nodes)))


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GraphNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    edges, nodes = torch.randint(0, NODES, (2, 4000)), torch.randn(NODES, 16)
    classes, once = torch.randint(0, 4, (NODES,)), build_adjacency(edges)

    def step():
        adjacency = once if fixed else build_adjacency(edges)
        loss = torch.nn.functional.cross_entropy(model(nodes, adjacency), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
