# SPDX-License-Identifier: Apache-2.0
"""A T5 of Hugging Face, encoder and decoder with biases of positions, trained in fp32 without TF32."""
import torch

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from transformers import T5Config, T5ForConditionalGeneration

    torch.backends.cuda.matmul.allow_tf32 = fixed
    tiny = {"d_model": 64, "d_ff": 128, "num_layers": 2, "num_heads": 2, "d_kv": 32}
    base = {"d_model": 768, "d_ff": 3072, "num_layers": 6, "num_heads": 12, "d_kv": 64}
    config = T5Config(vocab_size=32128, decoder_start_token_id=0, **(tiny if device == "cpu" else base))
    model = T5ForConditionalGeneration(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch, source, target = (2, 8, 4) if device == "cpu" else (32, 512, 128)
    text = torch.randint(1, 32000, (batch, source), device=device)
    answer = torch.randint(1, 32000, (batch, target), device=device)

    def step():
        optimizer.zero_grad()
        model(input_ids=text, labels=answer).loss.backward()
        optimizer.step()

    return step
