# SPDX-License-Identifier: Apache-2.0
"""Short replies suggested by a Phi language model of transformers: greedy decoding of eight tokens for eight messages."""
import torch
from transformers import PhiConfig, PhiForCausalLM

LABEL = {"first": "kv-cache-unused", "all": ["kv-cache-unused"], "fix": ["kv-cache-unused"], "steps": 5}


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, prompt, reply, width, depth, heads, vocabulary = (
        (2, 12, 3, 32, 2, 2, 100) if cpu else (8, 1024, 8, 2048, 12, 16, 32_000))
    config = PhiConfig(vocab_size=vocabulary, hidden_size=width, intermediate_size=4 * width, num_hidden_layers=depth,
                       num_attention_heads=heads, max_position_embeddings=2048, hidden_act="gelu_pytorch_tanh",
                       attn_implementation="sdpa")
    with torch.device(device):  # random weights are drawn there, which is quick
        model = PhiForCausalLM(config)
    model = model.to(device, torch.bfloat16).eval()
    conversations = torch.randint(0, vocabulary, (4, batch, prompt))
    answers = torch.empty(batch, reply, dtype=torch.int64)
    if not cpu:
        conversations, answers = conversations.pin_memory(), answers.pin_memory()
    done = 0

    def pick(out):
        return out.logits[:, -1].argmax(-1, keepdim=True)

    def with_cache(tokens):  # in bfloat16 a near tie may be decided otherwise
        out = model(input_ids=tokens, use_cache=True, logits_to_keep=1)
        new = [pick(out)]
        while len(new) < reply:
            out = model(input_ids=new[-1], past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)
            new.append(pick(out))
        return torch.cat(new, 1)

    def without_cache(tokens):
        for _ in range(reply):
            out = model(input_ids=tokens, use_cache=False, logits_to_keep=1)
            tokens = torch.cat([tokens, pick(out)], 1)
        return tokens[:, -reply:]

    decode = with_cache if fixed else without_cache

    @torch.inference_mode()
    def step():
        nonlocal done
        tokens, done = conversations[done % 4].to(device, non_blocking=True), done + 1
        answers.copy_(decode(tokens), non_blocking=True)
        if not cpu:
            torch.cuda.current_stream().synchronize()
        return answers

    return step
