// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/device_tracks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "import/import.h"

namespace hone::importer::kineto {
namespace {

using trace::Trace;

// A call at `ts` and its kernel 10 us later, of one rank.
std::string Launch(const std::string& host, const std::string& gpu, int device, int ts,
                   int correlation) {
  return fmt::format(
      R"json({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":{},"tid":1,"ts":{},"dur":5,"args":{{"correlation":{}}}}},
         {{"ph":"X","cat":"kernel","name":"k","pid":{},"tid":7,"ts":{},"dur":50,"args":{{"device":{},"stream":7,"correlation":{}}}}})json",
      host, ts, correlation, gpu, ts + 10, device, correlation);
}

Trace Load(const std::string& events) {
  Result<Trace> trace = LoadKinetoText("{\"traceEvents\": [" + events + "]}", "test");
  if (!trace) {
    ADD_FAILURE() << trace.error().message();
    return Trace();
  }
  return std::move(trace).value();
}

std::uint64_t Merged(const Trace& trace) { return trace.losses[LossKind::kMergedRanks].count; }

TEST(DeviceTracks, RankIsWhatStandsInFrontOfTheNumber) {
  EXPECT_EQ(RankOf("[TP00] 4242"), "[TP00]");
  EXPECT_EQ(RankOf("rank 1"), "rank");
  EXPECT_EQ(RankOf("4242"), "");
  EXPECT_EQ(RankOf("Spans"), "");
  EXPECT_EQ(RankOf(""), "");
}

TEST(DeviceTracks, OneTrackForEachNumberIsNoMerge) {
  const Trace trace = Load(Launch("5", "0", 0, 100, 1) + "," + Launch("5", "3", 3, 200, 2) + "," +
                           Launch("5", "0", 0, 300, 3));
  ASSERT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.devices[0].id, 0);
  EXPECT_EQ(trace.devices[1].id, 3);
  EXPECT_EQ(Merged(trace), 0U);
}

// Both ranks call their device 0 and number their calls alike. The second rank's call of the same
// number comes between the first one's call and its kernel.
TEST(DeviceTracks, RanksThatProcessIdsNameAreJoined) {
  const std::string memory =
      R"json(,{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":"[TP01] 43","tid":1,"ts":110,"args":{"Bytes":8,"Device Id":0,"Device Type":1}})json";
  const Trace trace = Load(Launch("\"[TP00] 42\"", "\"[TP00] 0\"", 0, 100, 1) + "," +
                           Launch("\"[TP01] 43\"", "\"[TP01] 0\"", 0, 103, 1) + memory);
  ASSERT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.devices[1].id, 1);
  ASSERT_EQ(trace.device.size(), 2U);
  for (trace::RowId work = 0; work < 2; ++work) {
    const trace::Stream& stream = trace.streams[trace.device.stream[work]];
    const trace::RowId call = trace.device.api[work];
    EXPECT_EQ(stream.device, work);
    EXPECT_EQ(trace.threads[trace.host.thread[call]].process, stream.process);
    EXPECT_EQ(trace.device.start_ns[work] - trace.host.start_ns[call], 10'000);
  }
  EXPECT_EQ(trace.memory.device_id[0], 1);
  EXPECT_EQ(trace.losses[LossKind::kAmbiguousCorrelation].count, 0U);
  EXPECT_EQ(Merged(trace), 2U);
}

TEST(DeviceTracks, RanksWithDevicesOfTheirOwnAreJoinedToo) {
  const Trace trace = Load(Launch("\"[TP00] 42\"", "\"[TP00] 0\"", 0, 100, 1) + "," +
                           Launch("\"[TP01] 43\"", "\"[TP01] 1\"", 1, 103, 1));
  EXPECT_EQ(trace.losses[LossKind::kAmbiguousCorrelation].count, 0U);
  EXPECT_EQ(trace.device.start_ns[0] - trace.host.start_ns[trace.device.api[0]], 10'000);
  EXPECT_EQ(Merged(trace), 2U);
}

// Where numbers are all there is, the last call in front of the kernel is taken.
TEST(DeviceTracks, NumbersThatRepeatAreDevicesOfTheirOwn) {
  const std::string properties =
      R"json("deviceProperties": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": "NVIDIA H200"}])json";
  Result<Trace> loaded =
      LoadKinetoText("{" + properties + ", \"traceEvents\": [" + Launch("42", "0", 0, 100, 1) +
                         "," + Launch("800042", "800000", 0, 400, 1) + "]}",
                     "test");
  const Trace& trace = loaded.value();
  ASSERT_EQ(trace.devices.size(), 3U);
  EXPECT_EQ(trace.devices[2].id, 2);
  EXPECT_EQ(trace.devices[2].name, "NVIDIA H200");
  EXPECT_EQ(trace.streams[trace.device.stream[1]].device, 2U);
  EXPECT_EQ(trace.device.start_ns[1] - trace.host.start_ns[trace.device.api[1]], 10'000);
  EXPECT_EQ(trace.losses[LossKind::kAmbiguousCorrelation].count, 1U);
  EXPECT_EQ(Merged(trace), 2U);
}

// A record without a process id belongs to whoever has the number.
TEST(DeviceTracks, WithoutAProcessIdTheNumberDecides) {
  const Trace trace = Load(
      Launch("5", "7", 0, 100, 1) +
      R"json(,{"ph":"X","cat":"kernel","name":"k","ts":300,"dur":5,"args":{"device":0,"stream":7}})json");
  EXPECT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(Merged(trace), 0U);
}

}  // namespace
}  // namespace hone::importer::kineto
