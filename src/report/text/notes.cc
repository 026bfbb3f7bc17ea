// SPDX-License-Identifier: Apache-2.0
#include "report/text/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

double Ratio(Nanos part, Nanos whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// A sum over the whole trace.
std::string SumText(Nanos whole_ns, const analyze::StepScale& scale) {
  if (scale.steps == 0) return HumanDuration(whole_ns) + " in all";
  return HumanDuration(whole_ns / static_cast<Nanos>(scale.steps)) + " a step";
}

// "1" and not "1.00" where it comes out even.
std::string Rate(double value) {
  const double whole = std::round(value);
  return std::abs(value - whole) < 0.005 ? Fixed(whole, 0) : ThreeDigits(value);
}

std::string MatrixUnits(const analyze::EfficiencyFacts& facts) {
  const Nanos all = facts.matrix_on_ns + facts.matrix_off_ns + facts.matrix_unknown_ns;
  if (all <= 0) return "";
  std::vector<std::string> parts;
  const auto part = [&](std::string_view word, Nanos time) {
    if (time > 0) parts.push_back(fmt::format("{} for {}", word, Percent(Ratio(time, all))));
  };
  part("on", facts.matrix_on_ns);
  part("off", facts.matrix_off_ns);
  part("not known", facts.matrix_unknown_ns);
  return fmt::format("{} of the time in matmul, convolution and attention kernels",
                     fmt::join(parts, ", "));
}

std::string Speed(const analyze::EfficiencyFacts& facts) {
  std::string text;
  if (facts.tflops_per_s) {
    const double speed = *facts.tflops_per_s;
    text =
        fmt::format("{} over the steady steps", speed < 0.1 ? ThreeDigits(speed * 1e3) + " GFLOP/s"
                                                            : ThreeDigits(speed) + " TFLOP/s");
    if (facts.model_flops_utilization) {
      text += fmt::format(", {} of the peak (MFU)", Percent(*facts.model_flops_utilization));
    }
  }
  if (facts.occupancy_pct) {
    text += fmt::format("{}mean occupancy {}", text.empty() ? "" : "; ",
                        Percent(*facts.occupancy_pct / 100));
  }
  if (facts.sm_share_pct) {
    text += fmt::format("{}SMs covered {}", text.empty() ? "" : "; ",
                        Percent(*facts.sm_share_pct / 100));
  }
  return text;
}

std::string Kernels(const Input& input) {
  const analyze::Facts& facts = input.facts;
  const analyze::KernelSizes& sizes = *facts.kernel_sizes;
  if (sizes.kernels == 0) return "";
  std::string text = WithThousands(sizes.kernels);
  if (const std::uint64_t steps = facts.scale.steps; steps > 0 && sizes.kernels / steps > 1) {
    text += fmt::format(", about {} a step", WithThousands(sizes.kernels / steps));
  }
  text += fmt::format("; {} under 10 us", Percent(static_cast<double>(sizes.under_10us) /
                                                  static_cast<double>(sizes.kernels)));
  if (facts.launches && facts.launches->launches > 0) {
    const analyze::LaunchFacts& launches = *facts.launches;
    text += fmt::format(
        "; {} launched onto an empty stream",
        Percent(static_cast<double>(launches.starved) / static_cast<double>(launches.launches)));
    text += fmt::format("; a launch call takes {}", HumanDuration(launches.call_p50_ns));
  }
  return text;
}

// The kind of copy that costs most time.
std::string Copies(const analyze::TransferFacts& facts, const Input& input) {
  if (facts.rows.empty() || facts.total_ns < input.facts.scale.least_ns) return "";
  const analyze::TransferRow& row = facts.rows.front();
  std::string text = fmt::format("{}; most: {}", SumText(facts.total_ns, input.facts.scale),
                                 analyze::DirectionName(row.direction));
  // Between devices the kinds say nothing new.
  const bool host_side = row.direction == trace::CopyDirection::kHostToDevice ||
                         row.direction == trace::CopyDirection::kDeviceToHost;
  if (host_side && row.source != trace::MemoryKind::kUnknown &&
      row.target != trace::MemoryKind::kUnknown) {
    text += fmt::format(" ({} to {})", analyze::MemoryKindName(row.source),
                        analyze::MemoryKindName(row.target));
  }
  text += fmt::format(", {}", Count(row.count, "copy", "copies"));
  if (row.gbytes_per_s) {
    text += fmt::format(", {} at {} GB/s", HumanBytes(static_cast<double>(row.bytes)),
                        ThreeDigits(*row.gbytes_per_s));
    if (row.link_share) text += fmt::format(", {} of the link", Percent(*row.link_share));
  }
  return text;
}

void AddSyncs(const Input& input, const Style& style, std::vector<Note>& notes) {
  const trace::Trace& trace = input.trace;
  const Nanos least = input.facts.scale.least_ns;
  std::size_t shown = 0;
  for (const analyze::SyncRow& row : input.facts.syncs->rows) {
    if (row.total_ns < least || shown == 3) break;  // rows are sorted by time
    if (row.by_profiler) continue;
    std::string text;
    if (row.op != StringId::kEmpty) text = style.Clean(trace.Name(row.op)) + ": ";
    text += style.Clean(trace.Name(row.call));
    text += fmt::format(", {}", Count(row.count, "call"));
    if (row.per_step > 0) text += fmt::format(" ({} a step)", Rate(row.per_step));
    text += fmt::format(", {}", HumanDuration(row.total_ns));
    if (!row.where.empty()) text += fmt::format(", {}", style.Clean(row.where));
    notes.push_back({shown == 0 ? "host waits" : "", std::move(text)});
    ++shown;
  }
}

// Which device the numbers are of, where there are several.
std::string Devices(const Input& input) {
  const analyze::Timeline& timeline = *input.facts.timeline;
  if (timeline.devices.size() < 2) return "";
  const trace::RowId row = timeline.main_device().device;
  const std::int64_t id = row < input.trace.devices.size() ? input.trace.devices[row].id : -1;
  return fmt::format(
      "busy, idle and the bars are of {}, the busiest of {}; --table devices has each",
      id < 0 ? std::string("one device") : fmt::format("GPU {}", id), timeline.devices.size());
}

std::string Loader(const analyze::LoaderFacts& loader) {
  const char* mode = loader.mode == analyze::LoaderMode::kInProcess ? "in the main process"
                     : loader.mode == analyze::LoaderMode::kWorkers ? "by worker processes"
                                                                    : "";
  std::string text = mode;
  const char* comma = text.empty() ? "" : ", ";
  if (loader.per_step_ns) {
    text +=
        fmt::format("{}{} a step", comma, HumanDuration(static_cast<Nanos>(*loader.per_step_ns)));
    if (loader.step_share) text += fmt::format(" ({} of it)", Percent(*loader.step_share));
  } else {
    text += fmt::format("{}{} in {}", comma, HumanDuration(loader.total_ns),
                        Count(loader.fetches, "fetch", "fetches"));
  }
  return text;
}

std::string Communication(const analyze::CommFacts& comm, const Input& input) {
  if (comm.rows.empty()) {
    return fmt::format("none in the steady steps; {} outside of them",
                       Count(comm.runs.size(), "collective"));
  }
  std::string text =
      comm.steps == 0 ? SumText(comm.total_ns, input.facts.scale)
                      : HumanDuration(comm.total_ns / static_cast<Nanos>(comm.steps)) + " a step";
  if (comm.overlap_pct) {
    text += fmt::format(", {} hidden behind compute", Percent(*comm.overlap_pct / 100));
  }
  const analyze::CollectiveRow& row = comm.rows.front();
  text += fmt::format("; most: {} {}", WithThousands(row.count), row.kind);
  if (row.message_bytes) text += fmt::format(" of {}", HumanBytes(*row.message_bytes));
  if (row.bus_gbytes_per_s) {
    text += fmt::format(" at {} GB/s on the bus", ThreeDigits(*row.bus_gbytes_per_s));
  }
  return text;
}

std::string Skew(const analyze::SkewFacts& skew) {
  std::string text;
  if (skew.straggler >= 0) {
    text = fmt::format("rank {} comes last", skew.straggler);
    for (const analyze::RankSkew& rank : skew.ranks) {
      if (rank.rank == skew.straggler) {
        text += fmt::format(" in {} of {}", WithThousands(rank.last),
                            Count(skew.matched, "collective"));
      }
    }
  } else {
    text = skew.uneven ? "they take turns in coming last" : "no straggler stands out";
  }
  if (skew.lost.likely_ns > 0) {
    text += fmt::format("; {} a step are lost to waiting",
                        HumanDuration(static_cast<Nanos>(skew.lost.likely_ns)));
  }
  text += fmt::format("; starts differ by {} (p95 {})", HumanDuration(skew.mean_skew_ns),
                      HumanDuration(skew.p95_skew_ns));
  if (!skew.note.empty()) text += "; " + skew.note;
  return text;
}

std::string Memory(const analyze::DeviceMemory& device) {
  std::string text =
      fmt::format("peak {} {}", HumanBytes(static_cast<double>(device.peak_allocated)),
                  device.relative ? "above the start of the trace" : "allocated");
  if (device.peak_reserved >= 0) {
    text += fmt::format(", {} reserved", HumanBytes(static_cast<double>(device.peak_reserved)));
  }
  if (device.growth_per_step) {
    const double growth = *device.growth_per_step;
    // Under a mebibyte a step is below the allocator's own granularity of large blocks (2 MiB).
    text += std::abs(growth) < 1 << 20
                ? "; steady from step to step"
                : fmt::format("; {} {} a step", growth > 0 ? "grows by" : "shrinks by",
                              HumanBytes(std::abs(growth)));
  }
  return text;
}

}  // namespace

