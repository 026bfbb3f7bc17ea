# SPDX-License-Identifier: Apache-2.0
"""The process may use 5 GiB and needs nearly all of it in two sizes: every step frees and allocates."""
import torch

LABEL = {"first": "memory-pressure", "all": ["memory-pressure"], "fix": ["memory-pressure"], "keep": "full",
         "multiple": 2, "env": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:256"}}


def build(fixed, device):
    cpu = device == "cpu"
    words, width, lengths = (64, 16, (16, 12)) if cpu else (32768, 512, (49152, 40960))
    if not cpu and not fixed:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(5 * 2**30 / total)
    how = {"device": device, "dtype": torch.bfloat16}
    head = torch.randn(width, words, **how)
    batches = [torch.randn(length, width, **how) for length in lengths]
    count = 0

    @torch.inference_mode()
    def step():
        nonlocal count
        count += 1
        return (batches[count % 2] @ head).argmax(-1)

    return step
