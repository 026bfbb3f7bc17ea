# SPDX-License-Identifier: Apache-2.0
"""transformers' CLIP (ViT-B/32 beside a text tower, random weights) trained contrastively in fp32 without TF32."""
import torch

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from transformers import CLIPConfig, CLIPModel

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    if device == "cpu":
        batch, length, vocabulary, side = 4, 8, 100, 32
        small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
        text = {**small, "vocab_size": vocabulary, "max_position_embeddings": length}
        text |= {"bos_token_id": 98, "eos_token_id": 99, "pad_token_id": 99}
        vision = {**small, "image_size": side, "patch_size": 16}
        config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    else:
        batch, length, vocabulary, side = 128, 77, 49408, 224
        config = CLIPConfig()  # the sizes of openai/clip-vit-base-patch32
    model = CLIPModel(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.1, fused=True)
    images = torch.randn(batch, 3, side, side, device=device)
    captions = torch.randint(0, vocabulary - 2, (batch, length), device=device)
    captions[:, -1] = vocabulary - 1  # the end of the text

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(input_ids=captions, pixel_values=images, return_loss=True).loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6052)  # at most 100, as in the paper

    return step
