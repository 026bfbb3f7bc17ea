// SPDX-License-Identifier: Apache-2.0
// Recording the arguments of every operator would cost a microsecond each, so the recorder does it
// in a few steps. A thread that runs the same sequence of operators in another step is taken to run
// them with the same arguments, position by position, unless two sampled steps disagree there (data
// of varying length).
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "import/hone/session.h"

namespace hone::importer::hone_file {
namespace {

using trace::RowId;

struct Op {
  Nanos start_ns, duration_ns;
  RowId row;
  bool operator<(const Op& other) const {
    if (start_ns != other.start_ns) return start_ns < other.start_ns;
    if (duration_ns != other.duration_ns) return duration_ns > other.duration_ns;
    return row < other.row;
  }
};

// Operators of one thread in one step, as a range of its operators.
struct Stretch {
  std::size_t begin, end;
  std::uint64_t hash;
};

// Of a sequence of operators: what each position was called with. 0: not seen; kDiffers: more than
// one thing.
constexpr std::uint32_t kDiffers = UINT32_MAX;
struct Sequence {
  const Stretch* first;
  std::vector<std::uint32_t> details;  // rows of op_details
};

class Spreader {
 public:
  Spreader(trace::Builder& builder, const std::vector<Nanos>& boundaries)
      : builder_(builder), trace_(builder.trace()), boundaries_(boundaries) {}

  void Thread(std::vector<Op>& ops) {
    std::sort(ops.begin(), ops.end());
    const std::vector<Stretch> stretches = Cut(ops);
    std::unordered_multimap<std::uint64_t, Sequence> sequences;
    for (const Stretch& stretch : stretches) Learn(ops, stretch, sequences);
    for (const Stretch& stretch : stretches) Apply(ops, stretch, sequences);
  }

  void Report() {
    trace_.losses.Add(LossKind::kArgumentsInferred, inferred_, 0,
                      unknown_ == 0
                          ? std::string()
                          : WithThousands(unknown_) +
                                " operators have none: their step ran other operators, or "
                                "sampled steps differ");
  }

 private:
  bool HasArguments(RowId row) const {
    return trace_.op_details[trace_.host.detail[row]].dims != StringId::kEmpty;
  }

  std::vector<Stretch> Cut(const std::vector<Op>& ops) const {
    std::vector<Stretch> stretches;
    std::size_t step = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t before = step;
      while (step < boundaries_.size() && boundaries_[step] <= ops[i].start_ns) ++step;
      if (stretches.empty() || step != before) stretches.push_back({i, i, 0});
      Stretch& stretch = stretches.back();
      stretch.end = i + 1;
      stretch.hash = (stretch.hash ^ static_cast<std::uint64_t>(trace_.host.name[ops[i].row])) *
                         0x9E3779B97F4A7C15ULL +
                     1;
    }
    return stretches;
  }

  bool SameNames(const std::vector<Op>& ops, const Stretch& a, const Stretch& b) const {
    if (a.end - a.begin != b.end - b.begin) return false;
    for (std::size_t i = 0; i < a.end - a.begin; ++i) {
      if (trace_.host.name[ops[a.begin + i].row] != trace_.host.name[ops[b.begin + i].row]) {
        return false;
      }
    }
    return true;
  }

  Sequence* Find(const std::vector<Op>& ops, const Stretch& stretch,
                 std::unordered_multimap<std::uint64_t, Sequence>& sequences) const {
    const auto [first, last] = sequences.equal_range(stretch.hash);
    for (auto it = first; it != last; ++it) {
      if (SameNames(ops, *it->second.first, stretch)) return &it->second;
    }
    return nullptr;
  }

  void Learn(const std::vector<Op>& ops, const Stretch& stretch,
             std::unordered_multimap<std::uint64_t, Sequence>& sequences) const {
    const bool sampled = std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(stretch.begin),
                                     ops.begin() + static_cast<std::ptrdiff_t>(stretch.end),
                                     [&](const Op& op) { return HasArguments(op.row); });
    if (!sampled) return;
    Sequence* sequence = Find(ops, stretch, sequences);
    if (sequence == nullptr) {
      sequence = &sequences.emplace(stretch.hash, Sequence{&stretch, {}})->second;
      sequence->details.resize(stretch.end - stretch.begin, 0);
    }
    for (std::size_t i = 0; i < sequence->details.size(); ++i) {
      const std::uint32_t seen = trace_.host.detail[ops[stretch.begin + i].row];
      std::uint32_t& kept = sequence->details[i];
      const trace::OpDetail& now = trace_.op_details[seen];
      if (now.dims == StringId::kEmpty || kept == kDiffers) continue;
      const trace::OpDetail& then = trace_.op_details[kept];
      if (kept != 0 && (then.dims != now.dims || then.types != now.types)) {
        kept = kDiffers;
      } else {
        kept = seen;
      }
    }
  }

  void Apply(const std::vector<Op>& ops, const Stretch& stretch,
             std::unordered_multimap<std::uint64_t, Sequence>& sequences) {
    const Sequence* sequence = Find(ops, stretch, sequences);
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      const RowId row = ops[i].row;
      if (HasArguments(row)) continue;
      const std::uint32_t from = sequence == nullptr ? 0 : sequence->details[i - stretch.begin];
      if (from == 0 || from == kDiffers) {
        // Some operators have no tensors at all; of a sequence that was sampled that is known.
        if (from == kDiffers || sequence == nullptr) ++unknown_;
        continue;
      }
      trace::OpDetail detail = trace_.op_details[trace_.host.detail[row]];
      detail.dims = trace_.op_details[from].dims;
      detail.types = trace_.op_details[from].types;
      detail.concrete = trace_.op_details[from].concrete;
      trace_.host.detail[row] = builder_.Detail(detail);
      ++inferred_;
    }
  }

  trace::Builder& builder_;
  trace::Trace& trace_;
  const std::vector<Nanos>& boundaries_;
  std::uint64_t inferred_ = 0, unknown_ = 0;
};

}  // namespace

void SpreadArguments(trace::Builder& builder, const std::vector<Nanos>& boundaries) {
  const trace::Trace& trace = builder.trace();
  if (boundaries.empty()) return;
  std::vector<std::vector<Op>> threads(trace.threads.size());
  std::vector<bool> sampled(trace.threads.size(), false);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != trace::SliceKind::kOp) continue;
    const std::uint16_t thread = trace.host.thread[i];
    threads[thread].push_back({trace.host.start_ns[i], trace.host.duration_ns[i], i});
    if (trace.op_details[trace.host.detail[i]].dims != StringId::kEmpty) sampled[thread] = true;
  }
  Spreader spreader(builder, boundaries);
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    if (sampled[thread]) spreader.Thread(threads[thread]);
  }
  spreader.Report();
}

}  // namespace hone::importer::hone_file
