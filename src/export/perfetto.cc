// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto.h"

#include <algorithm>

#include "export/first_moment.h"
#include "export/perfetto_rank.h"

namespace hone::exporter {
namespace {

// Times beyond September 2001 count from 1970, times below from the start of a machine.
constexpr Nanos kSurelyRealtime = Nanos{1'000'000'000} * kSecond;

class PerfettoWriter : public Writer {
 public:
  explicit PerfettoWriter(std::ostream& out) : out_(out) {}

  Status Add(const Exported& rank) override {
    const trace::TraceInfo& info = rank.trace.info;
    ids_.NextRank();
    PerfettoStream stream(rank.trace, static_cast<std::uint32_t>(rank.index) + 1, out_);
    if (first_) {
      // Trace time is time since 1970 (or since whatever the recorder counts from), which is the
      // same clock for all ranks; moved only where it would lie below 0.
      const Nanos begin = FirstMoment(rank.trace) + info.base_time_ns;
      move_ns_ = begin < 0 ? -begin : 0;
      if (begin > kSurelyRealtime) {
        stream.Clocks(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin));
      }
      first_ = false;
    }
    PerfettoRank(rank, info.base_time_ns + move_ns_, ids_, stream).Write();
    return Ok();
  }

  Status Finish() override { return Ok(); }

 private:
  std::ostream& out_;
  ProcessIds ids_;
  Nanos move_ns_ = 0;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Writer> OpenPerfetto(std::ostream& out) {
  return std::make_unique<PerfettoWriter>(out);
}

}  // namespace hone::exporter
