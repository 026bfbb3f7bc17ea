// SPDX-License-Identifier: Apache-2.0
// PyTorch profiler (Kineto) traces: Chrome-trace JSON, plain or compressed.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/byte_source.h"
#include "base/text.h"
#include "import/import.h"
#include "import/kineto/document.h"
#include "import/kineto/no_trace.h"
#include "import/kineto/trace_sink.h"
#include "import/kineto/window_reader.h"
#include "trace/builder.h"

namespace hone::importer {
namespace {

bool LooksLikeTrace(const kineto::Window& first, bool array_form) {
  const std::string_view text = first.body;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  if (array_form) {
    const std::size_t inside = text.find_first_not_of(" \t\r\n", start + 1);
    return inside != std::string_view::npos && (text[inside] == '{' || text[inside] == ']');
  }
  return text[start] == '{' && text.find("\"traceEvents\"") != std::string_view::npos;
}

// Whether anything was read that an answer can stand on.
Status CheckEvents(const kineto::TraceSink& sink, const trace::Trace& trace) {
  if (sink.events() == 0) {
    if (trace.info.compression_damaged) {
      return Error(trace.losses[LossKind::kDamagedCompression].first_detail +
                   "; no event before it could be read");
    }
    if (trace.losses[LossKind::kTruncatedInput].count > 0) {
      return Error(fmt::format(
          "ends at byte {}, before the end of its first event; copy it again, or let the profiler "
          "finish writing",
          WithThousands(trace.info.raw_bytes)));
    }
    return Error("holds no events; was the profiler's schedule ever active?");
  }
  if (sink.recognized() > 0) return Ok();
  const LossCount& untimed = trace.losses[LossKind::kBadTime];
  if (untimed.count > 0) {
    return Error(fmt::format(
        "{} events, of which {} {} no usable time (first: {}): none, no number, or over 73 years "
        "away from zero, and the others are of no known kind; times are microseconds, record again",
        sink.events(), untimed.count, untimed.count == 1 ? "has" : "have", untimed.first_detail));
  }
  if (sink.of_autograd_profiler()) {
    return Error(fmt::format(
        "{} events as PyTorch's autograd profiler exports them, without launching calls and "
        "streams; record with torch.profiler.profile (PyTorch 1.8 and later) and "
        "export_chrome_trace",
        sink.events()));
  }
  return Error(fmt::format(
      "{} events, none of a kind that the PyTorch profiler writes; see hone help inputs",
      sink.events()));
}

Result<trace::Trace> Load(ByteSource& source, const std::string& path, const ImportOptions& options,
                          std::size_t window_bytes) {
  trace::Builder builder;
  trace::TraceInfo& info = builder.trace().info;
  kineto::TraceSink sink(builder);
  kineto::WindowReader reader(source, window_bytes);
  std::optional<kineto::Document> document;
  while (const kineto::Window* window = reader.Next()) {
    if (window->first && !LooksLikeTrace(*window, reader.array_form())) {
      if (window->last && !source.damage().empty()) {
        return Error(source.damage() + "; nothing before it could be read");
      }
      return Error(kineto::WhyNoTrace(window->body, window->last, path));
    }
    LossLog losses;
    if (!document) document.emplace(sink, reader.array_form());
    document->Read(*window, losses);
    // Damaged compression cuts the text too; one loss says both.
    if (window->last && !source.damage().empty()) losses.Drop(LossKind::kTruncatedInput);
    builder.trace().losses.Merge(losses);
    if (options.progress) options.progress(reader.input_taken(), source.input_size());
  }
  if (document) document->CountBehind(builder.trace().losses);
  builder.trace().losses.Add(LossKind::kTextBehind, source.ignored_bytes(), 0,
                             "behind the compressed stream");
  if (reader.gave_up()) {
    builder.trace().losses.Add(LossKind::kTruncatedInput, 1, 0,
                               "an event larger than 256 MiB or no memory left; reading stopped");
  }
  if (!source.damage().empty()) {
    info.compression_damaged = true;
    builder.trace().losses.Add(LossKind::kDamagedCompression, 1, 0, source.damage());
  }
  info.path = path;
  info.format = trace::Format::kKineto;
  info.recorder = "PyTorch profiler";
  info.input_bytes = source.input_size();
  info.raw_bytes = reader.raw_bytes();
  info.events_seen = sink.events();
  HONE_RETURN_IF_ERROR(CheckEvents(sink, builder.trace()));
  sink.Settle();
  return std::move(builder).Finish();
}

}  // namespace

Result<trace::Trace> LoadKineto(const std::string& path, const ImportOptions& options) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source) return std::move(source).error().WithContext(path);
  Result<trace::Trace> trace = Load(**source, path, options, kineto::kDefaultWindowBytes);
  if (!trace) return std::move(trace).error().WithContext(path);
  return trace;
}

Result<trace::Trace> LoadKinetoText(std::string_view text, const std::string& name,
                                    std::size_t window_bytes) {
  const std::unique_ptr<ByteSource> source = MemoryByteSource(text);
  return Load(*source, name, {}, window_bytes > 0 ? window_bytes : kineto::kDefaultWindowBytes);
}

}  // namespace hone::importer
