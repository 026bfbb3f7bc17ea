// SPDX-License-Identifier: Apache-2.0
// Files that are not what they should be.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "import/nsys/database_test.h"

namespace hone::importer::nsys {
namespace {

using testing::TempDir;
using trace::Trace;

std::string Rows(int count) {
  return std::string(kFullSchema) + R"sql(
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<)sql" +
         std::to_string(count) + R"sql()
    INSERT INTO NVTX_EVENTS SELECT i*10, i*10+5, 59, NULL, 'range ' || i, 16777217, NULL, NULL, 0
      FROM n;)sql";
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(NsysOpen, SaysWhatTheFileLooksLike) {
  EXPECT_TRUE(Has(ErrorOf(""), "test.sqlite: the file is empty; export it again"));
  EXPECT_TRUE(Has(ErrorOf(std::string(8192, '\0')), "starts with zero bytes, as an interrupted"));
  EXPECT_TRUE(Has(ErrorOf("{\"traceEvents\": []}"), "not a SQLite database (it starts with \"{"));
  EXPECT_TRUE(Has(ErrorOf(std::string("SQLite format 3\0", 16)), "ends after 16 bytes"));
  std::string garbage("SQLite format 3\0", 16);
  for (int i = 0; i < 9000; ++i) garbage += static_cast<char>(i * 37 + (i >> 3));
  EXPECT_TRUE(Has(ErrorOf(garbage), "a SQLite header, but what follows is damaged"))
      << ErrorOf(garbage);
  EXPECT_TRUE(Has(ErrorOf(garbage), "export it again with nsys export"));
}

TEST(NsysOpen, OtherDatabasesAreTurnedAway) {
  EXPECT_TRUE(Has(ErrorOf(MakeImage("CREATE TABLE cookies (id, value);")),
                  "not an Nsight Systems export (no CUPTI or NVTX tables);"));
  EXPECT_TRUE(Has(ErrorOf(MakeImage("CREATE TABLE META_DATA_EXPORT (name, value);"
                                    "CREATE TABLE StringIds (id, value);")),
                  "without CUDA, NVTX or OS runtime events; record again"));
}

TEST(NsysOpen, ViewsAndVirtualTablesAreNotTables) {
  // A view of a table's name could compute for ever.
  const std::string endless = R"sql(
    CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start+1 FROM n)
      SELECT start, start+1 AS end, 59 AS eventType FROM n;)sql";
  EXPECT_TRUE(Has(ErrorOf(MakeImage(endless)), "not an Nsight Systems export"));
  const Trace trace =
      MustLoad(endless +
               "CREATE TABLE OSRT_API (start, \"end\", globalTid, nameId, slow AS (start * 2));"
               "INSERT INTO OSRT_API VALUES (1, 2, 3, 4);");
  EXPECT_EQ(trace.host.size(), 1U);
}

TEST(NsysOpen, AShortFileGivesWhatItHas) {
  const std::string image = MakeImage(Rows(20000));
  const std::string half = image.substr(0, image.size() / 2 / 4096 * 4096 + 100);
  const Result<Trace> loaded = LoadNsysImage(half, "half.sqlite");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_GT(loaded->host.size(), 1000U);
  EXPECT_LT(loaded->host.size(), 20000U);
  EXPECT_GE(loaded->losses[LossKind::kTruncatedInput].count, 1U);
}

TEST(NsysOpen, OneBadLineOfTheSchema) {
  const Trace trace = MustLoad(Rows(10) +
                               "CREATE TABLE odd (x); PRAGMA writable_schema=ON;"
                               "UPDATE sqlite_master SET sql='CREATE TABLE (((' WHERE name='odd';");
  EXPECT_EQ(trace.host.size(), 10U);
  EXPECT_EQ(trace.losses[LossKind::kTruncatedInput].count, 1U);
  EXPECT_TRUE(Has(trace.losses[LossKind::kTruncatedInput].first_detail, "malformed"));
}

TEST(NsysOpen, DamageInTheMiddleKeepsTheRest) {
  std::string image = MakeImage(Rows(20000) +
                                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES "
                                "(1,2,0,1,7,0,NULL,0,16,NULL,2);");
  ASSERT_EQ(MustLoad(Rows(20000)).host.size(), 20000U);
  for (std::size_t i = image.size() / 2; i < image.size() / 2 + 8192; ++i) image[i] = '\xEE';
  const Result<Trace> loaded = LoadNsysImage(image, "damaged.sqlite");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_GT(loaded->host.size(), 1000U);
  EXPECT_LT(loaded->host.size(), 20000U);
  EXPECT_EQ(loaded->device.size(), 1U);  // another table, still read
  EXPECT_EQ(loaded->losses[LossKind::kTruncatedInput].count, 1U);
  EXPECT_TRUE(Has(loaded->losses[LossKind::kTruncatedInput].first_detail, "NVTX_EVENTS"));
}

// An inner page of a table: all its children become page `child`.
void PointAllAt(std::string& image, std::size_t page, std::size_t child) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(image[at]); };
  const std::string number{'\0', '\0', static_cast<char>(child >> 8), static_cast<char>(child)};
  const std::size_t at = (page - 1) * 512;
  const std::size_t cells = (byte(at + 3) << 8) | byte(at + 4);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t pointer = at + 12 + 2 * i;
    image.replace(at + ((byte(pointer) << 8) | byte(pointer + 1)), 4, number);
  }
  image.replace(at + 8, 4, number);  // the rightmost child
}

