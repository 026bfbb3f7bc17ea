// SPDX-License-Identifier: Apache-2.0
#include "doctor/rule.h"

#include <array>

#include "doctor/rules/rules.h"

namespace hone::doctor {

double Case::step_ns() const {
  if (steps() == 0) return 0;
  return static_cast<double>(facts.steps.steady_window.length()) / static_cast<double>(steps());
}

std::span<const RuleInfo> AllRules() {
  static constexpr std::array kRules = {
      RuleInfo{"observer-effect", "the recorder slows the program it watches", JudgeObserverEffect},
      RuleInfo{"input-bound", "the step waits for its batch", JudgeInputBound},
      RuleInfo{"worker-restart", "the loader's workers are started anew for every epoch",
               JudgeWorkerRestart},
      RuleInfo{"pageable-copy", "copies go through pageable memory", JudgePageableCopy},
      RuleInfo{"blocking-copy", "the host waits for copies to the device", JudgeBlockingCopy},
      RuleInfo{"copy-unoverlapped",
               "kernels wait for copies to the device that could run beside them",
               JudgeCopyUnoverlapped},
      RuleInfo{"transfer-bound", "copies between host and device take longer than all kernels",
               JudgeTransferBound},
      RuleInfo{"host-sync", "the host waits for results of the device in the step", JudgeHostSync},
      RuleInfo{"launch-bound", "the host launches kernels more slowly than the device runs them",
               JudgeLaunchBound},
      RuleInfo{"unfused-optimizer", "the optimizer launches many kernels for each parameter",
               JudgeUnfusedOptimizer},
      RuleInfo{"dense-embedding-gradients",
               "each step goes over whole embedding tables to change few of their rows",
               JudgeDenseEmbedding},
      RuleInfo{"unfused-elementwise",
               "chains of element-wise kernels move the same data again and again",
               JudgeUnfusedElementwise},
      RuleInfo{"no-tensor-cores", "matrix work runs without tensor cores", JudgeNoTensorCores},
      RuleInfo{"double-precision", "the steps compute in float64", JudgeDoublePrecision},
      RuleInfo{"layout-conversion",
               "tensors are converted between memory layouts around convolutions",
               JudgeLayoutConversion},
      RuleInfo{"slow-index-backward", "gradients of gathers are added up one repeat after another",
               JudgeSlowIndexBackward},
      RuleInfo{"naive-attention", "attention is spelled out in matmul and softmax",
               JudgeNaiveAttention},
      RuleInfo{"autotune-in-loop", "cuDNN searches for algorithms inside the steps",
               JudgeAutotuneInLoop},
      RuleInfo{"anomaly-mode", "autograd looks for NaN after every node of the backward pass",
               JudgeAnomalyMode},
      RuleInfo{"recompile", "torch.compile compiles again inside the steps", JudgeRecompile},
      RuleInfo{"small-batch", "kernels are too small to fill the device", JudgeSmallBatch},
      RuleInfo{"memory-pressure",
               "the allocator gives memory back and asks for it again to stay inside the device",
               JudgeMemoryPressure},
      RuleInfo{"memory-growth", "memory grows from step to step", JudgeMemoryGrowth},
      RuleInfo{"allocator-churn", "device memory is allocated and freed inside the steps",
               JudgeAllocatorChurn},
      RuleInfo{"fragmentation", "much of the reserved memory cannot be used", JudgeFragmentation},
      RuleInfo{"grad-in-inference", "inference records what a backward pass would need",
               JudgeGradInInference},
      RuleInfo{"unused-gradients", "the backward pass computes gradients that nobody uses",
               JudgeUnusedGradients},
      RuleInfo{"recomputed-activations",
               "the backward pass computes activations again that memory could keep",
               JudgeRecomputedActivations},
      RuleInfo{"missing-zero-grad", "gradients of all steps are added up", JudgeMissingZeroGrad},
      RuleInfo{"kv-cache-unused", "every new token computes the whole prefix again",
               JudgeKvCacheUnused},
      RuleInfo{"exposed-comm", "the device waits for communication", JudgeExposedComm},
      RuleInfo{"comm-unoverlapped", "communication and compute take turns", JudgeCommUnoverlapped},
      RuleInfo{"straggler", "one rank keeps the others waiting", JudgeStraggler},
      RuleInfo{"checkpoint-stall", "the step waits while a checkpoint is written",
               JudgeCheckpointStall},
      RuleInfo{"cpu-oversubscribed", "more threads want to run than there are cores",
               JudgeCpuOversubscribed},
      RuleInfo{"gpu-throttled", "the device runs below its clock", JudgeGpuThrottled},
      RuleInfo{"python-hotspot", "Python code takes the time, or operators beside the model do",
               JudgePythonHotspot},
  };
  return kRules;
}

}  // namespace hone::doctor
