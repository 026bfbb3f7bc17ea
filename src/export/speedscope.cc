// SPDX-License-Identifier: Apache-2.0
#include "export/speedscope.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/source_frame.h"
#include "export/first_moment.h"
#include "export/lanes.h"
#include "export/row_clock.h"
#include "export/text_output.h"

namespace hone::exporter {
namespace {

using trace::RowId;

// As deep as Python recurses by default; speedscope needs each stack in full, so a bound keeps the
// file in proportion to the samples.
constexpr std::size_t kMostDepth = 1000;

// One profile after the other; the names that they point to stand at the end, when all are known.
class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Exported& rank, std::ostream& out)
      : rank_(rank),
        trace_(rank.trace),
        out_(out),
        clock_(rank),
        begin_ns_(FirstMoment(rank.trace)),
        frame_of_(trace_.strings.size(), kNoFrame) {}

  void Write() {
    out_.Raw("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n");
    out_.Raw("\"exporter\": \"hone\",\n\"name\": ");
    out_.Quoted(trace_.info.path.substr(trace_.info.path.find_last_of('/') + 1));
    out_.Raw(",\n\"profiles\": [");
    Threads();
    Streams();
    Samples();
    out_.Raw("],\n");
    if (profiles_ > 0) {
      out_.Raw("\"activeProfileIndex\": ").Uint(busiest_profile_).Raw(",\n");
    } else if (rank_.note) {
      rank_.note("nothing in it is a flame graph; speedscope will show an empty file");
    }
    Frames();
    out_.Raw("}\n");
    out_.Flush();
  }

 private:
  static constexpr std::uint32_t kNoFrame = UINT32_MAX;

  struct Span {
    Nanos start_ns, duration_ns;
    StringId name;
  };

  std::uint32_t FrameOf(StringId name) {
    std::uint32_t& frame = frame_of_[static_cast<std::uint32_t>(name)];
    if (frame == kNoFrame) {
      frame = static_cast<std::uint32_t>(frames_.size());
      frames_.push_back(name);
    }
    return frame;
  }

  void Open(std::string_view type, const std::string& name, Nanos start, Nanos end,
            std::size_t rows) {
    out_.Raw(profiles_ == 0 ? "\n{\"type\": \"" : ",\n{\"type\": \"").Raw(type);
    out_.Raw("\", \"name\": ").Quoted(name).Raw(", \"unit\": \"nanoseconds\", \"startValue\": ");
    out_.Int(start).Raw(", \"endValue\": ").Int(end);
    if (rows > most_rows_) {
      most_rows_ = rows;
      busiest_profile_ = profiles_;
    }
    ++profiles_;
  }

  // Rows 0 … count of `read`, in order of start. Opened and closed events must match, so what
  // overlaps without nesting goes to a profile of its own.
  template <typename Read>
  void Evented(const std::string& name, std::size_t count, const Read& read) {
    Nanos end = begin_ns_;
    for (std::size_t i = 0; i < count; ++i) {
      const Span span = read(i);
      end = std::max(end, span.start_ns + span.duration_ns);
    }
    std::size_t lanes_used = 1;
    for (std::size_t lane = 0; lane < lanes_used; ++lane) {
      Open("evented", lane == 0 ? name : fmt::format("{} (overlap {})", name, lane), 0,
           end - begin_ns_, lane == 0 ? count : 0);
      out_.Raw(", \"events\": [");
      lanes_used = EventsOfLane(lane, count, read);
      out_.Raw("]}");
    }
  }