TEST(NsysOpen, FewPagesThatClaimMillionsOfRows) {
  std::string image = MakeImage("PRAGMA page_size=512;" + Rows(20000));
  std::vector<std::size_t> inner;
  for (std::size_t page = 2; page <= image.size() / 512 && inner.size() < 4; ++page) {
    if (image[(page - 1) * 512] == 5) inner.push_back(page);
  }
  ASSERT_EQ(inner.size(), 4U);
  const std::size_t leaf = image.size() / 512;
  ASSERT_EQ(image[(leaf - 1) * 512], 13);
  // Each inner page leads to the next with all its pointers, so rows multiply at every level.
  for (std::size_t i = 0; i < 4; ++i) PointAllAt(image, inner[i], i < 3 ? inner[i + 1] : leaf);
  const Result<Trace> loaded = LoadNsysImage(image, "multiplied.sqlite");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_LE(loaded->host.size(), image.size() / 4 + 1024);
  EXPECT_GE(loaded->losses[LossKind::kTruncatedInput].count, 1U);
}

class NsysFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(TempDir()) / ("hone nsys #1?%41&x=y " + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& bytes) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::filesystem::path folder_;
};

TEST_F(NsysFile, OddPathsStaleLogsAndProgress) {
  std::string image = MakeImage(Rows(40000));
  image[18] = image[19] = 2;  // write-ahead logging, whose log is gone or stale
  const std::string path = Write("run é?#.sqlite", image);
  Write("run é?#.sqlite-wal", "stale");
  Write("run é?#.sqlite-journal", "stale");
  std::uint64_t calls = 0, last = 0;
  ImportOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    ++calls;
    EXPECT_LE(last, done);
    EXPECT_LE(done, total);
    last = done;
  };
  const Result<Trace> loaded = LoadNsys(path, options);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->host.size(), 40000U);
  EXPECT_EQ(loaded->info.input_bytes, image.size());
  EXPECT_EQ(loaded->info.path, path);
  EXPECT_GE(calls, 3U);
  EXPECT_EQ(last, image.size());
}

TEST_F(NsysFile, WhatCannotBeOpened) {
  const Result<Trace> none = LoadNsys((folder_ / "none.sqlite").string());
  ASSERT_FALSE(none);
  EXPECT_TRUE(Has(none.error().message(), "none.sqlite: cannot be opened (No such file"));
  const Result<Trace> folder = LoadNsys(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_TRUE(Has(folder.error().message(), "not a regular file"));
  const Result<Trace> zeros = LoadNsys(Write("zeros.sqlite", std::string(4096, '\0')));
  ASSERT_FALSE(zeros);
  EXPECT_TRUE(Has(zeros.error().message(), "interrupted export"));
}

// Real exports, where they are at hand. Expected numbers are those of the sqlite3 shell.
std::string Shared(const std::string& file) {
  const char* variable = std::getenv("HONE_SHARED");
  const std::string root = variable != nullptr ? variable : "../shared";
  return root + "/peers/nsys/" + file;
}

TEST(NsysReal, TwoGpusForOneSecond) {
  const std::string path = Shared("h100_2gpu_1s.sqlite");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here (set HONE_SHARED)";
  const Result<Trace> loaded = LoadNsys(path);
  ASSERT_TRUE(loaded) << loaded.error().message();
  const Trace& trace = *loaded;
  std::size_t kinds[4] = {}, slices[trace::kSliceKindCount] = {}, linked = 0, attributed = 0;
  for (trace::RowId i = 0; i < trace.device.size(); ++i) {
    ++kinds[static_cast<std::size_t>(trace.device.kind[i])];
    if (trace.device.api[i] == trace::kNoRow) continue;
    ++linked;
    if (trace.device.op[i] != trace::kNoRow) ++attributed;
    const trace::RowId process = trace.threads[trace.host.thread[trace.device.api[i]]].process;
    EXPECT_EQ(trace.streams[trace.device.stream[i]].process, process);
  }
  for (const trace::SliceKind kind : trace.host.kind.span()) {
    ++slices[static_cast<std::size_t>(kind)];
  }
  EXPECT_EQ(kinds[static_cast<std::size_t>(trace::WorkKind::kKernel)], 3442U);
  EXPECT_EQ(kinds[static_cast<std::size_t>(trace::WorkKind::kCopy)], 904U);
  EXPECT_EQ(kinds[static_cast<std::size_t>(trace::WorkKind::kSet)], 22U);
  EXPECT_EQ(slices[static_cast<std::size_t>(trace::SliceKind::kApi)], 5796U);
  EXPECT_EQ(slices[static_cast<std::size_t>(trace::SliceKind::kOp)] +
                slices[static_cast<std::size_t>(trace::SliceKind::kAnnotation)],
            16782U);
  EXPECT_EQ(slices[static_cast<std::size_t>(trace::SliceKind::kOverhead)], 198U);
  EXPECT_EQ(trace.syncs.size(), 244U);
  EXPECT_EQ(linked, 2092U);  // the others were launched before the window
  EXPECT_EQ(attributed, 2092U);
  EXPECT_EQ(trace.processes.size(), 2U);
  EXPECT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.info.recorder, "Nsight Systems 2026.2.1.210");
  EXPECT_EQ(trace.info.base_time_ns, 1779630014975716426);
}

TEST(NsysReal, SmallHealthyOne) {
  const std::string path = Shared("healthy_1pct.sqlite");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here (set HONE_SHARED)";
  const Result<Trace> loaded = LoadNsys(path);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->device.size(), 400U);
  EXPECT_EQ(loaded->host.size(), 400U);
  EXPECT_EQ(loaded->losses[LossKind::kUnlinkedDeviceWork].count, 0U);
  ASSERT_EQ(loaded->devices.size(), 1U);
  EXPECT_EQ(loaded->devices[0].name, "NVIDIA H100 80GB HBM3");
}

}  // namespace
}  // namespace hone::importer::nsys
