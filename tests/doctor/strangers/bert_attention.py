# SPDX-License-Identifier: Apache-2.0
"""A BERT of Hugging Face with TF32 and attention written out."""
from bert_fp32 import build as build_bert

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 10}


def build(fixed, device):
    return build_bert(fixed, device, attention="sdpa" if fixed else "eager", tf32=True)
