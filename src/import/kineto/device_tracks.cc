// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/device_tracks.h"

#include <algorithm>
#include <set>

namespace hone::importer::kineto {
namespace {

using trace::RowId;

// Far above the numbers of real devices, so that no number in the file names one of these.
constexpr std::int64_t kSharedKeys = std::int64_t{1} << 30;
// Text ids in one map with numbers, far away from any real process id.
constexpr std::int64_t kTextIds = INT64_MIN / 2;

}  // namespace

std::string RankOf(std::string_view process_id) {
  const std::size_t digits = process_id.find_last_not_of("0123456789") + 1;
  if (digits == process_id.size()) return {};
  std::string_view rank = process_id.substr(0, digits);
  while (!rank.empty() && rank.back() == ' ') rank.remove_suffix(1);
  return std::string(rank);
}

const DeviceTracks::Track& DeviceTracks::TrackFor(const IdValue& pid, std::int64_t device) {
  if (last_ != SIZE_MAX && tracks_[last_].number == device && pid.form == last_form_ &&
      pid.number == last_pid_ && pid.text == last_text_) {
    return tracks_[last_];
  }
  last_form_ = pid.form;
  last_pid_ = pid.number;
  last_text_ = pid.text;
  const auto first = first_.find(device);
  if (first != first_.end() && !pid.present()) {
    last_ = first->second;
    return tracks_[last_];
  }
  const std::int64_t id = pid.form == IdValue::Form::kText
                              ? kTextIds + static_cast<std::int64_t>(builder_.Intern(pid.text))
                              : pid.number;
  const auto [known, added] = by_id_.try_emplace({id, device}, tracks_.size());
  last_ = known->second;
  if (added) {
    const bool shared = !first_.try_emplace(device, last_).second;
    const auto row = static_cast<std::int64_t>(last_);
    tracks_.push_back({RankOf(pid.text), device, shared ? kSharedKeys + row : device, shared});
  }
  return tracks_[last_];
}

std::uint16_t DeviceTracks::StreamFor(const IdValue& pid, std::int64_t device,
                                      std::int64_t stream) {
  return builder_.StreamFor(TrackFor(pid, device).key, stream);
}

void DeviceTracks::Settle() {
  if (tracks_.size() < 2) return;
  Number();
  JoinRanks();
  CountRanks();
}

// The next numbers that are free, in the order of the file. Of its hardware the file says at most
// what the device of that number in one of the ranks is; the others are taken to be like it.
void DeviceTracks::Number() {
  std::vector<trace::Device>& devices = builder_.trace().devices;
  std::set<std::int64_t> taken;
  for (const trace::Device& device : devices) taken.insert(device.id);
  std::int64_t next = 0;
  for (const Track& track : tracks_) {
    if (!track.shared) continue;
    while (taken.contains(next)) ++next;
    const RowId like = builder_.DeviceFor(track.number), row = builder_.DeviceFor(track.key);
    devices[row] = devices[like];
    devices[row].id = next++;
  }
}

// A rank's host process is the one whose id begins as that of the rank's track and that made the
// most calls.
void DeviceTracks::JoinRanks() {
  trace::Trace& trace = builder_.trace();
  std::vector<std::uint64_t> calls(trace.processes.size(), 0);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] == trace::SliceKind::kApi) {
      ++calls[trace.threads[trace.host.thread[i]].process];
    }
  }
  std::map<std::string, RowId> processes;
  for (RowId row = 0; row < trace.processes.size(); ++row) {
    if (trace.processes[row].pid != -1 || calls[row] == 0) continue;
    const std::string rank = RankOf(trace.processes[row].name);
    if (rank.empty()) continue;
    const auto [found, added] = processes.emplace(rank, row);
    if (!added && calls[row] > calls[found->second]) found->second = row;
  }
  if (processes.size() < 2) return;
  std::unordered_map<RowId, RowId> process_of;  // by device
  for (const Track& track : tracks_) {
    const auto found = processes.find(track.rank);
    if (found != processes.end()) process_of[builder_.DeviceFor(track.key)] = found->second;
  }
  for (trace::Stream& stream : trace.streams) {
    const auto found = process_of.find(stream.device);
    if (found != process_of.end()) stream.process = found->second;
  }
  MoveMemory(processes);
}

// Allocator records name the device as their program numbers it, too.
void DeviceTracks::MoveMemory(const std::map<std::string, RowId>& processes) {
  trace::Trace& trace = builder_.trace();
  std::map<std::pair<RowId, std::int64_t>, std::int64_t> moved;  // (process, number) -> new number
  for (const Track& track : tracks_) {
    const auto found = processes.find(track.rank);
    if (!track.shared || found == processes.end()) continue;
    moved[{found->second, track.number}] = trace.devices[builder_.DeviceFor(track.key)].id;
  }
  trace::MemoryEvents& memory = trace.memory;
  for (RowId i = 0; i < memory.size() && !moved.empty(); ++i) {
    if (memory.device_type[i] == trace::MemoryDevice::kHost) continue;
    const auto found = moved.find({trace.threads[memory.thread[i]].process, memory.device_id[i]});
    if (found != moved.end()) memory.device_id[i] = static_cast<std::int16_t>(found->second);
  }
}

// As many as tracks with work that share a number, or as host processes that tracks name.
void DeviceTracks::CountRanks() {
  trace::Trace& trace = builder_.trace();
  std::vector<bool> works(trace.devices.size(), false);
  std::set<RowId> processes;
  for (const std::uint16_t row : trace.device.stream) {
    const trace::Stream& stream = trace.streams[row];
    works[stream.device] = true;
    if (stream.process != trace::kNoRow) processes.insert(stream.process);
  }
  std::unordered_map<std::int64_t, std::uint64_t> tracks;  // with work, by device number
  std::uint64_t ranks = processes.size();
  for (const Track& track : tracks_) {
    if (works[builder_.DeviceFor(track.key)]) ranks = std::max(ranks, ++tracks[track.number]);
  }
  if (ranks < 2) return;
  const auto devices = static_cast<std::uint64_t>(std::count(works.begin(), works.end(), true));
  trace.losses.Add(LossKind::kMergedRanks, ranks, 0,
                   "one job of " + std::to_string(devices) + " devices");
}

}  // namespace hone::importer::kineto
