# SPDX-License-Identifier: Apache-2.0
"""transformers' Whisper (the size of whisper-small, random weights) trained on 30 s of speech a sample in fp32 with TF32."""
import contextlib

import torch

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


def build(fixed, device):
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, frames, length, vocabulary = (2, 40, 8, 120) if cpu else (12, 3000, 160, 51865)
    width, layers, heads = (32, 2, 2) if cpu else (768, 12, 12)
    special = {"pad": 0, "bos": 1, "eos": 2, "decoder_start": 3} if cpu else {}
    config = WhisperConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_source_positions=frames // 2,
        max_target_positions=16 if cpu else 448,
        use_cache=False,
        **({f"{name}_token_id": value for name, value in special.items()}),
    )
    model = WhisperForConditionalGeneration(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    mels = torch.randn(batch, config.num_mel_bins, frames, device=device)
    words = torch.randint(4, vocabulary, (batch, length), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16) if fixed else contextlib.nullcontext():
            loss = model(input_features=mels, labels=words).loss
        loss.backward()
        optimizer.step()

    return step
