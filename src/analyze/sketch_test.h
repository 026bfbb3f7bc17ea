// SPDX-License-Identifier: Apache-2.0
// TraceSketch: small traces for unit tests, in microseconds.
#pragma once

#include <string_view>
#include <utility>

#include "trace/builder.h"

namespace hone::analyze {

class TraceSketch {
 public:
  static constexpr std::int64_t kMain = 100, kAutograd = 200;  // thread ids

  TraceSketch& Slice(trace::SliceKind kind, std::string_view name, double begin_us, double end_us,
                     std::int64_t thread = kMain, std::int64_t id = 0) {
    trace::SliceInput slice;
    slice.start_ns = Ns(begin_us);
    slice.duration_ns = Ns(end_us) - Ns(begin_us);
    slice.name = builder_.Intern(name);
    slice.kind = kind;
    slice.thread = builder_.ThreadFor(1, thread);
    slice.id = id;
    builder_.Add(slice);
    return *this;
  }
  TraceSketch& Op(std::string_view name, double begin_us, double end_us,
                  std::int64_t thread = kMain) {
    return Slice(trace::SliceKind::kOp, name, begin_us, end_us, thread);
  }
  TraceSketch& Annotation(std::string_view name, double begin_us, double end_us,
                          std::int64_t thread = kMain) {
    return Slice(trace::SliceKind::kAnnotation, name, begin_us, end_us, thread);
  }
  TraceSketch& Python(std::string_view name, double begin_us, double end_us,
                      std::int64_t thread = kMain) {
    return Slice(trace::SliceKind::kPython, name, begin_us, end_us, thread);
  }
  TraceSketch& Call(std::string_view name, double begin_us, double end_us,
                    std::int64_t correlation = 0, std::int64_t thread = kMain) {
    return Slice(trace::SliceKind::kApi, name, begin_us, end_us, thread, correlation);
  }
  // A launch of 5 µs that starts then.
  TraceSketch& Launch(double begin_us, std::int64_t correlation, std::int64_t thread = kMain) {
    return Call("cudaLaunchKernel", begin_us, begin_us + 5, correlation, thread);
  }

  TraceSketch& Kernel(double begin_us, double end_us, std::int64_t correlation = 0,
                      std::int64_t stream = 7, std::string_view name = "kernel") {
    trace::WorkInput work;
    work.name = builder_.Intern(name);
    return Add(work, begin_us, end_us, correlation, stream);
  }
  TraceSketch& Copy(double begin_us, double end_us, std::int64_t correlation,
                    trace::CopyDirection direction, trace::MemoryKind source,
                    trace::MemoryKind target, Bytes bytes = -1, std::int64_t stream = 7) {
    trace::WorkInput work;
    work.name = builder_.Intern("Memcpy");
    work.kind = trace::WorkKind::kCopy;
    work.direction = direction;
    work.source = source;
    work.target = target;
    work.bytes = bytes;
    return Add(work, begin_us, end_us, correlation, stream);
  }
  TraceSketch& CopyFromPageable(double begin_us, double end_us, std::int64_t correlation) {
    return Copy(begin_us, end_us, correlation, trace::CopyDirection::kHostToDevice,
                trace::MemoryKind::kPageable, trace::MemoryKind::kDevice, 1'000'000);
  }

  trace::Builder& builder() { return builder_; }
  trace::Trace Finish() { return std::move(builder_).Finish(); }

  static Nanos Ns(double us) { return static_cast<Nanos>(us * 1000); }

 private:
  TraceSketch& Add(trace::WorkInput work, double begin_us, double end_us, std::int64_t correlation,
                   std::int64_t stream) {
    work.start_ns = Ns(begin_us);
    work.duration_ns = Ns(end_us) - Ns(begin_us);
    work.correlation = correlation;
    work.stream = builder_.StreamFor(0, stream);
    builder_.Add(work);
    return *this;
  }

  trace::Builder builder_;
};

}  // namespace hone::analyze
