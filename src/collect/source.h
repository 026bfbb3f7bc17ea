// SPDX-License-Identifier: Apache-2.0
// Source: one kind of thing that the recorder sees (operators, CUDA, memory, Python, …), and
// Output, where its rows go.
//
// The recorder is a guest in someone's program. Every function here is noexcept; a source that
// cannot work says why once by Output::Loss and stays off. A source collects on the program's
// threads into memory it got from the budget (collect/budget.h), and hands rows over in Drain,
// which only the writer thread calls: encoding, compression and disk never happen on the program's
// threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/chunk_builder.h"

namespace hone::collect {

class Output {
 public:
  // The builder for rows of this table. Do not keep it: it is written and cleared when it is full
  // (NextRow looks) and after every round.
  virtual wire::ChunkBuilder& Rows(wire::Table table) noexcept = 0;

  template <typename... Values>
  void Row(wire::Table table, const Values&... values) noexcept {
    wire::ChunkBuilder& rows = Rows(table);
    rows.Row(values...);
    if (rows.bytes() >= kChunkBytes) Write(rows);
  }

  // Something could not be recorded. `what` is one of a small fixed set ("operators", "kernels");
  // `detail` says why and what to do, as a person would read it.
  virtual void Loss(std::string_view what, std::uint64_t count,
                    std::string_view detail) noexcept = 0;

  static constexpr std::size_t kChunkBytes = 256u << 10;  // before compression

 protected:
  ~Output() = default;
  virtual void Write(wire::ChunkBuilder& rows) noexcept = 0;
};

class Source {
 public:
  virtual const char* name() const noexcept = 0;  // as in HONE_COLLECT
  // A window begins or ends. Called on the writer thread or on the thread that noticed; never two
  // calls at once. After Close nothing of this source may cost the program anything.
  virtual void Open() noexcept = 0;
  virtual void Close() noexcept = 0;
  // Hands over what is complete. Writer thread only. `last`: the process ends or the window closed;
  // hand over everything that will ever come, waiting at most a second for stragglers.
  virtual void Drain(Output& output, bool last) noexcept = 0;
  // In the child of a fork, where only the forking thread is alive and locks may be held by nobody:
  // drop what was the parent's, take no lock, free nothing. Not called for sources added later.
  virtual void Forked() noexcept = 0;

 protected:
  ~Source() = default;
};

// Sources register once, at any time, from any thread; they live for ever. When a window is open,
// Open is called before this returns.
void AddSource(Source& source) noexcept;

// Whether a window is open; what hot paths look at first. Relaxed.
bool Recording() noexcept;
// Whether steps are still to be seen after a window closed: to be timed, or because it comes back.
bool StepsMatterAfterClose() noexcept;
// Whether HONE_COLLECT allows this source.
bool Wanted(std::string_view source) noexcept;

}  // namespace hone::collect
