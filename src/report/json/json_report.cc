// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_report.h"

#include "report/json/json_doctor.h"
#include "report/json/json_sections.h"
#include "report/tables.h"
#include "report/version.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

// Writes the document of one report. Tables are shaped before the first byte goes out, so that an
// error leaves nothing half written.
class Document {
 public:
  Document(const Report& report, const JsonOptions& options, std::ostream& out)
      : report_(report), options_(options), input_(report.leading()), json_(out, options.escape) {}

  Status CheckShape() const {
    const TableInfo* info = options_.table.empty() ? nullptr : FindTable(options_.table);
    if (info == nullptr) return Ok();
    Known<Table> table = info->build(report_);
    return table ? Shape(*table, options_.shape) : Ok();
  }

  void Write() {
    json_.BeginObject();
    json_.Field("schema_version", kSchemaVersion);
    json_.Field("hone_version", report_.stable ? "stable" : Version());
    json_.Field("group_by", GroupByName(report_.group_by));
    json_.Key("trace");
    WriteTraceSection(json_, report_, input_);
    json_.Key("trust");
    WriteTrustSection(json_, report_, input_);
    json_.Key("findings");
    WriteFindingsSection(json_, report_.diagnosis, Shaped("findings"));
    json_.Key("not_checked");
    WriteNotCheckedSection(json_, report_.diagnosis);
    json_.Key("replay");
    WriteReplaySection(json_, report_.diagnosis);
    json_.Key("critical_path");
    WriteCriticalPathSection(json_, report_.diagnosis, Shaped("critical-path"));
    json_.Key("steps");
    WriteSteps();
    json_.Key("timeline");
    WriteTimelineSection(json_, input_);
    WriteList("idle", IdleRows());
    WriteList("kernels", Shaped("kernels"));
    WriteList("ops", Shaped("ops"));
    WriteList("transfers", Shaped("transfers"));
    WriteList("syncs", Shaped("syncs"));
    json_.Key("memory");
    WriteMemorySection(json_, input_, Shaped("memory"), Shaped("memory-lines"));
    json_.Key("comm");
    WriteComm();
    json_.Key("loader");
    WriteLoaderSection(json_, input_);
    json_.Key("efficiency");
    WriteEfficiency();
    json_.Key("python");
    WritePython();
    json_.Key("launches");
    WriteLaunchesSection(json_, input_);
    json_.Key("kernel_sizes");
    WriteKernelSizesSection(json_, input_);
    if (report_.inputs.size() > 1) WriteRanks();
    if (input_.tracelens || input_.hta) WriteCompat();
    if (options_.more) options_.more(json_);
    json_.EndObject();
    json_.Finish();
  }

 private:
  Known<Table> Shaped(std::string_view name) {
    Known<Table> table = FindTable(name)->build(report_);
    // CheckShape has seen this shape on this table; it cannot fail here.
    if (table && options_.table == name) (void)Shape(*table, options_.shape);
    return table;
  }

  // The list of the schema has no share; the table has.
  Known<Table> IdleRows() {
    Known<Table> table = Shaped("idle");
    if (!table) return table;
    table->columns.pop_back();
    for (std::vector<Cell>& row : table->rows) row.pop_back();
    return table;
  }

  void WriteList(std::string_view key, const Known<Table>& table) {
    json_.Key(key);
    table ? WriteRows(json_, *table) : WriteAbsent(json_, table.why_not());
  }

  void WriteSteps() {
    const analyze::Steps& steps = input_.facts.steps;
    const Known<Table> list = Shaped("steps");
    if (!list) return WriteAbsent(json_, list.why_not());
    json_.BeginObject();
    json_.Field("source", analyze::StepSourceName(steps.source));
    json_.Field("clock", steps.device_clock ? "device" : "host");
    json_.Field("count", steps.steps.size());
    json_.Field("steady_count", steps.steady_count());
    json_.Field("warm_up_count", steps.warm_up_count);
    const auto stat = [&](std::string_view key, Nanos analyze::StepStats::*member) {
      json_.Key(key);
      if (steps.stats) {
        json_.Millis((*steps.stats).*member);
      } else {
        WriteAbsent(json_, steps.stats.why_not());
      }
    };
    stat("median_ms", &analyze::StepStats::median_ns);
    stat("p95_ms", &analyze::StepStats::p95_ns);
    stat("mean_ms", &analyze::StepStats::mean_ns);
    stat("min_ms", &analyze::StepStats::min_ns);
    stat("max_ms", &analyze::StepStats::max_ns);
    json_.Key("list");
    WriteRows(json_, *list);
    json_.EndObject();
  }

