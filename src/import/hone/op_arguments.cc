// SPDX-License-Identifier: Apache-2.0
// Recording the arguments of every operator would cost a microsecond each, so the recorder does it
// in a few steps. A thread that runs the same sequence of operators in another step is taken to run
// them with the same arguments, position by position, unless two sampled steps disagree there (data
// of varying length). Where only a part of the step is another (images that are flipped or not),
// the same holds for what it has in common with a sampled step at its end and at its beginning.
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

// Of a sequence of operators: what each position was called with. 0: nothing that is recorded;
// kDiffers: more than one thing; kUnseen: no sampled step has this position.
constexpr std::uint32_t kDiffers = UINT32_MAX, kUnseen = UINT32_MAX - 1;
// Fewer names in a row may be the same by accident.
constexpr std::size_t kLeastInCommon = 16;
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
    Sequences sequences;
    for (const Stretch& stretch : stretches) Learn(ops, stretch, sequences);
    std::vector<std::uint32_t> pieces;
    for (const Stretch& stretch : stretches) {
      const Sequence* whole = Find(ops, stretch, sequences);
      if (whole == nullptr) Piece(ops, stretch, sequences, pieces);
      Apply(ops, stretch, whole != nullptr ? whole->details : pieces);
    }
  }

  void Report() {
    trace_.losses.Add(LossKind::kArgumentsInferred, inferred_, 0,
                      unknown_ == 0
                          ? std::string()
                          : WithThousands(unknown_) +
                                " operators have none: no sampled step ran them in this place, or "
                                "sampled steps differ");
  }

 private:
  // Few: the recorder samples two steps of a window.
  using Sequences = std::unordered_multimap<std::uint64_t, Sequence>;

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

  Sequence* Find(const std::vector<Op>& ops, const Stretch& stretch, Sequences& sequences) const {
    const auto [first, last] = sequences.equal_range(stretch.hash);
    for (auto it = first; it != last; ++it) {
      if (SameNames(ops, *it->second.first, stretch)) return &it->second;
    }
    return nullptr;
  }

  void Learn(const std::vector<Op>& ops, const Stretch& stretch, Sequences& sequences) const {
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
      if (trace_.op_details[seen].dims != StringId::kEmpty) Agree(sequence->details[i], seen);
    }
  }

  // One more word about a position.
  void Agree(std::uint32_t& kept, std::uint32_t seen) const {
    if (kept == kDiffers || seen == 0) return;
    if (kept == 0 || kept == kUnseen || seen == kDiffers) {
      kept = seen;
      return;
    }
    const trace::OpDetail& then = trace_.op_details[kept];
    const trace::OpDetail& now = trace_.op_details[seen];
    if (then.dims != now.dims || then.types != now.types) kept = kDiffers;
  }

  // What the sampled steps say of a step that none of them is like: of its longest ends in common
  // with each, then of beginnings.
  void Piece(const std::vector<Op>& ops, const Stretch& stretch, const Sequences& sequences,
             std::vector<std::uint32_t>& pieces) const {
    const std::size_t size = stretch.end - stretch.begin;
    const auto name = [&](std::size_t i) { return trace_.host.name[ops[i].row]; };
    pieces.assign(size, kUnseen);
    const auto say = [&](std::size_t at, std::uint32_t detail) {
      if (pieces[at] == kUnseen) pieces[at] = 0;
      Agree(pieces[at], detail);
    };
    std::size_t longest = 0;
    for (const auto& [hash, sequence] : sequences) {
      const Stretch& other = *sequence.first;
      const std::size_t both = std::min(size, other.end - other.begin);
      std::size_t same = 0;
      while (same < both && name(stretch.end - 1 - same) == name(other.end - 1 - same)) ++same;
      if (same < kLeastInCommon) continue;
      for (std::size_t i = 1; i <= same; ++i) {
        say(size - i, sequence.details[sequence.details.size() - i]);
      }
      longest = std::max(longest, same);
    }
    for (const auto& [hash, sequence] : sequences) {
      const Stretch& other = *sequence.first;
      const std::size_t both = std::min(size - longest, other.end - other.begin);
      std::size_t same = 0;
      while (same < both && name(stretch.begin + same) == name(other.begin + same)) ++same;
      if (same < kLeastInCommon) continue;
      for (std::size_t i = 0; i < same; ++i) say(i, sequence.details[i]);
    }
  }

  void Apply(const std::vector<Op>& ops, const Stretch& stretch,
             const std::vector<std::uint32_t>& details) {
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      const RowId row = ops[i].row;
      if (HasArguments(row)) continue;
      const std::uint32_t from = details[i - stretch.begin];
      if (from == 0 || from == kDiffers || from == kUnseen) {
        // Some operators have no tensors at all; of a position that was sampled that is known.
        unknown_ += from != 0;
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