std::vector<Note> CollectNotes(const Report& report, const Style& style) {
  const Input& input = report.leading();
  const analyze::Facts& facts = input.facts;
  std::vector<Note> notes;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) notes.push_back({label, style.Clean(text)});
  };
  if (facts.timeline) add("devices", Devices(input));
  if (facts.efficiency) add("matrix units", MatrixUnits(*facts.efficiency));
  if (facts.efficiency) add("efficiency", Speed(*facts.efficiency));
  if (facts.kernel_sizes) add("kernels", Kernels(input));
  if (facts.loader) add("data loading", Loader(*facts.loader));
  if (facts.transfers) add("copies", Copies(*facts.transfers, input));
  if (facts.syncs) AddSyncs(input, style, notes);
  if (facts.comm) add("communication", Communication(*facts.comm, input));
  if (report.skew) add("across ranks", Skew(*report.skew));
  if (facts.memory && !facts.memory->devices.empty() &&
      facts.memory->devices.front().type == trace::MemoryDevice::kGpu) {
    add("memory", Memory(facts.memory->devices.front()));
  }
  return notes;
}

std::vector<Note> AbsentSections(const Report& report, const Style& style) {
  const Input& input = report.leading();
  const analyze::Facts& facts = input.facts;
  std::vector<std::pair<std::string, std::string>> reasons;  // reason, sections
  const auto put = [&](const char* section, const std::string& why) {
    for (auto& [reason, sections] : reasons) {
      if (reason != why) continue;
      sections += fmt::format(", {}", section);
      return;
    }
    reasons.push_back({why, section});
  };
  const auto add = [&](const char* section, const auto& known) {
    if (!known.has_value()) put(section, known.why_not());
  };
  // Without device work all of these have the same reason, however each of them puts it.
  const auto add_device = [&](const char* section, const auto& known) {
    if (!known.has_value())
      put(section, facts.timeline ? known.why_not() : facts.timeline.why_not());
  };
  add_device("kernels", facts.kernels);
  add("ops", facts.ops);
  add_device("copies", facts.transfers);
  add_device("host waits", facts.syncs);
  add_device("launches", facts.launches);
  add_device("efficiency", facts.efficiency);
  if (facts.efficiency) add("FLOPs", facts.efficiency->tflops_per_s);
  add("memory", facts.memory);
  // One process alone has nobody to talk to; its silence is no gap in the trace.
  if (input.trace.info.world_size > 1 || report.inputs.size() > 1) add("communication", facts.comm);
  add("data loading", facts.loader);
  add("python", facts.python);
  // What kept a rule from looking is told there.
  const auto told = [&](const std::string& reason) {
    if (!report.diagnosis) return false;
    const std::vector<doctor::NotChecked>& rules = report.diagnosis->not_checked;
    return std::any_of(rules.begin(), rules.end(),
                       [&](const doctor::NotChecked& rule) { return rule.why == reason; });
  };
  std::vector<Note> notes;
  for (const auto& [reason, sections] : reasons) {
    if (told(reason)) continue;
    notes.push_back({notes.empty() ? "not in trace" : "",
                     style.Clean(fmt::format("{}: {}", sections, reason))});
  }
  return notes;
}

}  // namespace hone::report
