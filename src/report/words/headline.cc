// SPDX-License-Identifier: Apache-2.0
#include "report/words/headline.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

constexpr std::size_t kTrustReasons = 4;

Tone ToneOf(analyze::Verdict verdict) {
  switch (verdict) {
    case analyze::Verdict::kGood: return Tone::kGood;
    case analyze::Verdict::kPartial: return Tone::kWarn;
    case analyze::Verdict::kPoor: return Tone::kBad;
  }
  return Tone::kPlain;
}

std::string FileName(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = path.find_last_of('/', end);
  return slash == std::string::npos ? path : path.substr(slash + 1, end - slash);
}

// What a person knows a recording by: the program that ran, without the folders of its interpreter
// and script, else the file.
std::string NameOf(const trace::TraceInfo& info, const Style& style) {
  constexpr std::size_t kLongest = 44;
  if (info.format != trace::Format::kHone || info.trace_name.empty()) return FileName(info.path);
  std::string name;
  std::string_view rest = info.trace_name;
  for (int word = 0; !rest.empty(); ++word) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string text(rest.substr(0, space));
    if (!name.empty()) name += ' ';
    name += word < 2 ? FileName(text) : text;
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return ElideMiddle(name, kLongest, style.utf8);
}

// "NVIDIA H200", "2 × NVIDIA H100", "GPU" where work has a device without a name.
std::string DeviceText(const Input& input, const Style& style) {
  const Known<analyze::Timeline>& timeline = input.facts.timeline;
  if (!timeline) {
    const bool unread = input.trace.losses[LossKind::kUnreadDevice].count > 0;
    return unread ? "a device that hone does not read" : "no device work";
  }
  std::map<std::string, std::size_t> names;
  for (const analyze::DeviceTimeline& device : timeline->devices) {
    const bool known = device.device < input.trace.devices.size();
    const std::string name = known ? input.trace.devices[device.device].name : "";
    ++names[name.empty() ? "GPU of unknown name" : name];
  }
  std::string text;
  for (const auto& [name, count] : names) {
    if (!text.empty()) text += ", ";
    if (count > 1) text += fmt::format("{} {} ", count, style.times());
    text += style.Clean(name);
  }
  return text;
}

// What follows the headline are means. A mean that is further from the median stands beside it, or
// they would seem to contradict each other; figures of three digits differ by 1 % of their own.
constexpr double kApart = 0.02;

// "4 steps of 195 ms (p95 200 ms)", "3 steady steps after 1 of warm-up, …"; "6 steps of 37.0 ms
// (mean 39.5 ms, p95 …)"; where the median is no help: "80 steps of 14.0 ms (median 1.89 ms, p95
// …)".
std::string StepsText(const analyze::Steps& steps) {
  if (steps.source == analyze::StepSource::kNone) return "no steps found";
  std::string text =
      steps.warm_up_count == 0
          ? Count(steps.steps.size(), "step")
          : fmt::format("{} after {} of warm-up", Count(steps.steady_count(), "steady step"),
                        steps.warm_up_count);
  if (!steps.stats) return text;
  text += steps.warm_up_count == 0 ? " of " : ", ";
  const analyze::StepStats& stats = *steps.stats;
  const bool alike = stats.alike();
  const bool apart = static_cast<double>(std::abs(stats.mean_ns - stats.median_ns)) >
                     kApart * static_cast<double>(stats.median_ns);
  text += HumanDuration(alike ? stats.median_ns : stats.mean_ns);
  if (stats.count > 1) {
    const std::string other = !alike  ? fmt::format("median {}, ", HumanDuration(stats.median_ns))
                              : apart ? fmt::format("mean {}, ", HumanDuration(stats.mean_ns))
                                      : "";
    text += fmt::format(" ({}p95 {})", other, HumanDuration(stats.p95_ns));
  }
  return text;
}

std::string BusyText(const analyze::Facts& facts) {
  const analyze::DeviceTimeline& device = facts.timeline->main_device();
  const bool stepped = facts.steps.source != analyze::StepSource::kNone;
  const analyze::TimelineSplit& split = stepped ? device.steady : device.whole;
  const double busy = split.total_ns > 0
                          ? static_cast<double>(split.busy_ns) / static_cast<double>(split.total_ns)
                          : 0;
  return fmt::format("GPU busy {}{}", Percent(busy),
                     stepped ? "" : " of " + HumanDuration(split.total_ns));
}

