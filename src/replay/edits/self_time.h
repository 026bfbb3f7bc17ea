// SPDX-License-Identifier: Apache-2.0
// SelfTime: by recorded Python frames, when which function of the user's was what ran.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/edits/host_pauses.h"
#include "replay/model.h"

namespace hone::replay {

// Frames of frameworks (dispatch, modules, optimizers) run the model; built-ins belong to the
// function that calls them.
enum class FrameKind : std::uint8_t { kUnseen, kBuiltin, kFramework, kLibrary, kUser };
FrameKind KindOfFrame(std::string_view name);

// Of one function, in which nothing else is the innermost thing that runs.
struct Piece {
  StringId name;
  trace::Interval span;
  // Where the function only waits: the frame that does, the outermost (queue.get, not the lock in
  // it). `name` is then who called it.
  StringId wait = StringId::kEmpty;
};

// Of the steps' thread, inside the graph's window.
class SelfTime {
 public:
  explicit SelfTime(const Model& model);

  // Once; what follows is known only then. Linear in the thread's rows but for the libraries' map.
  std::vector<Piece> Collect();

  FrameKind KindOf(StringId name) const { return kinds_[static_cast<std::uint32_t>(name)]; }
  // The library's function that this one calls and that takes most of its time; kNoRow: none.
  trace::RowId LibraryOf(StringId name) const;
  // Its longest call, and how many there are in the window; of waiting frames too.
  trace::RowId Longest(StringId name) const { return longest_[static_cast<std::uint32_t>(name)]; }
  std::uint64_t Calls(StringId name) const { return calls_[static_cast<std::uint32_t>(name)]; }

 private:
  struct Open {
    trace::RowId row;
    std::size_t owner;  // place in open_ of the function that the time inside belongs to
    Nanos at_ns;        // of a function: from where its time is open
    Nanos end_ns;
    StringId name, wait;  // of its pieces
    bool copies;          // copy.deepcopy that the user called, or what runs in it
  };

  bool Counts(trace::RowId i) const;
  bool Waits(StringId name);
  bool Copies(trace::RowId i, std::size_t around) const;
  Open OpenOf(trace::RowId i, std::size_t around);
  std::size_t Owner(trace::RowId i, std::size_t around);
  void Note(trace::RowId i);
  bool BeganInStep(trace::RowId function, trace::RowId inside);
  void NoteLibrary(trace::RowId caller, trace::RowId function);
  void Pop();
  void Close(const Open& function, Nanos end);

  const Model& model_;
  const trace::HostSlices& host_;
  const HostRowSet others_, computes_;
  std::vector<FrameKind> kinds_;       // by StringId
  std::vector<std::uint8_t> waits_;    // by StringId: 0 unseen, 1 no, 2 yes
  std::vector<trace::RowId> longest_;  // by StringId
  std::vector<std::uint64_t> calls_;   // by StringId
  // By caller, then by function: one of its slices, and the time of all, what it calls included.
  std::map<StringId, std::map<StringId, std::pair<trace::RowId, Nanos>>> libraries_;
  std::size_t step_ = 0;
  std::vector<Open> open_;  // what runs, outermost first
  std::vector<Piece> pieces_;
};

}  // namespace hone::replay
