// SPDX-License-Identifier: Apache-2.0
// The events of one rank as Chrome's JSON. Internal to export/chrome.
//
// The fields are those of the PyTorch profiler, so that whatever reads its files reads these: hone
// itself gets the same rows back. What stands for display alone is of category "Trace", which
// readers of such files pass over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "export/argument_text.h"
#include "export/exported.h"
#include "export/lanes.h"
#include "export/process_ids.h"
#include "export/row_clock.h"
#include "export/text_output.h"

namespace hone::exporter {

class ChromeRank {
 public:
  // `shift_ns` is added to every time: ranks have clocks of their own.
  ChromeRank(const Exported& rank, Nanos shift_ns, ProcessIds& ids, TextOutput& out);

  // Every event; `first` says that nothing stands in the list yet.
  void Write(bool first);

  // "stackFrames" and "samples", which stand beside the list of events.
  void WriteSamples();

 private:
  struct Head {
    char phase;
    std::string_view category, name;
    Nanos time_ns;
  };

  // Chrome's track: a process and a thread, each a number or a text.
  struct Track {
    std::int64_t pid = 0, tid = 0;
    std::string_view pid_text, tid_text;  // instead, where not empty
  };

  void Begin(const Head& head, const Track& track);
  void Duration(Nanos duration_ns) { out_.Raw(", \"dur\": ").Micros(duration_ns); }
  void End() { out_.Raw("}"); }
  Track ThreadTrack(std::uint16_t thread);
  Track StreamTrack(std::uint16_t stream, std::int64_t parked);
  std::int64_t Correlation(std::int64_t id, trace::RowId call) const;
  std::int64_t FlowId(std::int64_t id) const;
  void NameRecord(std::string_view record, const Track& track, std::string_view key,
                  std::string_view text);
  void NameRecord(std::string_view record, const Track& track, std::string_view key,
                  std::int64_t number);
  void NameDevices();
  void NameProcesses();

  void HostSlices();
  void DeviceWork();
  void DeviceAnnotations();
  void Syncs();
  void Events();
  void Memory();
  void Counters();
  void Instants();
  void Flows();
  void Steps();
  void Idle();

  void HostArguments(trace::RowId row);
  void WorkArguments(trace::RowId row);
  void DetailArguments(std::uint32_t detail, JsonMembers& args);
  void CollectiveArguments(std::uint32_t collective, JsonMembers& args);
  void JsonArgument(std::string_view key, StringId text, JsonMembers& args);
  void LaunchFlow(trace::RowId work, const Track& track);

  const Exported& rank_;
  const trace::Trace& trace_;
  const Nanos shift_ns_;
  ProcessIds& ids_;
  TextOutput& out_;
  ArgumentText argument_text_;
  RowClock clock_;
  const bool several_processes_;
  std::string prefix_;  // "rank 3: " where ranks share the file
  bool first_ = true;
  std::vector<Lanes> lanes_;  // by stream
};

}  // namespace hone::exporter
