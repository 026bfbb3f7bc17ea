// SPDX-License-Identifier: Apache-2.0
// Tables about host threads: slices and the arguments of operators.
#include <algorithm>
#include <array>

#include "export/sql_table_words.h"

namespace hone::exporter {
namespace {

using trace::kNoRow;
using trace::OpDetail;
using trace::RowId;
using trace::SliceKind;
using Id = SqlTableId;

constexpr std::array<const char*, trace::kSliceKindCount> kKinds = {
    "op", "annotation", "api", "python", "os", "overhead", "other", "graph_node"};

// By ApiClass.
constexpr std::array<const char*, 9> kCalls = {"other",    "launch",        "graph_launch",
                                               "copy",     "blocking_copy", "sync",
                                               "allocate", "free",          "event"};

const trace::HostSlices& Host(const SqlRank& r) { return r.trace().host; }
bool Is(const SqlRank& r, RowId i, SliceKind kind) { return Host(r).kind[i] == kind; }

template <Column<RowId> analyze::Lineage::*kColumn>
SqlValue Around(const SqlRank& r, RowId i) {
  return r.Ref(Id::kSlice, (r.lineage().*kColumn)[i]);
}

// A driver call inside a runtime call that blocks is the same wait.
bool Blocks(const SqlRank& r, RowId i) {
  const analyze::ApiCalls& classes = r.calls().classes;
  const RowId parent = Host(r).parent[i];
  return classes.Blocks(i) && (parent == kNoRow || !classes.Blocks(parent));
}

bool Has(const std::vector<RowId>& sorted, RowId row) {
  return std::binary_search(sorted.begin(), sorted.end(), row);
}

template <std::vector<Nanos> SliceTimes::*kColumn>
SqlValue OfDevice(const SqlRank& r, RowId i) {
  return r.trace().device.size() == 0 ? SqlValue() : SqlValue((r.times().*kColumn)[i]);
}

std::vector<SqlColumn> PlaceColumns() {
  return {
      {"ts", kInt, "start, ns on the trace's clock",
       [](const SqlRank& r, RowId i) -> SqlValue { return Host(r).start_ns[i]; }, kSorted},
      {"dur", kInt, "how long, ns",
       [](const SqlRank& r, RowId i) -> SqlValue { return Host(r).duration_ns[i]; }},
      {"name", kText, "operator, function, call or annotation",
       [](const SqlRank& r, RowId i) { return r.Text(Host(r).name[i]); }, kGroup},
      {"kind", kText, "op, annotation, api, python, os, overhead, graph_node or other",
       [](const SqlRank& r, RowId i) -> SqlValue {
         return std::string_view(kKinds[static_cast<std::size_t>(Host(r).kind[i])]);
       }},
      {"thread_id", kInt, "row of thread",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kThread, Host(r).thread[i]); }, kGroup},
      {"step_id", kInt, "step it starts in, as the host marked it",
       [](const SqlRank& r, RowId i) { return r.HostStep(Host(r).start_ns[i]); }, kGroup},
      {"parent_id", kInt, "slice around it on its thread",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, Host(r).parent[i]); }, kIndex},
      {"depth", kInt, "slices around it",
       [](const SqlRank& r, RowId i) -> SqlValue { return std::int64_t{r.times().depth[i]}; }},
      {"op_id", kInt, "innermost operator around it, itself included",
       Around<&analyze::Lineage::op>, kIndex},
      {"top_op_id", kInt, "outermost operator around it, itself included",
       Around<&analyze::Lineage::top_op>, kIndex},
      {"annotation_id", kInt, "innermost annotation around it, itself included",
       Around<&analyze::Lineage::annotation>, kGroup},
      {"module_id", kInt, "innermost nn.Module slice around it, itself included",
       Around<&analyze::Lineage::module>, kGroup},
      {"call_site", kText, "the user's line it was called from, where stacks were recorded",
       [](const SqlRank& r, RowId i) { return r.Text(r.call_sites().Of(i)); }},
  };
}

std::vector<SqlColumn> TimeColumns() {
  return {
      {"self_dur", kInt, "dur without the operators and calls inside it (hone help tables)",
       [](const SqlRank& r, RowId i) -> SqlValue { return r.times().self_ns[i]; }},
      {"once_dur", kInt,
       "part of dur that no slice of its name covers yet: sums count no time twice",
       [](const SqlRank& r, RowId i) -> SqlValue { return r.times().once_ns[i]; }},
      {"outermost", kInt, "1: no slice of the same name and kind around it",
       [](const SqlRank& r, RowId i) { return Flag(r.times().outermost[i]); }},
      {"device_self_dur", kInt,
       "device work it launched itself; NULL without device work in the trace",
       OfDevice<&SliceTimes::device_self_ns>},
      {"device_dur", kInt, "device work launched inside it", OfDevice<&SliceTimes::device_ns>},
      {"kernels", kInt, "kernels it launched itself",
       [](const SqlRank& r, RowId i) {
         return r.trace().device.size() == 0 ? SqlValue()
                                             : SqlValue(std::int64_t{r.times().kernels[i]});
       }},
  };
}

