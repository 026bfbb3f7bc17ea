// SPDX-License-Identifier: Apache-2.0
// Judges of all rules, one file each. See doctor/rule.h for the contract.
#pragma once

#include <vector>

#include "doctor/rule.h"

namespace hone::doctor {

Judgement JudgeObserverEffect(const Case& the_case);
Judgement JudgeInputBound(const Case& the_case);
Judgement JudgeWorkerRestart(const Case& the_case);
Judgement JudgePageableCopy(const Case& the_case);
Judgement JudgeBlockingCopy(const Case& the_case);
Judgement JudgeCopyUnoverlapped(const Case& the_case);
Judgement JudgeTransferBound(const Case& the_case);
Judgement JudgeHostSync(const Case& the_case);
Judgement JudgeLaunchBound(const Case& the_case);
Judgement JudgeUnfusedOptimizer(const Case& the_case);
Judgement JudgeDenseEmbedding(const Case& the_case);
Judgement JudgeUnfusedElementwise(const Case& the_case);
Judgement JudgeNoTensorCores(const Case& the_case);
Judgement JudgeDoublePrecision(const Case& the_case);
Judgement JudgeLayoutConversion(const Case& the_case);
Judgement JudgeSlowIndexBackward(const Case& the_case);
Judgement JudgeNaiveAttention(const Case& the_case);
Judgement JudgeAutotuneInLoop(const Case& the_case);
Judgement JudgeAnomalyMode(const Case& the_case);
Judgement JudgeRecompile(const Case& the_case);
Judgement JudgeSmallBatch(const Case& the_case);
Judgement JudgeMemoryPressure(const Case& the_case);
Judgement JudgeMemoryGrowth(const Case& the_case);
Judgement JudgeAllocatorChurn(const Case& the_case);
Judgement JudgeFragmentation(const Case& the_case);
Judgement JudgeGradInInference(const Case& the_case);
Judgement JudgeUnusedGradients(const Case& the_case);
Judgement JudgeRecomputedActivations(const Case& the_case);
Judgement JudgeMissingZeroGrad(const Case& the_case);
Judgement JudgeKvCacheUnused(const Case& the_case);
Judgement JudgeExposedComm(const Case& the_case);
Judgement JudgeCommUnoverlapped(const Case& the_case);
Judgement JudgeStraggler(const Case& the_case);
Judgement JudgeCheckpointStall(const Case& the_case);
Judgement JudgeCpuOversubscribed(const Case& the_case);
Judgement JudgeGpuThrottled(const Case& the_case);
Judgement JudgePythonHotspot(const Case& the_case);
// After all others: `others` as they were ranked.
Judgement JudgeHealthy(const Case& the_case, const std::vector<Finding>& others);

}  // namespace hone::doctor
