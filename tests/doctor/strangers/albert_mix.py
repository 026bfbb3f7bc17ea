# SPDX-License-Identifier: Apache-2.0
"""transformers' ALBERT (base) trained on masked words in fp32 without TF32 and with eager attention."""
import torch

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores", "naive-attention"], "fix": ["no-tensor-cores", "naive-attention"],
         "steps": 10}


def build(fixed, device):
    from transformers import AlbertConfig, AlbertForMaskedLM

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
    if device == "cpu":
        batch, length, words = 2, 16, 200
        sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "embedding_size": 16, "num_hidden_layers": 2}
    else:
        batch, length, words = 16, 512, 30_000
        sizes = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    config = AlbertConfig(vocab_size=words, hidden_act="gelu", attn_implementation="sdpa" if fixed else "eager", **sizes)
    model = AlbertForMaskedLM(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    text = torch.randint(5, words, (batch, length), device=device)
    hidden = torch.rand(batch, length, device=device) < 0.15
    asked, labels = text.masked_fill(hidden, 4), text.masked_fill(~hidden, -100)

    def step():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
        optimizer.zero_grad(set_to_none=True)
        model(input_ids=asked, labels=labels).loss.backward()
        optimizer.step()

    return step
