// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    folder_ = fs::temp_directory_path() / ("hone_output_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  static void Write(const fs::path& path, const char* text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t Entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  fs::path folder_;
};

TEST_F(OutputFileTest, WhatLiesBesideThePlaceStays) {
  Write(folder_ / "data.part", "a user's");
  fs::create_directories(folder_ / "data.part.d");
  {
    auto part = PartPath::Make(folder_ / "data");
    ASSERT_TRUE(part);
    auto second = PartPath::Make(folder_ / "data");
    ASSERT_TRUE(second);
    EXPECT_NE((*part)->part(), (*second)->part());
    Write((*part)->part(), "first");
    ASSERT_TRUE((*part)->Commit());
  }
  EXPECT_EQ(Read(folder_ / "data"), "first");
  EXPECT_EQ(Read(folder_ / "data.part"), "a user's");
  EXPECT_EQ(Entries(), 3U);
}

TEST_F(OutputFileTest, WhatIsNotFinishedLeavesNothing) {
  Write(folder_ / "data", "old");
  {
    auto part = PartPath::Make(folder_ / "data");
    ASSERT_TRUE(part);
    Write((*part)->part(), "half");
  }
  EXPECT_EQ(Read(folder_ / "data"), "old");
  EXPECT_EQ(Entries(), 1U);
}

}  // namespace
}  // namespace hone::cli
