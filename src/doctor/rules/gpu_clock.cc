// SPDX-License-Identifier: Apache-2.0
#include "doctor/rules/gpu_clock.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/lower_case.h"

namespace hone::doctor {
namespace {

// Samples in the steady steps that must say so: a single one is a passing peak of power.
constexpr double kHeldShare = 0.10;
// A clock this far below the highest that the trace has seen, while the device is busy.
constexpr double kLowClock = 0.92;
// NVML's reasons that slow nobody down against his will: idle, clocks that were asked for, and
// clocks of a display.
constexpr std::uint64_t kHarmless = 0x1 | 0x2 | 0x100;
constexpr std::uint64_t kPowerCap = 0x4;
constexpr int kBits = 16;

struct Reason {
  std::uint64_t bits;
  const char* words;
};
constexpr std::array kReasons = {
    Reason{kPowerCap, "the power limit"},
    Reason{0x20 | 0x40, "heat"},
    Reason{0x80, "the power supply's brake"},
    Reason{0x8, "a slowdown of the hardware (heat or power)"},
    Reason{0x10, "the slowest of a group of devices"},
};

bool Has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

struct Series {
  enum Kind : std::uint8_t { kOther, kReasons, kFlag, kClock, kHighest } kind = kOther;
  std::uint64_t samples = 0, set = 0;
  std::array<std::uint64_t, kBits> bits{};
  std::vector<double> values;

  double share() const {
    return samples == 0 ? 0 : static_cast<double>(set) / static_cast<double>(samples);
  }
};

Series::Kind KindOf(std::string_view track, std::string_view series) {
  // The control group's: how long the processor was held back.
  if (series == "throttled_usec") return Series::kOther;
  const std::string name = LowerCase(track) + " " + LowerCase(series);
  if (Has(name, "throttle")) return Has(name, "reason") ? Series::kReasons : Series::kFlag;
  if (!Has(name, "clock") || Has(name, "mem")) return Series::kOther;
  return Has(name, "max_") ? Series::kHighest : Series::kClock;
}

void Take(Series& series, double value, bool busy) {
  if (series.kind == Series::kClock || series.kind == Series::kHighest) {
    if (busy || series.kind == Series::kHighest) series.values.push_back(value);
    return;
  }
  ++series.samples;
  const auto bits = static_cast<std::uint64_t>(std::min(value, 1e15));
  const bool set = series.kind == Series::kReasons ? (bits & ~kHarmless) != 0 : value > 0;
  if (set) ++series.set;
  for (std::size_t i = 0; i < kBits; ++i) series.bits[i] += bits >> i & 1U;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

using Track = std::map<std::string, Series, std::less<>>;  // by the series' names

GpuClock Judge(const std::string& name, Track& track) {
  GpuClock says;
  bool reasons = false;
  for (auto& [own, series] : track) {
    if (series.kind == Series::kHighest) {
      says.highest_mhz = std::max(says.highest_mhz, Mean(series.values));
    }
    if (series.samples == 0) continue;
    says.known = true;
    reasons = reasons || series.kind == Series::kReasons;
    if (series.share() < kHeldShare || series.share() < says.share) continue;
    says.held = true;
    says.share = series.share();
    says.series = name + (own.empty() ? "" : " " + own);
    if (series.kind != Series::kReasons) continue;
    for (std::size_t i = 0; i < kBits; ++i) {
      const double share =
          static_cast<double>(series.bits[i]) / static_cast<double>(series.samples);
      if (share >= kHeldShare) says.reasons |= std::uint64_t{1} << i;
    }
    says.reasons &= ~kHarmless;
  }
  for (auto& [own, series] : track) {
    if (series.kind != Series::kClock || series.values.size() < 2) continue;
    says.known = true;
    const double highest = *std::max_element(series.values.begin(), series.values.end());
    says.mhz = Mean(series.values);
    says.highest_mhz = std::max(says.highest_mhz, highest);
    const auto low = std::count_if(series.values.begin(), series.values.end(),
                                   [&](double value) { return value < kLowClock * highest; });
    const double share = static_cast<double>(low) / static_cast<double>(series.values.size());
    // Where the device says why, a low clock without a reason is one that nobody needed higher.
    if (reasons || share < kHeldShare || share < says.share) continue;
    says.held = true;
    says.share = share;
    says.series = name + (own.empty() ? "" : " " + own);
  }
  return says;
}

}  // namespace

bool GpuClock::only_power() const { return reasons == kPowerCap; }

double GpuClock::lost() const {
  return mhz > 0 && highest_mhz > 0 ? std::max(0.0, 1.0 - mhz / highest_mhz) : 0;
}

std::string GpuClock::WhatHolds() const {
  std::string words;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bits) == 0) continue;
    words += (words.empty() ? "" : " and ") + std::string(reason.words);
  }
  return words;
}

GpuClock AskGpuClock(const Case& the_case) {
  const trace::Trace& trace = the_case.trace;
  const trace::IntervalSet& window = the_case.facts.steps.steady_window;
  const trace::IntervalSet& busy = the_case.facts.timeline->main_device().busy;
  // A name is looked at once; most counters are none of these.
  std::map<std::pair<StringId, StringId>, Series*> known;
  std::map<std::string, Track> tracks;
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    const Nanos time = trace.counters.time_ns[i];
    const double value = trace.counters.value[i];
    if (!(value >= 0) || !window.Holds(time)) continue;
    const auto [at, fresh] =
        known.emplace(std::pair{trace.counters.track[i], trace.counters.series[i]}, nullptr);
    if (fresh) {
      const std::string_view track = trace.Name(trace.counters.track[i]);
      const std::string_view own = trace.Name(trace.counters.series[i]);
      const Series::Kind kind = KindOf(track, own);
      if (kind != Series::kOther) {
        at->second = &tracks[std::string(track)][std::string(own)];
        at->second->kind = kind;
      }
    }
    if (at->second != nullptr) Take(*at->second, value, busy.LengthWithin({time, time + 1}) > 0);
  }
  GpuClock worst;
  for (auto& [name, track] : tracks) {
    GpuClock says = Judge(name, track);
    const bool known_before = worst.known;
    if (says.share > worst.share || !known_before) worst = std::move(says);
    worst.known = worst.known || known_before;
  }
  return worst;
}

}  // namespace hone::doctor
