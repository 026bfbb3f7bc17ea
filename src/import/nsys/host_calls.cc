// SPDX-License-Identifier: Apache-2.0
// What host threads do besides NVTX: CUDA calls, operating-system calls, the profiler's own work.
#include "import/nsys/session.h"

namespace hone::importer::nsys {
namespace {

enum Column { kStart, kEnd, kTid, kPid, kName, kCorrelation, kOverheadType };

// "cudaMemcpyAsync_ptsz_v7000" is cudaMemcpyAsync: nsys adds the version of the interface and the
// compiler's per-thread default stream. Driver calls keep their "_v2", which is part of the name.
std::string_view WithoutVersion(std::string_view name) {
  const std::size_t suffix = name.rfind("_v");
  if (suffix != std::string_view::npos && name.size() - suffix >= 2 + 4 &&
      name.find_first_not_of("0123456789", suffix + 2) == std::string_view::npos) {
    name = name.substr(0, suffix);
  }
  for (const std::string_view stream : {"_ptsz", "_ptds"}) {
    if (name.ends_with(stream)) name.remove_suffix(stream.size());
  }
  return name;
}

void ReadCalls(Session& session, const char* table, trace::SliceKind kind) {
  session.database.Scan(
      table,
      {"start", "end", "globalTid", "globalPid", "nameId", "correlationId", "overheadType", "name"},
      [&](const Row& row) {
        Span span;
        if (!session.ReadSpan(row, kStart, kEnd, span)) return;
        trace::SliceInput slice;
        slice.start_ns = span.start_ns;
        slice.duration_ns = span.duration_ns;
        slice.kind = kind;
        slice.thread = session.ThreadOf(row, kTid, kPid);
        // Newer exports name calls by nameId, a few by text in `name`.
        const int name = row.Has(kName) ? kName : kOverheadType + 1;
        if (kind == trace::SliceKind::kApi) {
          slice.id = row.Int(kCorrelation);
          slice.name = session.builder.Intern(WithoutVersion(session.strings.Resolve(row, name)));
        } else {
          slice.name = session.strings.Intern(row, name, session.builder.trace().strings);
        }
        if (slice.name == StringId::kEmpty && kind == trace::SliceKind::kOverhead) {
          slice.name = session.builder.Intern(session.words.Overhead(row.Int(kOverheadType, -1)));
        }
        session.builder.Add(slice);
      });
}

// When each node of a CUDA graph was made, and from which node it was copied: what lets a kernel of
// a graph be told its operator.
void ReadGraphNodes(Session& session) {
  enum NodeColumn { kAt, kNodeTid, kNodePid, kNode, kOriginal };
  session.database.Scan("CUDA_GRAPH_NODE_EVENTS",
                        {"start", "globalTid", "globalPid", "graphNodeId", "originalGraphNodeId"},
                        [&](const Row& row) {
                          trace::SliceInput slice;
                          if (!session.ReadTime(row, kAt, slice.start_ns)) return;
                          slice.kind = trace::SliceKind::kGraphNode;
                          slice.thread = session.ThreadOf(row, kNodeTid, kNodePid);
                          slice.id = row.Int(kNode);
                          slice.link = row.Int(kOriginal);
                          session.builder.Add(slice);
                        });
}

}  // namespace

void ReadHostCalls(Session& session) {
  ReadGraphNodes(session);
  ReadCalls(session, "CUPTI_ACTIVITY_KIND_RUNTIME", trace::SliceKind::kApi);
  ReadCalls(session, "OSRT_API", trace::SliceKind::kOs);
  ReadCalls(session, "CUPTI_ACTIVITY_KIND_OVERHEAD", trace::SliceKind::kOverhead);
  ReadCalls(session, "PROFILER_OVERHEAD", trace::SliceKind::kOverhead);
}

}  // namespace hone::importer::nsys