std::vector<SqlColumn> LinkColumns() {
  return {
      {"call", kText,
       "of API calls: launch, graph_launch, copy, blocking_copy, sync, allocate, free, event, "
       "other",
       [](const SqlRank& r, RowId i) {
         if (!Is(r, i, SliceKind::kApi)) return SqlValue();
         return SqlValue(std::string_view(kCalls[static_cast<std::size_t>(r.calls().classes[i])]));
       }},
      {"launches", kInt, "of API calls: 1 when it queues device work and no call around it does",
       [](const SqlRank& r, RowId i) {
         return Is(r, i, SliceKind::kApi) ? Flag(r.calls().launches[i]) : SqlValue();
       }},
      {"blocks", kInt, "of API calls: 1 when the host waits in it for the device",
       [](const SqlRank& r, RowId i) {
         return Is(r, i, SliceKind::kApi) ? Flag(Blocks(r, i)) : SqlValue();
       }},
      {"by_profiler", kInt, "of API calls that block: 1 when the profiler itself waits",
       [](const SqlRank& r, RowId i) {
         if (!Is(r, i, SliceKind::kApi) || !Blocks(r, i)) return SqlValue();
         return Flag(Has(r.calls().by_profiler, i));
       }},
      {"fetches", kInt,
       "1: the program waits for its next batch here; NULL: no loader is in the trace",
       [](const SqlRank& r, RowId i) {
         return r.calls().fetches.empty() ? SqlValue() : Flag(Has(r.calls().fetches, i));
       }},
      {"correlation", kInt, "of API calls: what links it to device work",
       [](const SqlRank& r, RowId i) {
         return Is(r, i, SliceKind::kApi) ? NotZero(Host(r).id[i]) : SqlValue();
       },
       kIndex},
      {"external_id", kInt, "of operators and annotations, as recorded",
       [](const SqlRank& r, RowId i) {
         const bool has = Is(r, i, SliceKind::kOp) || Is(r, i, SliceKind::kAnnotation);
         return has ? NotZero(Host(r).id[i]) : SqlValue();
       }},
      {"sequence", kInt, "of operators: number of the autograd node",
       [](const SqlRank& r, RowId i) {
         return Is(r, i, SliceKind::kOp) ? FromZero(Host(r).link[i]) : SqlValue();
       },
       kIndex},
      {"backward", kInt, "of operators: 1 for the backward pass",
       [](const SqlRank& r, RowId i) {
         if (!Is(r, i, SliceKind::kOp)) return SqlValue();
         return Flag(r.trace().op_details[Host(r).detail[i]].fwd_thread > 0);
       }},
      {"forward_id", kInt, "of backward operators: the forward operator they belong to",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, r.forward()[i]); }, kIndex},
      {"op_detail_id", kInt, "arguments, row of op_detail",
       [](const SqlRank& r, RowId i) { return r.Side(Id::kOpDetail, Host(r).detail[i]); }, kGroup},
  };
}

SqlTable SliceTable() {
  std::vector<SqlColumn> columns = PlaceColumns();
  for (std::vector<SqlColumn> more : {TimeColumns(), LinkColumns()}) {
    columns.insert(columns.end(), more.begin(), more.end());
  }
  SqlTable table = MakeTable<Id::kSlice>(
      "slice", "everything that happens on host threads, sorted by thread and start",
      [](const SqlRank& r) { return Host(r).size(); }, std::move(columns));
  table.by_thread = true;
  return table;
}

const OpDetail& DetailOf(const SqlRank& r, RowId i) { return r.trace().op_details[i + 1]; }

SqlTable OpDetailTable() {
  return MakeTable<Id::kOpDetail>(
      "op_detail", "arguments of operators, each combination once; texts as the file has them",
      [](const SqlRank& r) { return r.trace().op_details.size() - 1; },
      {{"dims", kText, "input shapes",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).dims); }},
       {"types", kText, "input types",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).types); }},
       {"strides", kText, "input strides",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).strides); }},
       {"concrete", kText, "values of plain arguments",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).concrete); }},
       {"module", kText, "module hierarchy",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).module); }},
       {"stack", kText, "call stack, innermost first, frames separated by ;",
        [](const SqlRank& r, RowId i) { return r.Text(DetailOf(r, i).stack); }},
       {"collective_id", kInt, "row of collective", [](const SqlRank& r, RowId i) {
          return r.Side(Id::kCollective, DetailOf(r, i).collective);
        }}});
}

}  // namespace

void AddHostTables(std::vector<SqlTable>& tables) {
  tables.push_back(SliceTable());
  tables.push_back(OpDetailTable());
}

}  // namespace hone::exporter
