// SPDX-License-Identifier: Apache-2.0
// Short words for building small traces in tests, and where the shared real ones lie.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "trace/builder.h"

namespace hone::analyze {

// $HONE_SHARED, else the folder "shared" beside the repository.
inline std::string SharedPath(const std::string& file) {
  const char* variable = std::getenv("HONE_SHARED");
  const auto root = std::filesystem::path(HONE_SOURCE_DIR) / ".." / "shared";
  return (variable != nullptr ? std::filesystem::path(variable) : root) / file;
}
#define HONE_SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here (set HONE_SHARED)"

class TraceFixture {
 public:
  trace::Builder builder;

  void Op(Nanos start, Nanos duration, const char* name, trace::OpDetail detail = {},
          std::int64_t sequence = -1, int thread = 1) {
    Slice(trace::SliceKind::kOp, start, duration, name, detail, sequence, 0, thread);
  }
  void Annotation(Nanos start, Nanos duration, const char* name, trace::OpDetail detail = {},
                  int thread = 1) {
    Slice(trace::SliceKind::kAnnotation, start, duration, name, detail, 0, 0, thread);
  }
  void Python(Nanos start, Nanos duration, const char* name, int thread = 1) {
    Slice(trace::SliceKind::kPython, start, duration, name, {}, 0, 0, thread);
  }
  void Api(Nanos start, Nanos duration, std::int64_t correlation, int thread = 1,
           const char* name = "cudaLaunchKernel") {
    Slice(trace::SliceKind::kApi, start, duration, name, {}, 0, correlation, thread);
  }
  void Kernel(Nanos start, Nanos duration, const char* name, std::int64_t correlation = 0,
              std::uint32_t launch = 0, std::uint32_t collective = 0, int stream = 7) {
    builder.Add(trace::WorkInput{.start_ns = start,
                                 .duration_ns = duration,
                                 .name = builder.Intern(name),
                                 .stream = builder.StreamFor(0, stream),
                                 .correlation = correlation,
                                 .launch = launch,
                                 .collective = collective});
  }
  void Memory(Nanos time, std::uint64_t address, Bytes bytes, Bytes allocated = -1,
              Bytes reserved = -1, trace::MemoryDevice type = trace::MemoryDevice::kGpu,
              int thread = 1) {
    builder.Add(trace::MemoryInput{.time_ns = time,
                                   .thread = builder.ThreadFor(100, thread),
                                   .device_type = type,
                                   .address = address,
                                   .bytes = bytes,
                                   .total_allocated = allocated,
                                   .total_reserved = reserved});
  }
  trace::OpDetail Shape(const char* dims) { return {.dims = builder.Intern(dims)}; }
  trace::Trace Finish() { return std::move(builder).Finish(); }

 private:
  void Slice(trace::SliceKind kind, Nanos start, Nanos duration, const char* name,
             const trace::OpDetail& detail, std::int64_t link, std::int64_t id, int thread) {
    builder.Add(trace::SliceInput{.start_ns = start,
                                  .duration_ns = duration,
                                  .name = builder.Intern(name),
                                  .kind = kind,
                                  .thread = builder.ThreadFor(100, thread),
                                  .id = id,
                                  .link = link,
                                  .detail = builder.Detail(detail)});
  }
};

}  // namespace hone::analyze
