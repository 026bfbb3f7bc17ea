// SPDX-License-Identifier: Apache-2.0
#include "replay/edit.h"

#include <algorithm>
#include <array>

#include "replay/edits/edits.h"

namespace hone::replay {

std::span<const EditInfo> AllEdits() {
  static constexpr std::array kEdits = {
      EditInfo{"observer-effect", "nobody records the program", FindObserver},
      EditInfo{"input-bound", "worker processes make the batches", FindInputBound},
      EditInfo{"worker-restart", "workers live through all epochs", FindWorkerRestart},
      EditInfo{"checkpoint-stall",
               "checkpoints are written in the background, without a device half as often",
               FindCheckpointStall},
      EditInfo{"python-hotspot", "the hottest Python function takes no time", FindPythonHotspot},
      EditInfo{"cpu-oversubscribed", "a process has no more threads than there are cores",
               FindCpuOversubscribed},
      EditInfo{"anomaly-mode", "autograd looks for no NaN and keeps no stacks", FindAnomalyMode},
      EditInfo{"recompile", "nothing is compiled inside the steps", FindRecompile},
      EditInfo{"autotune-in-loop", "cuDNN's choice is kept from step to step", FindAutotune},
      EditInfo{"allocator-churn", "no device memory is allocated or freed inside the steps",
               FindAllocatorChurn},
      EditInfo{"pageable-copy", "copies use pinned memory, and nobody waits for batches",
               FindPageableCopy},
      EditInfo{"blocking-copy", "copies from pinned memory do not hold the host", FindBlockingCopy},
      EditInfo{"copy-unoverlapped", "batches are copied beside the kernels of the step before",
               FindCopyUnoverlapped},
      EditInfo{"transfer-bound", "half as many bytes are copied between host and device",
               FindTransferBound},
      EditInfo{"host-sync", "the host does not wait for results in the step", FindHostSync},
      EditInfo{"grad-in-inference", "inference builds no autograd graph", FindGradInInference},
      EditInfo{"unused-gradients", "parameters that nobody updates get no gradient",
               FindUnusedGradients},
      // Before what changes kernels, so that none of it counts what goes.
      EditInfo{"recomputed-activations", "activations are kept for the backward pass",
               FindRecomputedActivations},
      EditInfo{"kv-cache-unused", "every step computes one token", FindKvCache},
      EditInfo{"double-precision", "float32 takes the place of float64", FindDoublePrecision},
      EditInfo{"bf16-autocast", "the forward pass runs under autocast in bfloat16",
               FindBf16Autocast, true},
      // Where the device has no TF32, no-tensor-cores asks for it.
      EditInfo{"fp16-autocast",
               "the forward pass runs under autocast in float16, the loss is scaled",
               FindFp16Autocast, true, true},
      EditInfo{"naive-attention", "attention runs as one fused kernel", FindNaiveAttention},
      EditInfo{"no-tensor-cores", "matrix work runs on tensor cores", FindNoTensorCores},
      EditInfo{"layout-conversion", "tensors keep the layout that kernels want",
               FindLayoutConversion},
      EditInfo{"slow-index-backward", "gradients of gathers are added up in parallel",
               FindSlowIndexBackward},
      EditInfo{"unfused-elementwise", "chains of element-wise kernels become one",
               FindUnfusedElementwise},
      // Before what makes the rest of an optimizer faster.
      EditInfo{"dense-embedding-gradients",
               "gradients of embedding tables hold only the rows that were looked up",
               FindDenseEmbedding},
      EditInfo{"unfused-optimizer", "the optimizer runs as a few large kernels",
               FindUnfusedOptimizer},
      // Behind what changes kernels, because it grows what they leave; before communication, which
      // then has more compute to hide behind.
      EditInfo{"small-batch", "a step takes more samples at once", FindSmallBatch, false, false},
      EditInfo{"comm-unoverlapped", "communication hides behind compute", FindCommUnoverlapped},
      EditInfo{"exposed-comm",
               "communication hides behind compute, and half of the rest is saved; one message "
               "takes the place of many small ones",
               FindExposedComm},
      EditInfo{"launch-bound", "a step is launched as a whole", FindLaunchBound},
      // Last: it bounds the step that the others leave.
      EditInfo{"straggler", "no rank is later than the others", FindStraggler},
  };
  return kEdits;
}

const EditInfo* FindEdit(std::string_view id) {
  const std::span<const EditInfo> edits = AllEdits();
  const auto found =
      std::find_if(edits.begin(), edits.end(), [&](const EditInfo& info) { return info.id == id; });
  return found == edits.end() ? nullptr : &*found;
}

}  // namespace hone::replay
