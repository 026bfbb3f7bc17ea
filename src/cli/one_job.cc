// SPDX-License-Identifier: Apache-2.0
#include "cli/one_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace hone::cli {
namespace {

using report::Input;

constexpr const char* kWayOut = "comparisons of ranks may mean nothing; analyze one job at a time";
// Ranks of one job are recorded in the same steps; machines' clocks differ by less than this.
constexpr Nanos kApart = 3'600 * kSecond;
// Before this, a time counts from a boot or from the first event, and cannot be compared.
constexpr Nanos kYear2000 = 946'684'800 * kSecond;

std::string NameOf(const Input& input) {
  const trace::TraceInfo& info = input.trace.info;
  return info.rank >= 0 ? fmt::format("rank {}", info.rank)
                        : std::filesystem::path(info.path).filename().string();
}

// "they say different world sizes (rank 0: 2, rank 1: 8)" of the first two that differ.
template <typename Value>
void Differ(const std::vector<Input>& inputs, const char* what, const Value& value,
            std::vector<std::string>& doubts) {
  const Input* first = nullptr;
  for (const Input& input : inputs) {
    const std::string own = value(input);
    if (own.empty()) continue;
    if (first == nullptr) first = &input;
    const std::string other = value(*first);
    if (own == other) continue;
    doubts.push_back(fmt::format("the {} traces name different {} ({}: {}, {}: {}); {}",
                                 inputs.size(), what, NameOf(*first), other, NameOf(input), own,
                                 kWayOut));
    return;
  }
}

std::string FileOf(const Input& input) {
  return std::filesystem::path(input.trace.info.path).filename().string();
}

void RankTwice(const std::vector<Input>& inputs, std::vector<std::string>& doubts) {
  std::map<std::int64_t, const Input*> seen;
  for (const Input& input : inputs) {
    if (input.trace.info.rank < 0) continue;
    const auto [found, added] = seen.emplace(input.trace.info.rank, &input);
    if (added) continue;
    doubts.push_back(fmt::format("{} and {} both are rank {} of {} traces; {}",
                                 FileOf(*found->second), FileOf(input), input.trace.info.rank,
                                 inputs.size(), kWayOut));
    return;
  }
}

void RankTooHigh(const std::vector<Input>& inputs, std::vector<std::string>& doubts) {
  for (const Input& input : inputs) {
    const trace::TraceInfo& info = input.trace.info;
    if (info.world_size <= 0 || info.rank < info.world_size) continue;
    doubts.push_back(fmt::format("{} says that it is rank {} of {}, which number from 0; {}",
                                 FileOf(input), info.rank, info.world_size, kWayOut));
    return;
  }
}

void FarApart(const std::vector<Input>& inputs, std::vector<std::string>& doubts) {
  const Input *first = nullptr, *last = nullptr;
  const auto begin = [](const Input& input) {
    return input.trace.info.base_time_ns + input.facts.steps.steady_window.hull().begin_ns;
  };
  for (const Input& input : inputs) {
    if (begin(input) < kYear2000) continue;
    if (first == nullptr || begin(input) < begin(*first)) first = &input;
    if (last == nullptr || begin(input) > begin(*last)) last = &input;
  }
  if (first == nullptr || begin(*last) - begin(*first) < kApart) return;
  doubts.push_back(fmt::format("{} was recorded {} after {}; {}", NameOf(*last),
                               HumanDuration(begin(*last) - begin(*first)), NameOf(*first),
                               kWayOut));
}

std::string DeviceOf(const Input& input) {
  const auto& devices = input.trace.devices;
  if (!input.facts.timeline) return "";
  const trace::RowId row = input.facts.timeline->main_device().device;
  return row < devices.size() ? devices[row].name : "";
}

// Of several: one trace alone says so where it matters, as it is the usual thing to look at.
void Missing(const std::vector<Input>& inputs, std::vector<std::string>& doubts) {
  const std::int64_t size = inputs.front().trace.info.world_size;
  std::set<std::int64_t> given;
  for (const Input& input : inputs) {
    if (input.trace.info.world_size != size || input.trace.info.rank < 0) return;
    given.insert(input.trace.info.rank);
  }
  // Ranks that are there twice, or too high, are another doubt.
  if (given.size() < inputs.size() || *given.rbegin() >= size) return;
  if (size <= static_cast<std::int64_t>(given.size())) return;
  std::string missing;
  std::int64_t count = 0;
  for (std::int64_t rank = 0; rank < size && count < 4; ++rank) {
    if (given.contains(rank)) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    ++count;
  }
  const std::int64_t absent = size - static_cast<std::int64_t>(given.size());
  doubts.push_back(fmt::format(
      "{} of the job's {} ranks were given, {} {}{} {} missing: waiting for {} cannot be told from "
      "slow links; add {}",
      given.size(), size, absent == 1 ? "rank" : "ranks", missing, absent > count ? ", …" : "",
      absent == 1 ? "is" : "are", absent == 1 ? "it" : "them",
      absent == 1 ? "its trace" : "their traces"));
}

}  // namespace

std::vector<std::string> DoubtOneJob(const std::vector<Input>& inputs) {
  std::vector<std::string> doubts;
  if (inputs.size() < 2) return doubts;
  Differ(
      inputs, "world sizes",
      [](const Input& input) {
        const std::int64_t size = input.trace.info.world_size;
        return size > 0 ? fmt::format("{}", size) : std::string();
      },
      doubts);
  RankTwice(inputs, doubts);
  RankTooHigh(inputs, doubts);
  Missing(inputs, doubts);
  Differ(inputs, "devices", DeviceOf, doubts);
  FarApart(inputs, doubts);
  return doubts;
}

}  // namespace hone::cli
