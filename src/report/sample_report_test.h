// SPDX-License-Identifier: Apache-2.0
// A report made by hand, for the tests of the writers: one trace with device work, steps, a sync
// and hostile names; memory and Python are absent.
#pragma once

#include <string>
#include <utility>

#include "report/report.h"

namespace hone::report {

// Escape sequences, a bell, quotes, a line end, bytes that are not UTF-8, and 4,000 characters.
inline std::string HostileName() {
  return "void \x1b[31mkernel\x07<\"a\", b>\nsecond\x9b line\xff " + std::string(4000, 'x') +
         "_tail";
}

inline analyze::TimelineSplit SampleSplit(Nanos total, Nanos compute, Nanos comm, Nanos copy) {
  analyze::TimelineSplit split;
  split.window.AppendSorted({0, total});
  split.total_ns = total;
  split.compute_ns = compute;
  split.exposed_comm_ns = comm;
  split.exposed_copy_ns = copy;
  split.busy_ns = compute + comm + copy;
  split.idle_ns = total - split.busy_ns;
  split.comm_ns = comm;
  split.copy_ns = copy;
  return split;
}

inline void AddSampleTables(Input& input) {
  trace::Trace& trace = input.trace;
  analyze::Facts& facts = input.facts;
  analyze::KernelTable kernels;
  analyze::KernelRow kernel;
  kernel.name = trace.strings.Intern(HostileName());
  kernel.op = trace.strings.Intern("aten::mm");
  kernel.time = {4, 80'000'001, 20'000'000, 1'000, 19'000'000, 30'000'000, 30'000'001};
  kernel.share = 0.8;
  kernel.occupancy_pct = 37.5F;
  kernels.rows.push_back(kernel);
  kernel.name = trace.strings.Intern("Memcpy HtoD (Pageable -> Device)");
  kernel.op = StringId::kEmpty;
  kernel.work_class = analyze::WorkClass::kCopy;
  kernel.kind = trace::WorkKind::kCopy;
  kernel.time = {2, 20'000'000, 10'000'000, 9'000'000, 10'000'000, 11'000'000, 11'000'000};
  kernel.share = 0.2;
  kernel.occupancy_pct = -1;
  kernels.rows.push_back(kernel);
  kernels.total_ns = 100'000'001;
  facts.kernels = std::move(kernels);

  analyze::OpTable ops;
  analyze::OpRow op;
  op.name = trace.strings.Intern("aten::mm");
  op.calls = 4;
  op.host_total_ns = 3'000'000;
  op.host_self_ns = 2'000'000;
  op.device_total_ns = op.device_self_ns = 80'000'001;
  op.device_self_share = 0.8;
  op.kernels = 4;
  ops.rows.push_back(op);
  op.name = trace.strings.Intern("aten::item");
  op.calls = 1;
  op.host_total_ns = op.host_self_ns = 9'000'000;
  op.device_total_ns = op.device_self_ns = 0;
  op.device_self_share = 0;
  op.kernels = 0;
  ops.rows.push_back(op);
  facts.ops = std::move(ops);

  analyze::SyncFacts syncs;
  analyze::SyncRow sync;
  sync.call = trace.strings.Intern("cudaStreamSynchronize");
  sync.op = trace.strings.Intern("aten::item");
  sync.where = "train.py(46): main";
  sync.count = 4;
  sync.total_ns = 9'000'000;
  sync.per_step = 1;
  syncs.rows.push_back(sync);
  facts.syncs = std::move(syncs);
}

// Two steady steps of 100 ms after one of warm-up; idle 40 ms of 200.
inline Report SampleReport() {
  Report report;
  Input& input = report.inputs.emplace_back();
  trace::TraceInfo& info = input.trace.info;
  info.path = "/data/job/trace.json.gz";
  info.recorder = "PyTorch profiler";
  info.events_seen = 1234;
  info.record_shapes = 0;
  input.trace.devices.push_back({});
  input.trace.devices[0].id = 0;
  input.trace.devices[0].name = "NVIDIA H200";
  analyze::Facts& facts = input.facts;
  facts.steps.source = analyze::StepSource::kProfilerStep;
  for (int i = 0; i < 3; ++i) {
    analyze::Step step;
    step.name = "ProfilerStep#" + std::to_string(i);
    step.number = i;
    step.span = {1'000 + i * 100'000'000LL, 1'000 + (i + 1) * 100'000'000LL};
    step.warm_up = i == 0;
    facts.steps.steps.push_back(step);
  }
  facts.steps.warm_up_count = 1;
  facts.steps.stats =
      analyze::StepStats{2, 100'000'000, 100'000'000, 100'000'000, 100'000'000, 100'000'000};
  facts.steps.steady_window.AppendSorted({100'001'000, 300'001'000});
  analyze::Timeline timeline;
  analyze::DeviceTimeline& device = timeline.devices.emplace_back();
  device.device = 0;
  device.work_count = 6;
  device.whole = SampleSplit(300'000'001, 200'000'000, 10'000'000, 30'000'000);
  device.steady = SampleSplit(200'000'000, 130'000'000, 10'000'000, 20'000'000);
  facts.timeline = std::move(timeline);
  facts.scale = analyze::MeasureScale(facts.steps, facts.timeline);
  analyze::IdleFacts idle;
  idle.whole_ns[static_cast<std::size_t>(analyze::IdleCause::kLoader)] = 50'000'001;
  idle.whole_ns[static_cast<std::size_t>(analyze::IdleCause::kSync)] = 10'000'000;
  idle.steady_ns[static_cast<std::size_t>(analyze::IdleCause::kLoader)] = 39'000'000;
  idle.steady_ns[static_cast<std::size_t>(analyze::IdleCause::kSync)] = 600'000;
  idle.steady_ns[static_cast<std::size_t>(analyze::IdleCause::kLaunch)] = 400'000;
  idle.count[static_cast<std::size_t>(analyze::IdleCause::kLoader)] = 3;
  facts.idle = std::move(idle);
  facts.trust.verdict = analyze::Verdict::kPartial;
  facts.trust.reasons.push_back(
      {analyze::Verdict::kPartial, "1,204 of 8,300 kernels (14 % of GPU time) have no operator"});
  facts.trust.present.api_calls = 10;
  facts.trust.steps = 3;
  facts.trust.steady_steps = 2;
  facts.memory = Known<analyze::MemoryFacts>::Absent("profile_memory was off");
  facts.python = Known<analyze::PythonFacts>::Absent("with_stack was off");
  AddSampleTables(input);
  return report;
}

inline doctor::Finding SampleFinding(const char* id, const char* title, double speedup,
                                     double after) {
  doctor::Finding finding;
  finding.id = id;
  finding.title = title;
  finding.fix = {id};
  finding.severity = speedup > 1.2 ? doctor::Severity::kHigh : doctor::Severity::kLow;
  finding.speedup = speedup;
  finding.speedup_after = after;
  finding.predicted = replay::Prediction{90e6 / speedup, 95e6 / speedup, 99e6 / speedup};
  finding.recoverable_ns = 95e6 - 95e6 / speedup;
  return finding;
}

// The same report with seven findings, one of them hostile, and what stands around them.
inline Report DiagnosedReport() {
  Report report = SampleReport();
  doctor::Diagnosis diagnosis;
  diagnosis.rules = 29;
  using doctor::Effort;
  auto& findings = diagnosis.findings;
  findings.push_back(SampleFinding(
      "input-bound", "data is loaded in the main process while the device waits", 1.9, 1.9));
  findings[0].evidence = {"fetching a batch takes 45.1 ms of a 100 ms step (45 %)"};
  findings[0].where.push_back({"train.py:46", "", "", "", "", -1, -1});
  findings[0].remedy =
      "DataLoader(..., num_workers=12,\n           pin_memory=True, persistent_workers=True)\n";
  findings[0].same_cause = {"python-hotspot"};
  findings.push_back(
      SampleFinding("no-tensor-cores", "convolutions run in fp32 without tensor cores", 1.4, 1.9));
  findings[1].remedy = "# or torch.autocast\ntorch.backends.cudnn.allow_tf32 = True\n";
  findings.push_back(
      SampleFinding("unfused-optimizer", "Adam launches 1,300 tiny kernels a step", 1.03, 1.04));
  findings[2].effort = Effort::kOneWord;
  doctor::Finding hostile = SampleFinding("host-sync", "", 1.02, 1.2);
  hostile.title = HostileName();
  hostile.remedy = HostileName() + "\n";
  hostile.evidence = {HostileName(), HostileName()};
  hostile.where.push_back(
      {HostileName(), HostileName(), HostileName(), HostileName(), HostileName(), 5'000, 7'000});
  hostile.effort = Effort::kFewLines;
  findings.push_back(hostile);
  doctor::Finding unpredicted;
  unpredicted.id = "memory-growth";
  unpredicted.title = "memory grows by 12 MiB a step";
  unpredicted.confidence = doctor::Confidence::kMedium;
  unpredicted.recoverable_ns = Known<double>::Absent("no model predicts this change");
  findings.push_back(unpredicted);
  findings.push_back(SampleFinding("blocking-copy", "the host waits for copies", 1.01, 1.01));
  findings.push_back(SampleFinding("observer-effect", "the profiler slows it", 1.05, 1.05));
  diagnosis.not_checked = {{"fragmentation", "no memory events; record with profile_memory=True"},
                           {"memory-pressure", "no memory events; record with profile_memory=True"},
                           {"naive-attention", HostileName()}};
  doctor::ReplayFacts replay;
  replay.measured_ns = 100e6;
  replay.replayed_ns = 98.6e6;
  replay.error = -0.014;
  replay.steps = replay.all_steps = 2;
  replay.bare = {90e6, 95e6, 99e6};
  replay.together = replay::Prediction{26e6, 29e6, 33e6};
  replay.path.total_ns = {100'000'000, 10'000'000, 7'200'000, 80'000'000};
  replay.path.length_ns = 197'200'000;
  replay.path_parts = {{replay::PathKind::kInput, "enumerate(DataLoader)", 100'000'000, 2},
                       {replay::PathKind::kCompute, HostileName(), 80'000'000, 4},
                       {replay::PathKind::kHost, "code outside operators", 10'000'000, 9},
                       {replay::PathKind::kLaunch, "cudaLaunchKernel", 7'200'000, 9}};
  diagnosis.replay = std::move(replay);
  report.diagnosis = std::move(diagnosis);
  return report;
}

}  // namespace hone::report
