// SPDX-License-Identifier: Apache-2.0
#include "diff/place_index.h"

#include <algorithm>
#include <tuple>

namespace hone::diff {

using analyze::WorkClass;
using trace::kNoRow;
using trace::RowId;

void MeasureUnits(std::vector<Place>& places, PerUnit unit) {
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.work_class, a.first) < std::tie(b.work_class, b.first);
  });
  Spread sums(unit), exposed(unit);
  for (Place& place : places) {
    place.amount.count = unit(place.count);
    place.amount.sum_ns = sums.Take(place.sum_ns);
    place.amount.exposed_ns = exposed.Take(place.exposed_ns);
  }
}

Place& PlaceIndex::At(RowId around, RowId op, StringId kernel, WorkClass work_class,
                      RowId position) {
  const PathId path = around == kNoRow ? kNoPath : host_.path(around);
  const StringId shape = op == kNoRow
                             ? StringId::kEmpty
                             : host_.Shared(trace_.op_details[trace_.host.detail[op]].dims);
  const StringId name = host_.Shared(kernel);
  const std::uint32_t outer =
      outer_.IdOf(analyze::PairKey(path, static_cast<std::uint32_t>(shape)));
  const std::uint32_t inner = inner_.IdOf(
      analyze::PairKey(static_cast<std::uint32_t>(name),
                       op == kNoRow ? 0U : static_cast<std::uint32_t>(trace_.host.name[op])));
  const std::uint32_t id =
      index_.IdOf(static_cast<std::uint64_t>(outer) << 32 | static_cast<std::uint64_t>(inner) << 2 |
                  static_cast<std::uint64_t>(work_class));
  if (id == places.size()) {
    Place& place = places.emplace_back();
    place.path = path;
    place.op = op == kNoRow ? StringId::kEmpty : host_.Shared(trace_.host.name[op]);
    place.shape = shape;
    place.kernel = name;
    place.work_class = work_class;
    place.phase = around == kNoRow ? Phase::kUnknown : host_.phase(around);
    place.first = position;
  }
  return places[id];
}

}  // namespace hone::diff
