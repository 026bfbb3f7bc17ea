// SPDX-License-Identifier: Apache-2.0
// Did both arms do the same work? A program that does less is faster and proves nothing.
//
// What each run did is in Run::work (python/hone/_bench.py). A fact is compared where it is the
// same in all runs of an arm; what already differs between two runs of one command (data that is
// shuffled without a seed) says nothing about the other and is named as not compared.
#pragma once

#include <string>
#include <vector>

#include "bench/compare.h"
#include "bench/result.h"

namespace hone::bench {

// The words of --allow: "precision", "optimizer", …
std::vector<std::string> AllowWords();

// Fills result.work and result.trouble.
void CheckSameWork(const Benchmark& benchmark, const CompareOptions& options, Comparison& result);

}  // namespace hone::bench
