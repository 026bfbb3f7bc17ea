# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo that each hold half of a table and gather all of it, to look up a few rows a step."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

# On a busy machine one of two equal ranks really is late for a while.
LABEL = {"first": "exposed-comm", "all": ["exposed-comm"], "fix": ["exposed-comm"], "ranks": 2, "over": ["straggler"]}
ROWS, WIDTH, BATCH = 60_000, 128, 64  # 31 MB


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    mine = torch.randn(ROWS // 2, WIDTH)
    # Half the bytes: what bf16 on the way gives, the least that the doctor's remedies ask for.
    mine = mine.bfloat16() if fixed else mine
    table = torch.empty(ROWS, WIDTH, dtype=mine.dtype)
    model = torch.nn.Linear(WIDTH, WIDTH)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        dist.all_gather(list(table.chunk(2)), mine)
        rows = F.embedding(torch.randint(ROWS, (BATCH,)), table).float()
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
