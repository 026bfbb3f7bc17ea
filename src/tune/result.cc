// SPDX-License-Identifier: Apache-2.0
#include "tune/result.h"

namespace hone::tune {

std::string_view WordOf(Row::Fate fate) {
  switch (fate) {
    case Row::Fate::kAdopted: return "adopted";
    case Row::Fate::kNoGain: return "no gain";
    case Row::Fate::kSlower: return "slower";
    case Row::Fate::kRejected: return "rejected";
    case Row::Fate::kFailed: return "failed";
    case Row::Fate::kNoEffect: return "no effect";
    case Row::Fate::kReported: return "reported";
    case Row::Fate::kSuperseded: return "superseded";
    case Row::Fate::kNotTried: return "not tried";
  }
  return "";
}

}  // namespace hone::tune
