// SPDX-License-Identifier: Apache-2.0
// The rows of one rank as Perfetto's packets. Internal to export/perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/exported.h"
#include "export/flow_ends.h"
#include "export/lanes.h"
#include "export/perfetto_stream.h"
#include "export/perfetto_tracks.h"
#include "export/row_clock.h"

namespace hone::exporter {

class PerfettoRank {
 public:
  // `shift_ns` makes trace time of the rank's own: it is added to every time.
  PerfettoRank(const Exported& rank, Nanos shift_ns, ProcessIds& ids, PerfettoStream& stream);

  void Write();

 private:
  // A place on the timeline on which slices must nest: a track, and further ones for what overlaps.
  struct Timeline {
    std::uint64_t track = 0;
    std::string name;
    Lanes lanes;
    std::vector<std::uint64_t> aside;  // by lane − 1
  };

  std::uint64_t Stamp(Nanos time_ns);
  // Ends what is over, and opens the slice: the caller adds its fields and calls stream_.End().
  void OpenSlice(Timeline& timeline, Nanos start_ns, Nanos duration_ns);
  void Close(Timeline& timeline);
  std::uint64_t LaneTrack(Timeline& timeline, std::size_t lane);
  void EndSlice(std::uint64_t track, Nanos time_ns);

  void IndexLaunches();
  void HostSlices();
  void HostArguments(trace::RowId row);
  void DetailArguments(std::uint32_t detail);
  void CollectiveArguments(std::uint32_t collective);
  void DeviceWork();
  void WorkArguments(trace::RowId row);
  void LaunchArguments(std::uint32_t launch);
  void DeviceAnnotations();
  void Syncs();
  void Events();
  void Memory();
  void Counters();
  void Instants();
  void Samples();
  void Steps();
  void Idle();
  void Notes();

  std::uint64_t LaunchFlow(trace::RowId work) const;
  std::uint64_t ForwardFlow(std::int64_t id) const;

  const Exported& rank_;
  const trace::Trace& trace_;
  const Nanos shift_ns_;
  PerfettoStream& stream_;
  PerfettoTracks tracks_;
  RowClock clock_;
  // Work by launching call: rows work_of_[first_work_[call] .. first_work_[call + 1]).
  std::vector<std::uint32_t> first_work_, work_of_;
  std::uint64_t moved_host_ = 0, moved_device_ = 0, cut_ = 0, clamped_ = 0;
};

}  // namespace hone::exporter
