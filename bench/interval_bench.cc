// SPDX-License-Identifier: Apache-2.0
// The two blocks that every event passes through: interval algebra and string interning. Read the
// items a second: they must not fall as the size grows (beyond what the caches take away).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/string_pool.h"
#include "trace/interval.h"

namespace hone {
namespace {

// Kernel-like spans: short, mostly in order, some overlapping. A fixed seed: runs are comparable.
std::vector<trace::Interval> MakeSpans(std::size_t count, bool sorted, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<trace::Interval> spans(count);
  Nanos now = 0;
  for (trace::Interval& span : spans) {
    now += static_cast<Nanos>(random() % 6000);
    span = {now, now + static_cast<Nanos>(random() % 5000)};
  }
  if (!sorted) {
    for (std::size_t i = count; i > 1; --i) std::swap(spans[i - 1], spans[random() % i]);
  }
  return spans;
}

void Union(benchmark::State& state, bool sorted) {
  const auto spans = MakeSpans(static_cast<std::size_t>(state.range(0)), sorted);
  for (auto _ : state) {
    auto set = trace::IntervalSet::Union(spans);
    benchmark::DoNotOptimize(set.length());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void UnionSorted(benchmark::State& state) { Union(state, true); }
void UnionShuffled(benchmark::State& state) { Union(state, false); }
BENCHMARK(UnionSorted)->RangeMultiplier(16)->Range(1 << 8, 1 << 20);
BENCHMARK(UnionShuffled)->RangeMultiplier(16)->Range(1 << 8, 1 << 20);

void Subtract(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto a = trace::IntervalSet::Union(MakeSpans(count, true, 1));
  const auto b = trace::IntervalSet::Union(MakeSpans(count, true, 2));
  for (auto _ : state) {
    auto set = trace::Subtract(a, b);
    benchmark::DoNotOptimize(set.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(a.size() + b.size()));
}
BENCHMARK(Subtract)->RangeMultiplier(16)->Range(1 << 8, 1 << 20);

// A million lookups of a few thousand names, as a trace has them.
void Intern(benchmark::State& state) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    names.push_back("void at::native::vectorized_elementwise_kernel<4, functor_" +
                    std::to_string(i) + ">(int, functor, std::array<char*, 2ul>)");
  }
  StringPool pool;
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(pool.Intern(names[at]));
    if (++at == names.size()) at = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Intern)->RangeMultiplier(16)->Range(16, 1 << 16);

}  // namespace
}  // namespace hone
