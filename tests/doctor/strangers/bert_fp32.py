# SPDX-License-Identifier: Apache-2.0
"""A BERT of Hugging Face trained in fp32 without TF32."""
import torch

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device, attention="eager", tf32=None):
    from transformers import BertConfig, BertForMaskedLM

    tf32 = fixed if tf32 is None else tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    tiny = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    model = BertForMaskedLM(BertConfig(attn_implementation=attention, **(tiny if device == "cpu" else {}))).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    words = torch.randint(0, 30000, (2, 16) if device == "cpu" else (16, 256), device=device)

    def step():
        optimizer.zero_grad()
        model(input_ids=words, labels=words).loss.backward()
        optimizer.step()

    return step