std::string MemoryText(const analyze::MemoryFacts& memory) {
  for (const analyze::DeviceMemory& device : memory.devices) {
    if (device.type != trace::MemoryDevice::kGpu) continue;
    const std::string peak = HumanBytes(static_cast<double>(device.peak_allocated));
    if (device.relative) return fmt::format("peak {} above the start", peak);
    if (device.capacity <= 0) return fmt::format("peak {}", peak);
    // "3.09 of 140 GiB": one unit is enough where both have it.
    const std::string capacity = HumanBytes(static_cast<double>(device.capacity));
    const std::size_t blank = peak.find(' ');
    const bool same = capacity.ends_with(peak.substr(blank));
    return fmt::format("peak {} of {}", same ? peak.substr(0, blank) : peak, capacity);
  }
  return "";
}

}  // namespace

std::vector<std::string> HeadlineParts(const Report& report, const Style& style) {
  const Input& input = report.leading();
  const trace::TraceInfo& info = input.trace.info;
  std::vector<std::string> parts = {style.Clean(NameOf(info, style))};
  if (report.inputs.size() > 1 && info.rank < 0 && info.format == trace::Format::kHone) {
    // Processes of one program have one name.
    parts.push_back(fmt::format("{} processes, rank {} leads", report.inputs.size(),
                                RankNumber(report.inputs, report.lead)));
  } else if (report.inputs.size() > 1) {
    parts[0] = info.rank >= 0
                   ? fmt::format("{} ranks, rank {} leads", report.inputs.size(), info.rank)
                   : fmt::format("{} traces, {} leads", report.inputs.size(), parts[0]);
  } else if (info.rank >= 0 && info.world_size > 1) {
    parts.push_back(fmt::format("rank {} of {}", info.rank, info.world_size));
  }
  if (!info.recorder.empty()) parts.push_back(style.Clean(info.recorder));
  parts.push_back(DeviceText(input, style));
  return parts;
}

void WriteHeadline(const Report& report, const Style& style, std::ostream& out) {
  WriteParts(HeadlineParts(report, style), {Tone::kStrong}, 2, style, out);
}

std::vector<std::string> KeyNumberParts(const Report& report) {
  const analyze::Facts& facts = report.leading().facts;
  std::vector<std::string> parts = {StepsText(facts.steps)};
  if (facts.timeline) parts.push_back(BusyText(facts));
  if (facts.memory) {
    std::string memory = MemoryText(*facts.memory);
    if (!memory.empty()) parts.push_back(std::move(memory));
  }
  return parts;
}

void WriteKeyNumbers(const Report& report, const Style& style, std::ostream& out) {
  const analyze::Facts& facts = report.leading().facts;
  std::vector<std::string> parts = KeyNumberParts(report);
  std::vector<Tone> tones(parts.size(), Tone::kStrong);
  parts.push_back(fmt::format("trust {}", analyze::VerdictName(facts.trust.verdict)));
  tones.push_back(ToneOf(facts.trust.verdict));
  WriteParts(parts, tones, 2, style, out);
}

void WriteTrust(const analyze::TrustFacts& trust, const Style& style, std::ostream& out) {
  if (trust.reasons.empty()) return;
  out << '\n';
  for (std::size_t i = 0; i < trust.reasons.size() && i < kTrustReasons; ++i) {
    const std::string label =
        i == 0 ? fmt::format("trust {}", analyze::VerdictName(trust.verdict)) : std::string();
    WriteLabelled(label, kLabelWidth, style.Clean(trust.reasons[i].text), style, out,
                  ToneOf(trust.verdict));
  }
  if (trust.reasons.size() > kTrustReasons) {
    WriteLabelled("", kLabelWidth,
                  fmt::format("{} {} more (--json lists them under trust)", style.more(),
                              trust.reasons.size() - kTrustReasons),
                  style, out);
  }
}

}  // namespace hone::report
