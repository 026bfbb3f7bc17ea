// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_json.h"

#include <algorithm>

#include "base/json_writer.h"
#include "report/json/json_sections.h"
#include "report/version.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

const char* ClassName(analyze::WorkClass work_class) {
  switch (work_class) {
    case analyze::WorkClass::kCompute: return "compute";
    case analyze::WorkClass::kCommunication: return "communication";
    case analyze::WorkClass::kCopy: return "copy";
  }
  return "compute";
}

class JsonDiff {
 public:
  JsonDiff(const DiffReport& report, std::optional<std::size_t> limit, std::ostream& out)
      : report_(report), diff_(report.diff), limit_(limit), json_(out) {}

  void Write() {
    json_.BeginObject();
    json_.Field("schema_version", kSchemaVersion);
    json_.Field("hone_version", report_.stable ? "stable" : Version());
    json_.Key("before");
    WriteSide(report_.before);
    json_.Key("after");
    WriteSide(report_.after);
    WriteSetup();
    json_.Field("basis", diff_.basis == diff::Basis::kStep ? "step" : "second");
    json_.Field("account", diff_.account == diff::Account::kDevice ? "device" : "host");
    json_.Key("step");
    WriteStep();
    json_.Key("total_ms");
    diff_.total ? WriteChange(*diff_.total) : WriteAbsent(json_, diff_.total.why_not());
    WriteParts();
    WritePhases();
    WriteContributions();
    WriteOps();
    WriteKernels();
    WriteFigures();
    WriteGates();
    json_.EndObject();
    json_.Finish();
  }

 private:
  void Text(std::string_view key, StringId id) {
    json_.Key(key);
    id == StringId::kEmpty ? json_.Null() : json_.String(diff_.names[id]);
  }

  void Fields(const diff::Change& change) {
    json_.FieldMillis("before_ms", change.before_ns);
    json_.FieldMillis("after_ms", change.after_ns);
    json_.FieldMillis("change_ms", change.delta_ns());
  }

  void WriteChange(const diff::Change& change) {
    json_.BeginObject(Layout::kInline);
    json_.FieldMillis("before", change.before_ns);
    json_.FieldMillis("after", change.after_ns);
    json_.FieldMillis("change", change.delta_ns());
    json_.EndObject();
  }

  void WriteSide(const DiffSide& side) {
    json_.BeginObject();
    json_.Field("name", side.name);
    json_.Field("path", side.path);
    json_.Field("format", side.format);
    json_.Field("traces", side.traces);
    json_.Key("rank");
    side.lead_rank < 0 ? json_.Null() : json_.Int(side.lead_rank);
    json_.Field("trust", analyze::VerdictName(side.trust.verdict));
    json_.Key("trust_reasons").BeginArray();
    for (const analyze::TrustReason& reason : side.trust.reasons) json_.String(reason.text);
    json_.EndArray();
    json_.EndObject();
  }

