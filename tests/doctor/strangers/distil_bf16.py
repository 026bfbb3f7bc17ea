# SPDX-License-Identifier: Apache-2.0
"""transformers' DistilBERT fine-tuned to classify texts of 256 tokens, fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


def build(fixed, device):
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, length, sizes = 64, 256, {}
    if device == "cpu":
        batch, length, sizes = 2, 16, {"dim": 64, "hidden_dim": 128, "n_layers": 2, "n_heads": 4, "vocab_size": 500}
    config = DistilBertConfig(num_labels=4, **sizes)
    model = DistilBertForSequenceClassification(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    tokens = torch.randint(0, config.vocab_size, (batch, length), device=device)
    labels = torch.randint(0, 4, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=fixed):
            loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        optimizer.step()

    return step
