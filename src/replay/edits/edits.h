// SPDX-License-Identifier: Apache-2.0
// Finders of all edits, one file each. See replay/edit.h for the contract.
#pragma once

#include <memory>

#include "base/known.h"
#include "replay/edit.h"

namespace hone::replay {

using FoundEdit = Known<std::unique_ptr<Edit>>;

FoundEdit FindObserver(const Model& model);
FoundEdit FindInputBound(const Model& model);
FoundEdit FindWorkerRestart(const Model& model);
FoundEdit FindCheckpointStall(const Model& model);
FoundEdit FindCpuOversubscribed(const Model& model);
FoundEdit FindPythonHotspot(const Model& model);
FoundEdit FindAnomalyMode(const Model& model);
FoundEdit FindRecompile(const Model& model);
FoundEdit FindAutotune(const Model& model);
FoundEdit FindAllocatorChurn(const Model& model);
FoundEdit FindPageableCopy(const Model& model);
FoundEdit FindBlockingCopy(const Model& model);
FoundEdit FindCopyUnoverlapped(const Model& model);
FoundEdit FindTransferBound(const Model& model);
FoundEdit FindHostSync(const Model& model);
FoundEdit FindGradInInference(const Model& model);
FoundEdit FindUnusedGradients(const Model& model);
FoundEdit FindRecomputedActivations(const Model& model);
FoundEdit FindKvCache(const Model& model);
FoundEdit FindDoublePrecision(const Model& model);
FoundEdit FindBf16Autocast(const Model& model);
FoundEdit FindFp16Autocast(const Model& model);
FoundEdit FindNaiveAttention(const Model& model);
FoundEdit FindNoTensorCores(const Model& model);
FoundEdit FindLayoutConversion(const Model& model);
FoundEdit FindSlowIndexBackward(const Model& model);
FoundEdit FindUnfusedElementwise(const Model& model);
FoundEdit FindDenseEmbedding(const Model& model);
FoundEdit FindUnfusedOptimizer(const Model& model);
FoundEdit FindSmallBatch(const Model& model);
FoundEdit FindCommUnoverlapped(const Model& model);
FoundEdit FindExposedComm(const Model& model);
FoundEdit FindLaunchBound(const Model& model);
FoundEdit FindStraggler(const Model& model);

}  // namespace hone::replay