  void WriteSetup() {
    json_.Key("not_the_same").BeginArray();
    for (const diff::SetupDifference& difference : diff_.setup.differences) {
      json_.BeginObject(Layout::kInline);
      json_.Field("id", difference.id);
      json_.Field("before", difference.before);
      json_.Field("after", difference.after);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteStep() {
    if (!diff_.step) return WriteAbsent(json_, diff_.step.why_not());
    const diff::StepChange& step = *diff_.step;
    json_.BeginObject();
    json_.Field("verdict", diff::VerdictName(step.verdict));
    json_.Field("of", step.by_mean ? "mean" : "median");
    Fields({step.before_ns, step.after_ns});
    json_.Key("change_pct");
    step.before_ns > 0 ? json_.Double(100.0 * static_cast<double>(step.delta_ns()) /
                                      static_cast<double>(step.before_ns))
                       : json_.Null();
    json_.FieldMillis("before_median_ms", step.before_median_ns);
    json_.FieldMillis("after_median_ms", step.after_median_ns);
    json_.Key("range_ms");
    if (step.range) {
      json_.BeginObject(Layout::kInline);
      json_.FieldMillis("low", step.range->low_ns);
      json_.FieldMillis("high", step.range->high_ns);
      json_.EndObject();
    } else {
      WriteAbsent(json_, step.range.why_not());
    }
    json_.Field("before_steps", step.before_steps);
    json_.Field("after_steps", step.after_steps);
    json_.EndObject();
  }

  void WriteParts() {
    json_.Key("parts").BeginArray();
    for (const diff::PartChange& part : diff_.parts) {
      json_.BeginObject(Layout::kInline);
      json_.Field("id", part.id);
      Fields(part.time);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WritePhases() {
    json_.Key("phases");
    if (!diff_.phases) return WriteAbsent(json_, diff_.phases.why_not());
    json_.BeginArray();
    for (const diff::PhaseChange& phase : *diff_.phases) {
      json_.BeginObject(Layout::kInline);
      json_.Field("id", phase.id);
      Fields(phase.time);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteContributions() {
    json_.Key("contributions").BeginArray();
    for (const diff::Contribution& cause : diff_.contributions) {
      json_.BeginObject(Layout::kInline);
      json_.Field("kind", cause.is_op ? "op" : "part");
      if (cause.is_op) {
        Text("id", diff_.ops[cause.index].name);
      } else {
        json_.Field("id", diff_.parts[cause.index].id);
      }
      json_.FieldMillis("change_ms", cause.delta_ns);
      json_.EndObject();
    }
    json_.EndArray();
  }

  std::size_t Rows(std::size_t all) const { return limit_ ? std::min(*limit_, all) : all; }

  void WriteOps() {
    json_.Key("ops").BeginArray();
    for (std::size_t i = 0; i < Rows(diff_.ops.size()); ++i) {
      const diff::OpChange& op = diff_.ops[i];
      json_.BeginObject(Layout::kInline);
      Text("name", op.name);
      json_.Field("fate", diff::FateName(op.fate));
      Fields(op.time);
      json_.Field("count_before", op.count_before);
      json_.Field("count_after", op.count_after);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteKernel(const diff::PlaceChange& place) {
    json_.BeginObject(Layout::kInline);
    Text("op_before", place.op_before);
    Text("op_after", place.op_after);
    Text("kernel_before", place.kernel_before);
    Text("kernel_after", place.kernel_after);
    Text("shape", place.shape);
    json_.Key("around").BeginArray();
    for (const std::string_view name : diff_.names.Around(place.path, 3)) json_.String(name);
    json_.EndArray();
    json_.Field("fate", diff::FateName(place.fate));
    json_.Field("class", ClassName(place.work_class));
    json_.Field("phase", diff::PhaseName(place.phase));
    Fields({place.before.exposed_ns, place.after.exposed_ns});
    json_.Field("count_before", place.before.count);
    json_.Field("count_after", place.after.count);
    json_.FieldMillis("sum_before_ms", place.before.sum_ns);
    json_.FieldMillis("sum_after_ms", place.after.sum_ns);
    const bool split = place.fate == diff::Fate::kKept;
    const auto effect = [&](std::string_view key, Nanos time) {
      json_.Key(key);
      split ? json_.Millis(time) : json_.Null();
    };
    effect("count_effect_ms", place.count_effect_ns);
    effect("rate_effect_ms", place.rate_effect_ns);
    effect("overlap_effect_ms", place.overlap_effect_ns);
    json_.EndObject();
  }

  void WriteKernels() {
    json_.Key("kernels");
    if (diff_.account == diff::Account::kHost) return WriteAbsent(json_, diff_.why_host);
    json_.BeginArray();
    for (std::size_t i = 0; i < Rows(diff_.places.size()); ++i) WriteKernel(diff_.places[i]);
    json_.EndArray();
  }

  void WriteFigures() {
    json_.Key("figures").BeginArray();
    for (const diff::Figure& figure : diff_.figures) {
      const double scale = figure.unit == diff::FigureUnit::kMillis ? 1e-6 : 1;
      json_.BeginObject(Layout::kInline);
      json_.Field("id", figure.id);
      for (const auto& [key, value] :
           {std::pair("before", &figure.before), std::pair("after", &figure.after)}) {
        json_.Key(key);
        *value ? json_.Double(**value * scale) : WriteAbsent(json_, value->why_not());
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteGates() {
    json_.Key("fail_if").BeginArray();
    for (const diff::GateResult& gate : report_.gates) {
      json_.BeginObject(Layout::kInline);
      json_.Field("condition", gate.condition.text);
      json_.Field("state", diff::GateStateName(gate.state));
      json_.Field("why", gate.why);
      json_.EndObject();
    }
    json_.EndArray();
  }

  const DiffReport& report_;
  const diff::Diff& diff_;
  std::optional<std::size_t> limit_;
  JsonWriter json_;
};

}  // namespace

void WriteDiffJson(const DiffReport& report, std::optional<std::size_t> limit, std::ostream& out) {
  JsonDiff(report, limit, out).Write();
}

}  // namespace hone::report
