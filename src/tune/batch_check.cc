// SPDX-License-Identifier: Apache-2.0
#include "tune/batch_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::tune {
namespace {

// Random data has the same middle and spread within this part of its spread, or three times what
// the program's own runs differ by. 64 batches of a thousand values scatter by 0.4 %.
constexpr double kAlike = 0.05, kOwnSpread = 3;

// Differ where all of the program's own runs, with as many batches, agree.
bool Differ(const std::vector<const Batches*>& own, const Batches& batches,
            std::string Batches::*sum) {
  if (own.empty() || own[0]->*sum == "") return false;
  for (const Batches* one : own) {
    if (one->*sum != own[0]->*sum) return false;
  }
  return batches.*sum != own[0]->*sum;
}

std::string CompareValues(const std::vector<const Batches*>& own, const Batches& batches) {
  double mean = 0, stdev = 0, mean_gap = 0, stdev_gap = 0;
  for (const Batches* one : own) {
    mean += one->mean / static_cast<double>(own.size());
    stdev += one->stdev / static_cast<double>(own.size());
  }
  for (const Batches* one : own) {
    mean_gap = std::max(mean_gap, std::abs(one->mean - mean));
    stdev_gap = std::max(stdev_gap, std::abs(one->stdev - stdev));
  }
  const auto far = [&](double value, double usual, double gap) {
    return !(std::abs(value - usual) <= kAlike * stdev + kOwnSpread * gap);
  };
  if (!far(batches.mean, mean, mean_gap) && !far(batches.stdev, stdev, stdev_gap)) return "";
  return fmt::format(
      "its data has mean {:.4g} and spread {:.4g}, the program's own {:.4g} and {:.4g}",
      batches.mean, batches.stdev, mean, stdev);
}

}  // namespace

std::string CompareBatches(const std::vector<Trial>& same_seed, const Trial& trial,
                           bool& drawn_anew) {
  drawn_anew = false;
  std::vector<const Batches*> all, as_many;
  bool random = false, random_labels = false;
  for (const Trial& own : same_seed) {
    if (!own.batches || own.batches->count == 0) continue;
    all.push_back(&*own.batches);
    random = random || own.batches->random;
    random_labels = random_labels || own.batches->random_labels;
    if (trial.batches && own.batches->count == trial.batches->count) {
      as_many.push_back(&*own.batches);
    }
  }
  if (all.empty()) return "";
  if (!trial.batches || trial.batches->count == 0) return "no batch of its loader was seen";
  if (Differ(as_many, *trial.batches, &Batches::order)) {
    return "its samples come in another order than in the program as it is";
  }
  if (!random_labels && Differ(as_many, *trial.batches, &Batches::labels)) {
    return "its batches have other labels (integer values) than the program as it is";
  }
  const bool other_content = Differ(as_many, *trial.batches, &Batches::content);
  drawn_anew = random && (other_content || as_many.empty());
  if (other_content && !random) {
    return "its batches have other content than the program as it is";
  }
  return CompareValues(all, *trial.batches);
}

}  // namespace hone::tune
