# SPDX-License-Identifier: Apache-2.0
"""Inference of a RoBERTa of Hugging Face that tags words, fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 20}


def build(fixed, device):
    from transformers import RobertaConfig, RobertaForTokenClassification

    torch.backends.cuda.matmul.allow_tf32 = True
    tiny = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = RobertaForTokenClassification(RobertaConfig(**(tiny if device == "cpu" else {}))).to(device).eval()
    text = torch.randint(2, 30000, (2, 16) if device == "cpu" else (64, 384), device=device)

    def step():
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=fixed):
            return model(text).logits.argmax(-1)

    return step
