// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory_owners.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/grouping.h"
#include "analyze/memory_places.h"
#include "analyze/source_frame.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

// For each row of stack_frames the innermost place of the user's own code at or above it.
std::vector<StringId> UserPlaces(const Trace& trace) {
  const trace::StackFrames& frames = trace.stack_frames;
  std::vector<StringId> user(frames.size(), StringId::kEmpty);
  for (std::uint32_t f = 1; f < frames.size(); ++f) {  // callers stand before callees
    const bool own = IsUserFrame(ParseFrame(trace.Name(frames.place[f])));
    user[f] = own ? frames.place[f] : user[frames.caller[f]];
  }
  return user;
}

class LineIndex {
 public:
  explicit LineIndex(MemoryOwners& owners) : owners_(owners) { known_.emplace("", 0); }
  std::uint32_t Of(std::string_view line) {
    const auto next = static_cast<std::uint32_t>(owners_.lines.size());
    const auto [found, is_new] = known_.try_emplace(line, next);
    if (is_new) owners_.lines.push_back(line);
    return found->second;
  }

 private:
  MemoryOwners& owners_;
  std::unordered_map<std::string_view, std::uint32_t> known_;
};

// Steady steps but the last: what a step needs itself may live when the recording ends.
trace::Interval StepsBeforeLast(const Steps& steps) {
  if (steps.steady_count() < 2) return {};
  return {steps.steps[steps.warm_up_count].host_span.begin_ns,
          steps.steps.back().host_span.begin_ns};
}

template <typename Row>
void SortByPeak(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const MemoryUse& a, const MemoryUse& b) {
    if (a.live_at_peak != b.live_at_peak) return a.live_at_peak > b.live_at_peak;
    return a.allocated > b.allocated;
  });
}

}  // namespace

MemoryOwners FindOwners(const Trace& trace, const Lineage& lineage) {
  const trace::MemoryEvents& memory = trace.memory;
  MemoryOwners owners;
  owners.op.assign(memory.size(), StringId::kEmpty);
  owners.line.assign(memory.size(), 0);
  const std::vector<StringId> user_places = UserPlaces(trace);
  const std::vector<RowId> around = SlicesAroundMemory(trace);
  const CallSites sites(trace, lineage);
  LineIndex lines(owners);
  for (RowId i = 0; i < memory.size(); ++i) {
    const RowId op = around[i] == kNoRow ? kNoRow : lineage.op[around[i]];
    if (op != kNoRow) owners.op[i] = trace.host.name[op];
    if (memory.bytes[i] <= 0) continue;
    const StringId place = user_places[memory.frame[i]];
    if (place != StringId::kEmpty) {
      owners.line[i] = lines.Of(trace.Name(place));
    } else if (around[i] != kNoRow) {
      owners.line[i] = lines.Of(sites.Of(around[i]));
    }
  }
  return owners;
}

void AddOwners(const trace::MemoryEvents& memory, std::span<const RowId> events,
               const MemoryOwners& owners, std::size_t peak_index, const Steps& steps,
               DeviceMemory& out) {
  struct Block {
    Bytes bytes = 0;                 // 0: not live
    std::uint32_t op = 0, line = 0;  // rows of out
    Nanos time_ns = 0;               // of its allocation
  };
  const trace::Interval early = StepsBeforeLast(steps);
  GroupIndex names, places, addresses;
  std::vector<Block> blocks;  // by address
  const auto mark = [&](Bytes MemoryUse::*member, auto&& counts) {
    for (const Block& block : blocks) {
      if (block.bytes == 0 || !counts(block)) continue;
      for (MemoryUse* use : {static_cast<MemoryUse*>(&out.ops[block.op]),
                             static_cast<MemoryUse*>(&out.lines[block.line])}) {
        use->*member = SaturatingAdd(use->*member, block.bytes);
      }
    }
  };
  const auto mark_kept = [&] {
    mark(&MemoryUse::kept, [&](const Block& block) {
      return block.time_ns >= early.begin_ns && block.time_ns < early.end_ns;
    });
  };
  const Nanos window_end = steps.host_window.hull().end_ns;
  Bytes freed_unseen = 0;
  bool in_steps = true;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RowId event = events[i];
    if (in_steps && memory.time_ns[event] > window_end) {
      mark_kept();
      in_steps = false;
    }
    const Bytes bytes = memory.bytes[event];
    const std::uint32_t address = addresses.IdOf(memory.address[event]);
    if (address == blocks.size()) blocks.emplace_back();
    Block& block = blocks[address];
    if (bytes > 0) {
      block = {bytes, names.IdOf(static_cast<std::uint32_t>(owners.op[event])),
               places.IdOf(owners.line[event]), memory.time_ns[event]};
      if (block.op == out.ops.size()) out.ops.push_back({{}, owners.op[event]});
      if (block.line == out.lines.size()) {
        out.lines.push_back({{}, std::string(owners.lines[owners.line[event]])});
      }
      ++out.allocations;
      for (MemoryUse* use : {static_cast<MemoryUse*>(&out.ops[block.op]),
                             static_cast<MemoryUse*>(&out.lines[block.line])}) {
        ++use->allocations;
        use->allocated = SaturatingAdd(use->allocated, bytes);
      }
    } else if (bytes < 0) {
      ++out.frees;
      if (block.bytes == 0)
        freed_unseen = SaturatingAdd(freed_unseen, -std::max(bytes, -INT64_MAX));
      block.bytes = 0;
    }
    if (i == peak_index) {
      mark(&MemoryUse::live_at_peak, [](const Block&) { return true; });
    }
  }
  if (in_steps) mark_kept();
  if (out.relative) out.allocated_before = freed_unseen;
  SortByPeak(out.ops);
  // Nobody knows a line: no table, rather than one row of nothing.
  if (out.lines.size() == 1 && out.lines[0].line.empty()) out.lines.clear();
  SortByPeak(out.lines);
}

}  // namespace hone::analyze
