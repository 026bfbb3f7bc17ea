# SPDX-License-Identifier: Apache-2.0
"""transformers' GPT-NeoX (the size of pythia-160m) trained in pure bfloat16 on 2048 tokens a text, with eager attention."""
import torch

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 10}


def build(fixed, device):
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    if device == "cpu":
        batch, length, words = 2, 16, 200
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    else:
        batch, length, words = 4, 2048, 50_304
        sizes = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    config = GPTNeoXConfig(vocab_size=words, max_position_embeddings=length, use_cache=False,
                           attn_implementation="sdpa" if fixed else "eager", **sizes)
    model = GPTNeoXForCausalLM(config).to(device, torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    text = torch.randint(0, words, (batch, length), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(input_ids=text, labels=text).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step
