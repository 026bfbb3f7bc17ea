// SPDX-License-Identifier: Apache-2.0
// Views that answer what people ask, in milliseconds, as text so that both `hone sql` and an
// exported file have them. A view joins by row ids only: those are unique over ranks.
#include "export/sql_schema.h"

namespace hone::exporter {
namespace {

const char* const kRankWhat = "rank the row is of";

SqlView Timeline() {
  return {"timeline",
          "slices and device work together, in ms from the trace's first event",
          {{"rank", kRankWhat},
           {"place", "host or device"},
           {"id", "row of slice or device_work"},
           {"start_ms", "start, from the first event"},
           {"ms", "how long"},
           {"kind", "as in the table"},
           {"name", "as in the table"},
           {"lane_id", "row of thread or stream"},
           {"step_id", "row of step"}},
          "SELECT s.rank AS rank, 'host' AS place, s.id AS id,\n"
          "  round((s.ts - t.start_ts) / 1e6, 6) AS start_ms, round(s.dur / 1e6, 6) AS ms,\n"
          "  s.kind AS kind, s.name AS name, s.thread_id AS lane_id, s.step_id AS step_id\n"
          "FROM trace t JOIN slice s ON s.rank = t.rank\n"
          "UNION ALL\n"
          "SELECT w.rank, 'device', w.id, round((w.ts - t.start_ts) / 1e6, 6),\n"
          "  round(w.dur / 1e6, 6), w.kind, w.name, w.stream_id, w.step_id\n"
          "FROM trace t JOIN device_work w ON w.rank = t.rank"};
}

SqlView Ops() {
  return {"ops",
          "operators and annotations by name, as hone analyze --table ops counts them",
          {{"rank", kRankWhat},
           {"name", "operator or annotation"},
           {"kind", "op or annotation"},
           {"calls", "how often"},
           {"host_ms", "with what it calls; nested calls count once"},
           {"host_self_ms", "without the operators and calls inside"},
           {"device_ms", "device work launched inside it"},
           {"device_self_ms", "device work it launched itself"},
           {"kernels", "launched by itself"}},
          "SELECT rank, name, kind, count(*) AS calls,\n"
          "  round(sum(once_dur) / 1e6, 6) AS host_ms,\n"
          "  round(sum(self_dur) / 1e6, 6) AS host_self_ms,\n"
          "  round(sum(device_dur * outermost) / 1e6, 6) AS device_ms,\n"
          "  round(sum(device_self_dur) / 1e6, 6) AS device_self_ms,\n"
          "  sum(kernels) AS kernels\n"
          "FROM slice WHERE kind IN ('op', 'annotation')\n"
          "GROUP BY rank, name, kind\n"
          "ORDER BY sum(device_self_dur) DESC, sum(self_dur) DESC"};
}

SqlView Kernels() {
  return {"kernels",
          "device work by name",
          {{"rank", kRankWhat},
           {"name", "kernel, or the kind of copy"},
           {"kind", "kernel, copy, set or graph"},
           {"class", "compute, communication or copy"},
           {"family", "matmul, elementwise, …"},
           {"precision", "where the name tells"},
           {"calls", "how often"},
           {"ms", "time of all together"},
           {"mean_us", "of one"},
           {"max_us", "the longest"},
           {"share", "of all device work of the rank, 0 to 1"}},
          "SELECT rank, name, kind, class, family, precision, count(*) AS calls,\n"
          "  round(sum(dur) / 1e6, 6) AS ms, round(avg(dur) / 1e3, 3) AS mean_us,\n"
          "  round(max(dur) / 1e3, 3) AS max_us,\n"
          "  round(sum(dur) * 1.0 / sum(sum(dur)) OVER (PARTITION BY rank), 6) AS share\n"
          "FROM device_work GROUP BY rank, name, kind, class\n"
          "ORDER BY sum(dur) DESC"};
}

SqlView KernelOfOp() {
  return {"kernel_of_op",
          "each piece of device work with the operator and the line that launched it",
          {{"rank", kRankWhat},
           {"work_id", "row of device_work"},
           {"step_id", "step it ran in"},
           {"ts", "start, ns"},
           {"kernel", "its name"},
           {"kind", "kernel, copy, set or graph"},
           {"us", "how long"},
           {"launch_delay_us", "from the call's end to the start"},
           {"op_id", "row of slice; NULL: no operator is known"},
           {"op", "innermost operator around the launch"},
           {"top_op", "outermost"},
           {"dims", "input shapes of the operator"},
           {"call_site", "the user's line, where stacks were recorded"}},
          "SELECT w.rank AS rank, w.id AS work_id, w.step_id AS step_id, w.ts AS ts,\n"
          "  w.name AS kernel, w.kind AS kind, round(w.dur / 1e3, 3) AS us,\n"
          "  round(w.launch_delay / 1e3, 3) AS launch_delay_us, w.op_id AS op_id,\n"
          "  o.name AS op, p.name AS top_op, d.dims AS dims,\n"
          "  coalesce(o.call_site, a.call_site) AS call_site\n"
          "FROM device_work w LEFT JOIN slice o ON o.id = w.op_id\n"
          "  LEFT JOIN slice p ON p.id = w.top_op_id LEFT JOIN slice a ON a.id = w.api_id\n"
          "  LEFT JOIN op_detail d ON d.id = o.op_detail_id"};
}

SqlView StepOps() {
  return {"step_ops",
          "operators by step: what the host did in it, and the device work launched there",
          {{"rank", kRankWhat},
           {"step", "number of the step"},
           {"op", "operator"},
           {"calls", "in this step"},
           {"host_self_ms", "without the operators and calls inside"},
           {"device_self_ms", "device work it launched itself"},
           {"kernels", "launched by itself"}},
          "SELECT s.rank AS rank, st.number AS step, s.name AS op, count(*) AS calls,\n"
          "  round(sum(s.self_dur) / 1e6, 6) AS host_self_ms,\n"
          "  round(sum(s.device_self_dur) / 1e6, 6) AS device_self_ms, sum(s.kernels) AS kernels\n"
          "FROM slice s JOIN step st ON st.id = s.step_id WHERE s.kind = 'op'\n"
          "GROUP BY s.step_id, s.name\n"
          "ORDER BY s.step_id, sum(s.device_self_dur) DESC, sum(s.self_dur) DESC"};
}

SqlView Gaps() {
  return {
      "gaps",
      "moments without work on the main device, longest first",
      {{"rank", kRankWhat},
       {"gap_id", "row of idle_gap"},
       {"step", "number of the step it starts in"},
       {"start_ms", "from the first event"},
       {"ms", "how long"},
       {"cause", "why (hone help idle)"},
       {"next_work", "what ends it"},
       {"blamed", "what the host was doing"},
       {"call_site", "and from which line, where stacks were recorded"}},
      "SELECT g.rank AS rank, g.id AS gap_id, st.number AS step,\n"
      "  round((g.ts - t.start_ts) / 1e6, 6) AS start_ms, round(g.dur / 1e6, 6) AS ms,\n"
      "  g.cause AS cause, w.name AS next_work, s.name AS blamed, s.call_site AS call_site\n"
      "FROM trace t JOIN idle_gap g ON g.rank = t.rank\n"
      "  LEFT JOIN step st ON st.id = g.step_id LEFT JOIN device_work w ON w.id = g.next_work_id\n"
      "  LEFT JOIN slice s ON s.id = g.blamed_id\n"
      "ORDER BY g.dur DESC"};
}

SqlView Syncs() {
  return {"syncs",
          "calls in which the host waits for the device, longest first",
          {{"rank", kRankWhat},
           {"slice_id", "row of slice"},
           {"step", "number of the step"},
           {"call", "cudaStreamSynchronize, …"},
           {"op", "outermost operator around it"},
           {"call_site", "the user's line, where stacks were recorded"},
           {"ms", "how long"},
           {"by_profiler", "1: the profiler itself waits"}},
          "SELECT s.rank AS rank, s.id AS slice_id, st.number AS step, s.name AS call,\n"
          "  o.name AS op, s.call_site AS call_site, round(s.dur / 1e6, 6) AS ms,\n"
          "  s.by_profiler AS by_profiler\n"
          "FROM slice s LEFT JOIN slice o ON o.id = s.top_op_id LEFT JOIN step st ON st.id = "
          "s.step_id\n"
          "WHERE s.blocks = 1\n"
          "ORDER BY s.dur DESC"};
}

SqlView Copies() {
  return {"copies",
          "copies between host and device, one row each",
          {{"rank", kRankWhat},
           {"work_id", "row of device_work"},
           {"step", "number of the step it ran in"},
           {"direction", "host to device, …"},
           {"source", "pageable, pinned, device, …"},
           {"target", "likewise"},
           {"bytes", "how much"},
           {"ms", "how long"},
           {"gb_s", "GB (10^9 bytes) a second"},
           {"op", "outermost operator around it"},
           {"call_site", "the user's line, where stacks were recorded"}},
          "SELECT w.rank AS rank, w.id AS work_id, st.number AS step, w.direction AS direction,\n"
          "  w.source AS source, w.target AS target, w.bytes AS bytes,\n"
          "  round(w.dur / 1e6, 6) AS ms, round(w.bytes * 1.0 / nullif(w.dur, 0), 3) AS gb_s,\n"
          "  o.name AS op, a.call_site AS call_site\n"
          "FROM device_work w LEFT JOIN step st ON st.id = w.step_id\n"
          "  LEFT JOIN slice o ON o.id = w.top_op_id LEFT JOIN slice a ON a.id = w.api_id\n"
          "WHERE w.kind = 'copy'"};
}

SqlView MemoryCurve() {
  return {"memory_curve",
          "what is allocated after each event of the allocator",
          {{"rank", kRankWhat},
           {"id", "row of memory"},
           {"at_ms", "from the first event"},
           {"device_type", "gpu, host or other"},
           {"device", "number of the device"},
           {"allocated_mib", "MiB (2^20 bytes)"},
           {"reserved_mib", "held by the allocator"}},
          "SELECT m.rank AS rank, m.id AS id, round((m.ts - t.start_ts) / 1e6, 6) AS at_ms,\n"
          "  m.device_type AS device_type, m.device AS device,\n"
          "  round(m.allocated / 1048576.0, 3) AS allocated_mib,\n"
          "  round(m.total_reserved / 1048576.0, 3) AS reserved_mib\n"
          "FROM trace t JOIN memory m ON m.rank = t.rank"};
}

SqlView MemoryPeak() {
  return {"memory_peak",
          "the moment at which most is allocated, of each device",
          {{"rank", kRankWhat},
           {"device_type", "gpu, host or other"},
           {"device", "number of the device"},
           {"peak_id", "row of memory that reaches it"},
           {"at_ms", "from the first event"},
           {"allocated_mib", "MiB (2^20 bytes)"}},
          // Beside max(), SQLite takes the other columns from the row that has it.
          "SELECT m.rank AS rank, m.device_type AS device_type, m.device AS device,\n"
          "  m.id AS peak_id, round((m.ts - t.start_ts) / 1e6, 6) AS at_ms,\n"
          "  round(max(m.allocated) / 1048576.0, 3) AS allocated_mib\n"
          "FROM trace t JOIN memory m ON m.rank = t.rank\n"
          "GROUP BY m.rank, m.device_type, m.device"};
}

SqlView LiveAtPeak() {
  return {
      "live_at_peak",
      "allocations alive at memory_peak, by the operator and line that made them, largest first",
      {{"rank", kRankWhat},
       {"device_type", "gpu, host or other"},
       {"device", "number of the device"},
       {"op", "operator; NULL: outside of any"},
       {"call_site", "the user's line, where it is known"},
       {"allocations", "how many"},
       {"mib", "MiB (2^20 bytes); what lived before the trace began is not in it"}},
      "SELECT p.rank AS rank, p.device_type AS device_type, p.device AS device, o.name AS op,\n"
      "  m.call_site AS call_site, count(*) AS allocations, round(sum(m.bytes) / 1048576.0, 3) AS "
      "mib\n"
      "FROM memory_peak p JOIN memory m ON m.rank = p.rank AND m.device_type = p.device_type\n"
      "    AND m.device IS p.device AND m.bytes > 0 AND m.id <= p.peak_id\n"
      "    AND (m.freed_by_id IS NULL OR m.freed_by_id > p.peak_id)\n"
      "  LEFT JOIN slice o ON o.id = m.op_id\n"
      "GROUP BY p.rank, p.device_type, p.device, o.name, m.call_site\n"
      "ORDER BY sum(m.bytes) DESC"};
}

SqlView PythonLines() {
  return {"python_lines",
          "time by line of the user's Python code, by self time",
          {{"rank", kRankWhat},
           {"line", "train.py(46): main"},
           {"calls", "calls; of samples: those with it on the stack"},
           {"ms", "with what it calls"},
           {"self_ms", "without"},
           {"error_ms", "of samples: one standard deviation of self_ms"},
           {"device_ms", "device work launched there"}},
          "SELECT rank, name AS line, calls, round(dur / 1e6, 6) AS ms,\n"
          "  round(self_dur / 1e6, 6) AS self_ms, round(error_dur / 1e6, 6) AS error_ms,\n"
          "  round(device_dur / 1e6, 6) AS device_ms\n"
          "FROM python_time WHERE what = 'line'\n"
          "ORDER BY self_dur DESC, device_dur DESC"};
}

SqlView PerStep() {
  return {
      "per_step",
      "each step: how long, where the main device's time goes, and what the host did",
      {{"rank", kRankWhat},
       {"step", "its number"},
       {"warm_up", "1: left out of steady figures"},
       {"ms", "how long"},
       {"busy_ms", "device busy"},
       {"compute_ms", "device computing"},
       {"exposed_comm_ms", "communication that no compute hides"},
       {"exposed_copy_ms", "copies that nothing hides"},
       {"idle_ms", "device idle"},
       {"kernels", "that start in it"},
       {"launches", "calls of the host that queue device work (hone help launches)"},
       {"sync_ms", "host waiting for the device, without the profiler's own waits"},
       {"loader_ms", "host waiting for its next batch"}},
      "SELECT st.rank AS rank, st.number AS step, st.warm_up AS warm_up,\n"
      "  round(st.dur / 1e6, 6) AS ms, round(st.busy_dur / 1e6, 6) AS busy_ms,\n"
      "  round(st.compute_dur / 1e6, 6) AS compute_ms,\n"
      "  round(st.exposed_comm_dur / 1e6, 6) AS exposed_comm_ms,\n"
      "  round(st.exposed_copy_dur / 1e6, 6) AS exposed_copy_ms,\n"
      "  round(st.idle_dur / 1e6, 6) AS idle_ms,\n"
      "  CASE WHEN t.work > 0 THEN coalesce(w.kernels, 0) END AS kernels,\n"
      "  CASE WHEN t.calls > 0 THEN coalesce(h.launches, 0) END AS launches,\n"
      "  CASE WHEN t.calls > 0 THEN round(coalesce(h.sync, 0) / 1e6, 6) END AS sync_ms,\n"
      "  CASE WHEN t.fetches > 0 THEN round(coalesce(h.fetch, 0) / 1e6, 6) END AS loader_ms\n"
      "FROM step st JOIN trace t ON t.rank = st.rank\n"
      "  LEFT JOIN (SELECT step_id, sum(launches) AS launches,\n"
      "      sum(dur * (blocks = 1 AND by_profiler = 0)) AS sync, sum(dur * fetches) AS fetch\n"
      "    FROM slice WHERE step_id IS NOT NULL GROUP BY step_id) h ON h.step_id = st.id\n"
      "  LEFT JOIN (SELECT step_id, sum(kind = 'kernel') AS kernels\n"
      "    FROM device_work WHERE step_id IS NOT NULL GROUP BY step_id) w ON w.step_id = st.id\n"
      "ORDER BY st.id"};
}

SqlView BackwardOps() {
  return {
      "backward_ops",
      "time of the backward pass by the forward operator it belongs to",
      {{"rank", kRankWhat},
       {"forward", "forward operator"},
       {"backward", "autograd node"},
       {"calls", "how often"},
       {"forward_device_ms", "device work of the forward operators"},
       {"backward_device_ms", "device work of their backward"},
       {"backward_host_ms", "host time of it"}},
      "SELECT b.rank AS rank, f.name AS forward, b.name AS backward, count(*) AS calls,\n"
      "  round(sum(f.device_dur) / 1e6, 6) AS forward_device_ms,\n"
      "  round(sum(b.device_dur) / 1e6, 6) AS backward_device_ms,\n"
      "  round(sum(b.dur) / 1e6, 6) AS backward_host_ms\n"
      "FROM slice b JOIN slice f ON f.id = b.forward_id LEFT JOIN slice p ON p.id = b.parent_id\n"
      "WHERE b.backward = 1 AND (p.forward_id IS NULL OR p.forward_id <> b.forward_id)\n"
      "GROUP BY b.rank, f.name, b.name\n"
      "ORDER BY sum(b.device_dur) DESC, sum(b.dur) DESC"};
}

SqlView LoaderWaits() {
  return {"loader_waits",
          "moments at which the program waits for its next batch",
          {{"rank", kRankWhat},
           {"slice_id", "row of slice"},
           {"step", "number of the step"},
           {"start_ms", "from the first event"},
           {"ms", "how long"},
           {"name", "what waits"}},
          "SELECT s.rank AS rank, s.id AS slice_id, st.number AS step,\n"
          "  round((s.ts - t.start_ts) / 1e6, 6) AS start_ms, round(s.dur / 1e6, 6) AS ms,\n"
          "  s.name AS name\n"
          "FROM trace t JOIN slice s ON s.rank = t.rank LEFT JOIN step st ON st.id = s.step_id\n"
          "WHERE s.fetches = 1\n"
          "ORDER BY s.rank, s.ts"};
}

SqlView Collectives() {
  return {"collectives",
          "collectives by kind, group and size, by time",
          {{"rank", kRankWhat},
           {"kind", "all_reduce, …"},
           {"group_name", "process group"},
           {"group_size", "ranks that take part"},
           {"message_bytes", "of one"},
           {"calls", "how often"},
           {"ms", "time of all together"},
           {"mean_us", "of one"}},
          "SELECT rank, kind, group_name, group_size, message_bytes, count(*) AS calls,\n"
          "  round(sum(dur) / 1e6, 6) AS ms, round(avg(dur) / 1e3, 3) AS mean_us\n"
          "FROM collective_run GROUP BY rank, kind, group_name, group_size, message_bytes\n"
          "ORDER BY sum(dur) DESC"};
}

}  // namespace

std::span<const SqlView> AllSqlViews() {
  // A view stands behind those it reads.
  static const std::vector<SqlView> kViews = {
      Timeline(),    Ops(),        Kernels(),    KernelOfOp(),  StepOps(),     PerStep(),
      Gaps(),        Syncs(),      Copies(),     LoaderWaits(), BackwardOps(), Collectives(),
      MemoryCurve(), MemoryPeak(), LiveAtPeak(), PythonLines()};
  return kViews;
}

}  // namespace hone::exporter
