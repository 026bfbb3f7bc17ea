// SPDX-License-Identifier: Apache-2.0
#include "import/hone/session.h"

namespace hone::importer::hone_file {

Session::Session(trace::Builder& the_builder, const ProcessFile& the_file,
                 const RecordedSpan& the_span, std::map<std::string, Missed>& the_missed)
    : builder(the_builder), file(the_file), span(the_span), missed(the_missed) {
  pid = file.Number("pid");
  if (file.work() > 0) process = builder.ProcessFor(pid);
  dictionary.Read(file, builder);
}

bool Session::ReadTime(std::int64_t ticks, Nanos& time_ns) {
  time_ns = file.clock.ToNanos(ticks);
  if (time_ns <= -trace::Builder::kLatest || time_ns >= trace::Builder::kLatest) {
    builder.trace().losses.Add(LossKind::kBadTime);
    return false;
  }
  return span.Contains(time_ns);
}

bool Session::ReadSpan(std::int64_t start, std::int64_t duration, Time& time) {
  std::int64_t end = 0;
  if (__builtin_add_overflow(start, duration, &end)) {
    builder.trace().losses.Add(LossKind::kBadTime);
    return false;
  }
  if (!ReadTime(start, time.start_ns)) return false;
  time.duration_ns = file.clock.ToNanos(end) - time.start_ns;
  return builder.Admit(time.start_ns, time.duration_ns, {});
}

bool Session::Has(const wire::Chunk& chunk, std::initializer_list<const char*> columns) {
  for (const char* column : columns) {
    if (chunk.rows() == 0 || !chunk.Integers(column).empty()) continue;
    builder.trace().losses.Add(
        LossKind::kUnreadableEvent, chunk.rows(), 0,
        "rows of table " + std::string(chunk.table()) + " without column " + column);
    return false;
  }
  return true;
}

}  // namespace hone::importer::hone_file
