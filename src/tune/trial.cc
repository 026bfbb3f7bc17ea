// SPDX-License-Identifier: Apache-2.0
#include "tune/trial.h"

#include <algorithm>

namespace hone::tune {

std::string_view WordOf(Risk risk) {
  switch (risk) {
    case Risk::kExact: return "exact";
    case Risk::kNumeric: return "numeric";
    case Risk::kOptimization: return "optimization";
  }
  return "";
}

std::string_view WordOf(Ending ending) {
  switch (ending) {
    case Ending::kFine: return "fine";
    case Ending::kOutOfMemory: return "out of memory";
    case Ending::kError: return "error";
    case Ending::kKilled: return "killed";
    case Ending::kHang: return "hang";
    case Ending::kNoSteps: return "no steps";
    case Ending::kRecompiling: return "recompiling";
    case Ending::kInterrupted: return "interrupted";
  }
  return "";
}

bool Contains(const Recipe& recipe, const Choice& choice) {
  return std::find(recipe.begin(), recipe.end(), choice) != recipe.end();
}

std::string KeyOf(Recipe recipe) {
  std::sort(recipe.begin(), recipe.end(), [](const Choice& a, const Choice& b) {
    return a.treatment != b.treatment ? a.treatment < b.treatment : a.options < b.options;
  });
  std::string key;
  for (const Choice& choice : recipe) key += choice.treatment + ' ' + choice.options + '\n';
  return key;
}

}  // namespace hone::tune
