# SPDX-License-Identifier: Apache-2.0
"""What would help and cannot be put in from outside. Few, and only what was seen."""

_NEARLY_FULL = 0.9  # of the device: what is left is less than the margin a batch search keeps


def advice(seen):
    return [one for one in (_deferred_logging(seen), _own_attention(seen), _sharding(seen)) if one is not None]


def _deferred_logging(seen):
    """Of what the treatment of that name can do nothing about."""
    from .treatments import Unfit, deferred_logging

    try:
        later = deferred_logging.readable(seen)
    except Unfit:
        later = []
    every_step = [read for read in seen.read_every_step() if read not in later]
    if seen.device == "cpu" or not every_step:
        return None
    read, looked_at = every_step[0], min(seen.steps, 5)
    return {
        "title": "read the loss every so many steps",
        "why": ".%s() at %s was called %d times in the first %d steps; each makes the program wait until the "
               "device has done all it was given" % (read.how.strip("_"), read.site, read.count, looked_at),
        "code": "if step % 50 == 0:\n    print(loss.item())\n"
                "# or keep a sum on the device: total += loss.detach(), and total.item() once",
        "where": read.site}


def _own_attention(seen):
    operators = seen.operators
    softmax = operators.get("aten::softmax", 0) or operators.get("aten::_softmax", 0)
    products = operators.get("aten::bmm", 0) + operators.get("aten::baddbmm", 0)
    if not softmax or products < 2 * softmax or "aten::scaled_dot_product_attention" in operators:
        return None
    if any(getattr(getattr(root.module, "config", None), "_attn_implementation", None) for root in seen.roots):
        return None  # a library's, which has a switch for it: a treatment
    if any(_has_torch_attention(root.module) for root in seen.roots):
        return None  # PyTorch's own layer chooses how it computes: nobody wrote a softmax to replace
    return {
        "title": "attention in one operator",
        "why": "a step ran %d softmax between %d batched matrix products and no scaled_dot_product_attention, "
               "which does the three at once and keeps no matrix of the scores" % (softmax, products),
        "code": "y = torch.nn.functional.scaled_dot_product_attention(q, k, v)\n"
                "# instead of softmax(q @ k.transpose(-2, -1) / sqrt(d)) @ v; attn_mask= and dropout_p= as before;\n"
                "# is_causal=True only where the program masks the future",
        "where": ""}


def _has_torch_attention(module):
    return any(kind.__name__ == "MultiheadAttention" and kind.__module__.startswith("torch.nn.")
               for part in getattr(module, "modules", tuple)() for kind in type(part).__mro__)


def _sharding(seen):
    if (seen.world > 1 or seen.device_count < 2 or not seen.device_bytes or not seen.peak_device_bytes
            or seen.peak_device_bytes < _NEARLY_FULL * seen.device_bytes):
        return None
    return {
        "title": "share the model out among the GPUs (FSDP)",
        "why": "one process used %.1f of %.1f GiB of one GPU, and the machine has %d" % (
            seen.peak_device_bytes / 2**30, seen.device_bytes / 2**30, seen.device_count),
        "code": "from torch.distributed.fsdp import fully_shard\n"
                "for block in model.blocks:\n    fully_shard(block)\nfully_shard(model)\n"
                "# torchrun --nproc-per-node %d train.py, with a DistributedSampler" % seen.device_count,
        "where": next((root.site for root in seen.roots), "")}
