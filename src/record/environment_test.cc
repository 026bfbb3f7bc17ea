// SPDX-License-Identifier: Apache-2.0
#include "record/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone::record {
namespace {

const Installation kHere = {"/opt/hone/lib/hone/libhone_collect.so",
                            "/opt/hone/lib/hone/python/inject"};

std::string Value(const Environment& environment, std::string_view name) {
  const char* value = FindVariable(environment.variables, name);
  return value == nullptr ? "(unset)" : value;
}

TEST(Environment, OfAPlainUser) {
  const Environment made = BuildEnvironment({"HOME=/root", "EMPTY="}, kHere, "/tmp/run", {});
  EXPECT_EQ(Value(made, "HOME"), "/root");
  EXPECT_EQ(Value(made, "EMPTY"), "");
  EXPECT_EQ(Value(made, "LD_PRELOAD"), kHere.library);
  EXPECT_EQ(Value(made, "CUDA_INJECTION64_PATH"), kHere.library);
  EXPECT_EQ(Value(made, "NVTX_INJECTION64_PATH"), kHere.library);
  EXPECT_EQ(Value(made, "NCCL_PROFILER_PLUGIN"), kHere.library);
  EXPECT_EQ(Value(made, "PYTHONPATH"), kHere.inject);
  EXPECT_EQ(Value(made, "HONE_RUN_DIR"), "/tmp/run");
  EXPECT_EQ(Value(made, "HONE_STEPS"), "30");
  EXPECT_EQ(Value(made, "HONE_LEAST_SECONDS"), "(unset)");
  EXPECT_EQ(Value(made, "HONE_SECONDS"), "(unset)");
  EXPECT_EQ(Value(made, "HONE_ALL"), "(unset)");
  EXPECT_TRUE(made.notes.empty());
}

TEST(Environment, TheUsersOwnComesFirstOrStays) {
  const Environment made = BuildEnvironment(
      {"LD_PRELOAD=/usr/lib/libjemalloc.so.2",
       "PYTHONPATH=/home/me/lib:", "NCCL_PROFILER_PLUGIN=mine", "NVTX_INJECTION64_PATH="},
      kHere, "/tmp/run", {});
  EXPECT_EQ(Value(made, "LD_PRELOAD"), "/usr/lib/libjemalloc.so.2:" + kHere.library);
  EXPECT_EQ(Value(made, "PYTHONPATH"), kHere.inject + ":/home/me/lib:");
  EXPECT_EQ(Value(made, "NCCL_PROFILER_PLUGIN"), "mine");
  EXPECT_EQ(Value(made, "NVTX_INJECTION64_PATH"), kHere.library);
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0].first, "NCCL_PROFILER_PLUGIN");
  // Each name once: two of a kind are read differently by different programs.
  EXPECT_EQ(std::count_if(made.variables.begin(), made.variables.end(),
                          [](const std::string& v) { return v.rfind("LD_PRELOAD=", 0) == 0; }),
            1);
}

TEST(Environment, AnOuterRunIsReplaced) {
  RecordOptions options;
  options.steps = 5;
  options.least_seconds = 1.5;
  options.seconds = 2.5;
  options.every = 1000;
  options.stack_hz = 0;
  options.memory_bytes = 1U << 20;
  options.collect = "ops,cuda";
  const Environment made = BuildEnvironment(
      {"HONE_RUN_DIR=/old", "HONE_ALL=1", "HONE_COLLECT=python"}, kHere, "/new", options);
  EXPECT_EQ(Value(made, "HONE_RUN_DIR"), "/new");
  EXPECT_EQ(Value(made, "HONE_ALL"), "(unset)");
  EXPECT_EQ(Value(made, "HONE_STEPS"), "5");
  EXPECT_EQ(Value(made, "HONE_LEAST_SECONDS"), "1.5");
  EXPECT_EQ(Value(made, "HONE_SECONDS"), "2.5");
  EXPECT_EQ(Value(made, "HONE_EVERY"), "1000");
  EXPECT_EQ(Value(made, "HONE_STACK_HZ"), "0");
  EXPECT_EQ(Value(made, "HONE_MEMORY_BYTES"), "1048576");
  EXPECT_EQ(Value(made, "HONE_COLLECT"), "ops,cuda");
}

TEST(Environment, PathsThatTheVariablesCannotHold) {
  const Environment made =
      BuildEnvironment({"LD_PRELOAD=/a.so"}, {"/my hone/lib.so", ""}, "/r", {});
  EXPECT_EQ(Value(made, "LD_PRELOAD"), "/a.so");
  EXPECT_EQ(Value(made, "PYTHONPATH"), "(unset)");
  EXPECT_EQ(made.notes.size(), 2U);
}

}  // namespace
}  // namespace hone::record
