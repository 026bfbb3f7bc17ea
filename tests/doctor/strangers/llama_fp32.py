# SPDX-License-Identifier: Apache-2.0
"""A small Llama of Hugging Face trained in fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


def build(fixed, device):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.backends.cuda.matmul.allow_tf32 = True
    tiny = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 2}
    real = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12, "num_attention_heads": 16,
            "num_key_value_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, **(tiny if device == "cpu" else real))).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    words = torch.randint(0, 32000, (2, 16) if device == "cpu" else (8, 512), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=fixed):
            loss = model(input_ids=words, labels=words, use_cache=False).loss
        loss.backward()
        optimizer.step()

    return step
