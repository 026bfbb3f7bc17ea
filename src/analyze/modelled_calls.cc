// SPDX-License-Identifier: Apache-2.0
#include "analyze/modelled_calls.h"

#include <optional>

namespace hone::analyze {
namespace {

std::uint16_t Bit(ModelKind kind) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind));
}

// ModelKind of every operator name, looked up once a name.
class KindByName {
 public:
  explicit KindByName(const trace::Trace& trace) : trace_(trace), kinds_(trace.strings.size()) {}

  ModelKind operator[](StringId name) {
    std::optional<ModelKind>& kind = kinds_[static_cast<std::uint32_t>(name)];
    if (!kind) kind = ModelKindOf(trace_.Name(name));
    return *kind;
  }

 private:
  const trace::Trace& trace_;
  std::vector<std::optional<ModelKind>> kinds_;
};

}  // namespace

ModelledCalls::ModelledCalls(const trace::Trace& trace) : by_detail_(trace.op_details.size(), 0) {
  const trace::HostSlices& host = trace.host;
  const std::size_t rows = host.size();
  entry_of_.assign(rows, 0);
  KindByName kinds(trace);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t detail = host.detail[i];
    if (host.kind[i] != trace::SliceKind::kOp || detail == 0 || detail >= by_detail_.size() ||
        trace.op_details[detail].dims == StringId::kEmpty) {
      continue;
    }
    any_shapes_ = true;
    const ModelKind kind = kinds[host.name[i]];
    if (kind != ModelKind::kNone) {
      entry_of_[i] = FindOrAdd(trace, host.name[i], detail, kind);
    }
  }

  // Kinds modelled inside each row: children stand after their parents.
  std::vector<std::uint16_t> inside(rows, 0);
  for (std::size_t i = rows; i-- > 0;) {
    const Entry& entry = entries_[entry_of_[i]];
    const std::uint16_t own = entry.modelled ? Bit(entry.kind) : std::uint16_t{0};
    const trace::RowId parent = host.parent[i];
    if (parent != trace::kNoRow) inside[parent] |= inside[i] | own;
    if ((inside[i] & own) != 0 || !entry.modelled) entry_of_[i] = 0;
  }

  owner_.assign(rows, trace::kNoRow);
  for (std::size_t i = 0; i < rows; ++i) {
    const trace::RowId parent = host.parent[i];
    if (entry_of_[i] != 0) {
      owner_[i] = static_cast<trace::RowId>(i);
    } else if (parent != trace::kNoRow) {
      owner_[i] = owner_[parent];
    }
  }
}

std::size_t ModelledCalls::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  for (const StringId id : {key.op, key.dims, key.types, key.concrete}) {
    hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

std::uint32_t ModelledCalls::FindOrAdd(const trace::Trace& trace, StringId op, std::uint32_t detail,
                                       ModelKind kind) {
  // Few operators share one set of arguments (mm and relu of a [64, 64]); the chain is at most as
  // long as the table of models.
  for (std::uint32_t at = by_detail_[detail]; at != 0; at = links_[at].next) {
    if (entries_[links_[at].entry].op == op) return links_[at].entry;
  }
  const trace::OpDetail& texts = trace.op_details[detail];
  const auto [found, added] = by_key_.try_emplace(Key{op, texts.dims, texts.types, texts.concrete},
                                                  static_cast<std::uint32_t>(entries_.size()));
  if (added) {
    Entry& entry = entries_.emplace_back();
    entry.op = op;
    entry.detail = detail;
    entry.kind = kind;
    const auto work =
        ModelOp(trace.Name(op), ParseArguments(trace.Name(texts.dims), trace.Name(texts.types),
                                               trace.Name(texts.concrete)));
    entry.modelled = work.has_value();
    if (work) entry.work = *work;
  }
  links_.push_back({found->second, by_detail_[detail]});
  by_detail_[detail] = static_cast<std::uint32_t>(links_.size() - 1);
  return found->second;
}

}  // namespace hone::analyze