  void WriteComm() {
    const Known<analyze::CommFacts>& comm = input_.facts.comm;
    if (!comm) return WriteAbsent(json_, comm.why_not());
    json_.BeginObject();
    json_.Field("backend", comm->backend);
    json_.Field("steps", comm->steps);
    json_.FieldMillis("total_ms", comm->total_ns);
    WriteKnownMillis(json_, "exposed_ms", comm->exposed_ns);
    WriteKnown(json_, "overlap_pct", comm->overlap_pct);
    WriteList("collectives", Shaped("collectives"));
    json_.EndObject();
  }

  void WriteEfficiency() {
    const Known<analyze::EfficiencyFacts>& facts = input_.facts.efficiency;
    if (!facts) return WriteAbsent(json_, facts.why_not());
    json_.BeginObject();
    json_.Field("device_name", facts->device_name);
    json_.FieldMillis("matrix_on_ms", facts->matrix_on_ns);
    json_.FieldMillis("matrix_off_ms", facts->matrix_off_ns);
    json_.FieldMillis("matrix_unknown_ms", facts->matrix_unknown_ns);
    WriteKnown(json_, "tflops_per_s", facts->tflops_per_s);
    WriteKnown(json_, "model_flops_utilization", facts->model_flops_utilization);
    WriteKnown(json_, "modelled_share", facts->modelled_share);
    WriteKnown(json_, "occupancy_pct", facts->occupancy_pct);
    WriteKnown(json_, "sm_share_pct", facts->sm_share_pct);
    json_.Key("peaks");
    WritePeaks(facts->peaks);
    WriteList("families", Shaped("families"));
    WriteList("roofline", Shaped("roofline"));
    json_.EndObject();
  }

  void WritePeaks(const Known<analyze::DevicePeaks>& peaks) {
    if (!peaks) return WriteAbsent(json_, peaks.why_not());
    json_.BeginObject(Layout::kInline);
    json_.Field("name", peaks->name);
    json_.Field("measured", peaks->measured);
    json_.Field("fp64_tflops", peaks->fp64);
    json_.Field("fp32_tflops", peaks->fp32);
    json_.Field("tf32_tflops", peaks->tf32);
    json_.Field("fp16_tflops", peaks->fp16);
    json_.Field("bf16_tflops", peaks->bf16);
    json_.Field("fp8_tflops", peaks->fp8);
    json_.Field("int8_tops", peaks->int8);
    json_.Field("memory_gbytes_per_s", peaks->memory_gbytes_per_s);
    json_.Field("host_link_gbytes_per_s", peaks->host_link_gbytes_per_s);
    json_.EndObject();
  }

  void WritePython() {
    const Known<analyze::PythonFacts>& python = input_.facts.python;
    if (!python) return WriteAbsent(json_, python.why_not());
    json_.BeginObject();
    json_.Field("lines_are_definitions", python->lines_are_definitions);
    WriteList("functions", Shaped("python"));
    WriteList("lines", Shaped("lines"));
    json_.EndObject();
  }

  void WriteRanks() {
    json_.Key("ranks").BeginObject();
    json_.Field("count", report_.inputs.size());
    json_.Key("lead");
    input_.trace.info.rank < 0 ? json_.Null() : json_.Int(input_.trace.info.rank);
    json_.Field("lead_path", ShownPath(report_, input_));
    json_.Key("skew");
    WriteSkew(json_, report_.skew);
    WriteList("list", Shaped("ranks"));
    json_.EndObject();
  }

  void WriteCompat() {
    json_.Key("compat").BeginObject();
    if (input_.tracelens) {
      json_.Key("tracelens").BeginObject();
      WriteList("gpu_timeline", Shaped("tracelens-timeline"));
      WriteList("kernel_summary", Shaped("tracelens-kernels"));
      json_.EndObject();
    }
    if (input_.hta) {
      json_.Key("hta").BeginObject();
      WriteList("temporal_breakdown", Shaped("hta-breakdown"));
      WriteList("idle_time_breakdown", Shaped("hta-idle"));
      json_.EndObject();
    }
    json_.EndObject();
  }

  const Report& report_;
  const JsonOptions& options_;
  const Input& input_;
  JsonWriter json_;
};

}  // namespace

Status WriteJson(const Report& report, const JsonOptions& options, std::ostream& out) {
  Document document(report, options, out);
  HONE_RETURN_IF_ERROR(document.CheckShape());
  document.Write();
  return Ok();
}

}  // namespace hone::report