  template <typename Read>
  std::size_t EventsOfLane(std::size_t wanted, std::size_t count, const Read& read) {
    Lanes lanes;
    std::vector<std::uint32_t> open;  // frames on the wanted lane
    bool first = true;
    const auto event = [&](const char* type, std::uint32_t frame, Nanos at) {
      out_.Raw(first ? "\n{\"type\": \"" : ",\n{\"type\": \"").Raw(type).Raw("\", \"frame\": ");
      out_.Uint(frame).Raw(", \"at\": ").Int(at - begin_ns_).Raw("}");
      first = false;
    };
    const auto close = [&](std::size_t lane, Nanos at) {
      if (lane != wanted) return;
      event("C", open.back(), at);
      open.pop_back();
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted == 0) clock_.Tick();
      const Span span = read(i);
      const Lanes::Place place = lanes.Add(span.start_ns, span.start_ns + span.duration_ns, close);
      if (place.lane != wanted) continue;
      open.push_back(FrameOf(span.name));
      event("O", open.back(), span.start_ns);
    }
    lanes.Finish(close);
    if (wanted == 0) cut_ += lanes.cut();
    return lanes.used();
  }

  std::string ThreadName(std::size_t thread) const {
    const trace::Thread& row = trace_.threads[thread];
    const std::string name = row.name.empty() ? fmt::format("thread {}", row.tid) : row.name;
    const bool several = trace_.processes.size() > 1 && row.process < trace_.processes.size();
    const std::int64_t pid = several ? trace_.processes[row.process].pid : -1;
    return pid >= 0 ? fmt::format("{} of process {}", name, pid) : name;
  }

  void Threads() {
    const trace::HostSlices& host = trace_.host;
    for (std::size_t t = 0; t < trace_.threads.size(); ++t) {
      const trace::Thread& thread = trace_.threads[t];
      if (thread.first_slice == thread.last_slice) continue;
      Evented(ThreadName(t), thread.last_slice - thread.first_slice, [&](std::size_t i) {
        const std::size_t row = thread.first_slice + i;
        return Span{host.start_ns[row], host.duration_ns[row], host.name[row]};
      });
    }
  }

  void Streams() {
    const trace::DeviceWork& device = trace_.device;
    const std::vector<std::vector<RowId>> rows = Group(device.stream, trace_.streams.size());
    for (std::size_t s = 0; s < rows.size(); ++s) {
      if (rows[s].empty()) continue;
      const trace::Stream& stream = trace_.streams[s];
      Evented(fmt::format("GPU {} stream {}", trace_.devices[stream.device].id, stream.id),
              rows[s].size(), [&](std::size_t i) {
                const RowId row = rows[s][i];
                return Span{device.start_ns[row], device.duration_ns[row], device.name[row]};
              });
    }
  }

  static std::vector<std::vector<RowId>> Group(const Column<std::uint16_t>& by,
                                               std::size_t groups) {
    std::vector<std::vector<RowId>> rows(groups);
    for (RowId i = 0; i < by.size(); ++i) {
      if (by[i] < groups) rows[by[i]].push_back(i);
    }
    return rows;
  }

  void Samples() {
    const trace::StackSamples& samples = trace_.samples;
    const std::vector<std::vector<RowId>> rows = Group(samples.thread, trace_.threads.size());
    for (std::size_t t = 0; t < rows.size(); ++t) {
      if (rows[t].empty()) continue;
      Nanos all = 0;
      for (const RowId i : rows[t]) all += std::max<Nanos>(samples.period_ns[i], 0);
      Open("sampled", "Python samples of " + ThreadName(t), 0, all, 0);
      out_.Raw(", \"samples\": [");
      for (std::size_t i = 0; i < rows[t].size(); ++i) {
        clock_.Tick();
        out_.Raw(i == 0 ? "\n" : ",\n");
        Stack(samples.frame[rows[t][i]]);
      }
      out_.Raw("], \"weights\": [");
      for (std::size_t i = 0; i < rows[t].size(); ++i) {
        out_.Raw(i == 0 ? "" : ", ").Int(std::max<Nanos>(samples.period_ns[rows[t][i]], 0));
      }
      out_.Raw("]}");
    }
  }

  void Stack(std::uint32_t leaf) {
    const trace::StackFrames& frames = trace_.stack_frames;
    stack_.clear();
    for (std::uint32_t at = leaf; at != 0 && stack_.size() < kMostDepth; at = frames.caller[at]) {
      stack_.push_back(FrameOf(frames.place[at]));
    }
    out_.Raw("[");
    for (std::size_t i = stack_.size(); i-- > 0;) {
      out_.Uint(stack_[i]).Raw(i > 0 ? ", " : "");
    }
    out_.Raw("]");
  }

  void Frames() {
    out_.Raw("\"shared\": {\"frames\": [");
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const std::string_view name = trace_.Name(frames_[i]);
      const analyze::SourceFrame source = analyze::ParseFrame(name);
      out_.Raw(i == 0 ? "\n{\"name\": " : ",\n{\"name\": ");
      // speedscope takes frames of one name, file and line for one: a name alone must not be empty.
      out_.Quoted(source.function.empty() ? "(no name)" : source.function);
      if (source.line > 0) {
        out_.Raw(", \"file\": ").Quoted(source.file).Raw(", \"line\": ").Int(source.line);
      }
      out_.Raw("}");
    }
    out_.Raw("]}");
    if (cut_ > 0 && rank_.note) {
      rank_.note(fmt::format("{} slices lie where {} overlap at once and are cut short", cut_,
                             Lanes::kMost));
    }
  }

  const Exported& rank_;
  const trace::Trace& trace_;
  TextOutput out_;
  RowClock clock_;
  const Nanos begin_ns_;
  std::vector<std::uint32_t> frame_of_;  // by StringId
  std::vector<StringId> frames_;
  std::vector<std::uint32_t> stack_;
  std::size_t profiles_ = 0, busiest_profile_ = 0, most_rows_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace

Status WriteSpeedscope(const Exported& rank, std::ostream& out) {
  SpeedscopeWriter(rank, out).Write();
  return Ok();
}

}  // namespace hone::exporter
