// SPDX-License-Identifier: Apache-2.0
// TraceSink: turns events and file-level fields into rows of a Trace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/kineto/category.h"
#include "import/kineto/device_tracks.h"
#include "import/kineto/event_parser.h"
#include "trace/builder.h"

namespace hone::importer::kineto {

class TraceSink final : public EventSink {
 public:
  explicit TraceSink(trace::Builder& builder);

  void OnEvent(RawEvent& event) override;
  void OnStray() override;
  void OnMetadata(std::string_view key, std::string_view json) override;

  // After the last event, before the builder is finished.
  void Settle();

  std::uint64_t events() const { return events_; }
  // Events that are something a profiler writes, against JSON that merely has the same shape.
  std::uint64_t recognized() const { return recognized_; }
  // Whether the file is the list of events that PyTorch's autograd profiler exports.
  bool of_autograd_profiler() const;

 private:
  Category CategoryOf(std::string_view text);

  void OnComplete(RawEvent& event);
  bool HasUsableTime(RawEvent& event);
  void OnInstant(RawEvent& event);
  void OnCounter(RawEvent& event);
  void OnNameRecord(const RawEvent& event);
  void OnBegin(RawEvent& event);
  void OnEnd(RawEvent& event);
  void CountUnknown(const RawEvent& event);
  void CountUnclosed();
  void CountUnreadDevice();
  trace::SliceInput SliceOf(const RawEvent& event, trace::SliceKind kind);
  void AddWork(const RawEvent& event, Category category);
  void AddSync(const RawEvent& event);

  StringId InternRaw(std::string_view raw);
  StringId InternPythonName(std::string_view raw);
  std::uint16_t ThreadOf(const RawEvent& event);
  std::uint16_t StreamOf(const RawEvent& event);
  std::uint32_t DetailOf(const RawEvent& event);
  std::uint32_t CollectiveOf(const RawEvent& event);
  std::uint32_t LaunchOf(const RawEvent& event);

  trace::Builder& builder_;
  trace::Trace& trace_;
  DeviceTracks tracks_;
  std::uint64_t events_ = 0, recognized_ = 0;
  std::array<std::pair<std::string, Category>, 8> recent_categories_{};
  std::size_t next_recent_ = 0;
  // What a copy's name says, decided once per distinct name.
  struct CopyTraits {
    trace::CopyDirection direction;
    trace::MemoryKind source, target;
  };
  std::unordered_map<std::uint32_t, CopyTraits> copies_;
  // Names with escapes or other things to clean, by the id of their raw text.
  std::unordered_map<std::uint32_t, StringId> cleaned_;
  std::string scratch_;
  // Slices that have begun ("B") and not ended, innermost last, by thread.
  struct OpenSlice {
    trace::SliceInput slice;
    bool recognized, kept;
  };
  std::vector<std::vector<OpenSlice>> open_;
  bool inside_ = false;  // of a document in a field of the file's own
};

}  // namespace hone::importer::kineto
