# SPDX-License-Identifier: Apache-2.0
"""A training by Hugging Face's Trainer, which owns the loop, the loader and the optimizer: a small GPT-2
that is not downloaded. Each sample takes a while to come."""
import argparse
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--wait", type=float, default=0.003)
options = parser.parse_args()


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        time.sleep(options.wait)
        tokens = (torch.arange(24) * (1 + i % 5) + i) % 64
        return {"input_ids": tokens, "labels": tokens}


def main():
    config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=8,
        max_steps=options.steps,
        logging_steps=10,
        save_steps=50,
        use_cpu=True,
        report_to="none",
    )
    model = GPT2LMHeadModel(config)
    Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
    print("compiled", sum(getattr(part, "_compiled_call_impl", None) is not None for part in model.modules()))


if __name__ == "__main__":
    main()
