// SPDX-License-Identifier: Apache-2.0
#include "export/input_losses.h"

namespace hone::exporter {

std::vector<LossKind> InputLosses(const LossLog& losses) {
  constexpr LossKind kOfTheInput[] = {LossKind::kTruncatedInput,
                                      LossKind::kDamagedCompression,
                                      LossKind::kUnreadableEvent,
                                      LossKind::kBadTime,
                                      LossKind::kNegativeDuration,
                                      LossKind::kUnknownEvent,
                                      LossKind::kImplausibleDuration,
                                      LossKind::kImplausibleEnd,
                                      LossKind::kFarTime,
                                      LossKind::kMissingTable,
                                      LossKind::kDroppedByRecorder,
                                      LossKind::kDamagedChunk,
                                      LossKind::kProcessKilled,
                                      LossKind::kRecordingGap,
                                      LossKind::kNotRecorded};
  std::vector<LossKind> found;
  for (const LossKind kind : kOfTheInput) {
    if (losses[kind].count > 0) found.push_back(kind);
  }
  return found;
}

}  // namespace hone::exporter
