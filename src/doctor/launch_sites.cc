// SPDX-License-Identifier: Apache-2.0
#include "doctor/launch_sites.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/forward_index.h"
#include "analyze/source_frame.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

bool MultipliesWithWeights(std::string_view op) {
  return op.find("mm") != std::string_view::npos || op.find("linear") != std::string_view::npos ||
         op.find("conv") != std::string_view::npos || op.find("matmul") != std::string_view::npos ||
         op.find("attention") != std::string_view::npos ||
         op.find("lstm") != std::string_view::npos || op.find("gru") != std::string_view::npos;
}

struct Line {
  double launches = 0, copies = 0;
  RowId row = kNoRow;
  std::map<std::string_view, double> calls;  // of outermost operators in the forward pass, by name
};

class Collector {
 public:
  Collector(const replay::Model& model, const Places& places)
      : model_(model), places_(places), forward_(model.trace()) {}

  std::vector<LaunchSite> Collect() {
    const std::vector<replay::Task>& tasks = model_.graph().tasks;
    for (const replay::Task& task : tasks) {
      if (task.kind == replay::TaskKind::kLaunch) Count(task.row);
    }
    std::vector<LaunchSite> sites;
    for (const auto& [function, lines] : functions_) sites.push_back(Describe(lines));
    std::stable_sort(sites.begin(), sites.end(), [](const LaunchSite& a, const LaunchSite& b) {
      return a.launches > b.launches;
    });
    return sites;
  }

 private:
  using Lines = std::map<std::string_view, Line>;

  // The outermost operator of the forward pass that a launch belongs to; kNoRow: not known.
  RowId OperatorOf(RowId call) {
    const trace::Trace& trace = model_.trace();
    const RowId top = model_.lineage().top_op[call];
    if (top == kNoRow || !analyze::IsEngineSlice(trace.HostName(top))) return top;
    const auto [known, added] = forward_of_.try_emplace(top, kNoRow);
    if (!added) return known->second;
    // The engine's slice, or the node's own inside it.
    for (RowId row = top; row <= top + 1 && row < trace.host.size(); ++row) {
      if (!analyze::IsBackward(trace, row)) continue;
      const RowId made = forward_.Find(trace, row);
      if (made != kNoRow) known->second = model_.lineage().top_op[made];
    }
    return known->second;
  }

  bool CopiesFromHost(RowId call) const {
    const trace::DeviceWork& device = model_.trace().device;
    const RowId work = model_.WorkOf(call);
    return work != kNoRow && device.kind[work] == trace::WorkKind::kCopy &&
           device.direction[work] == trace::CopyDirection::kHostToDevice;
  }

  void Count(RowId call) {
    const RowId op = OperatorOf(call);
    if (op == kNoRow) return;
    const std::string_view frame = places_.Frame(op);
    const analyze::SourceFrame parsed = analyze::ParseFrame(frame);
    if (!analyze::IsUserFrame(parsed)) return;
    Line& line = functions_[{parsed.file, parsed.function}][frame];
    ++line.launches;
    if (CopiesFromHost(call)) ++line.copies;
    const bool fresh = op != line.row;
    line.row = op;
    if (fresh && op == model_.lineage().top_op[call]) ++line.calls[model_.trace().HostName(op)];
  }

  LaunchSite Describe(const Lines& lines) const {
    const auto steps = static_cast<double>(model_.graph().steps);
    LaunchSite site;
    double most = 0;
    for (const auto& [frame, line] : lines) {
      site.launches += line.launches / steps;
      site.copies += line.copies / steps;
      if (line.launches > most) {
        most = line.launches;
        site.frame = frame;
        site.row = line.row;
      }
      for (const auto& [op, calls] : line.calls) {
        if (MultipliesWithWeights(op)) site.plain = false;
        if (calls / steps <= site.repeats) continue;
        site.repeats = calls / steps;
        site.op = op;
      }
    }
    return site;
  }

  const replay::Model& model_;
  const Places& places_;
  const analyze::ForwardIndex forward_;
  std::map<RowId, RowId> forward_of_;  // by the engine's slice
  std::map<std::pair<std::string_view, std::string_view>, Lines> functions_;
};

}  // namespace

std::vector<LaunchSite> FindLaunchSites(const replay::Model& model, const Places& places) {
  return Collector(model, places).Collect();
}

}  // namespace hone::doctor
