// SPDX-License-Identifier: Apache-2.0
// Facts: every analysis of one trace, computed together. What reports and the doctor read.
#pragma once

#include "analyze/comm.h"
#include "analyze/efficiency.h"
#include "analyze/idle.h"
#include "analyze/launches.h"
#include "analyze/lineage.h"
#include "analyze/loader.h"
#include "analyze/memory.h"
#include "analyze/python_time.h"
#include "analyze/step_scale.h"
#include "analyze/steps.h"
#include "analyze/syncs.h"
#include "analyze/tables.h"
#include "analyze/timeline.h"
#include "analyze/transfers.h"
#include "analyze/trust.h"

namespace hone::analyze {

struct FactsOptions {
  GroupBy kernels_by = GroupBy::kName;
  GroupBy ops_by = GroupBy::kName;
};

struct Facts {
  Steps steps;
  Known<Timeline> timeline;
  StepScale scale;
  Known<IdleFacts> idle;
  Known<KernelTable> kernels;
  Known<OpTable> ops;
  Known<TransferFacts> transfers;
  Known<SyncFacts> syncs;
  Known<LaunchFacts> launches;
  Known<KernelSizes> kernel_sizes;
  Known<EfficiencyFacts> efficiency;
  Known<MemoryFacts> memory;
  Known<CommFacts> comm;
  Known<LoaderFacts> loader;
  Known<PythonFacts> python;
  TrustFacts trust;
};

// Uses up to two threads. Pure: the trace is only read.
Facts Analyze(const trace::Trace& trace, const FactsOptions& options = {});

}  // namespace hone::analyze
