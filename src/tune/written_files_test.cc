// SPDX-License-Identifier: Apache-2.0
#include "tune/written_files.h"

#include <unistd.h>

#include <fstream>

namespace hone::tune {
namespace {

namespace fs = std::filesystem;

class WrittenFilesTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text = "text") const {
    const fs::path path = fs::path(folder_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::app) << text;
  }

  std::string folder_ = testing::TempDir() + "hone-written-XXXXXX";
};

TEST_F(WrittenFilesTest, WhatIsMadeOrChangedIsNamed) {
  Write("train.py");
  Write("runs/old.log");
  Write("data/a.bin");
  WrittenFiles files(folder_, folder_ + "/hone-train");
  EXPECT_FALSE(files.Look());
  EXPECT_EQ(files.Note(), "");
  Write("runs/old.log", "more");
  EXPECT_TRUE(files.Look());
  EXPECT_EQ(files.files(), std::vector<std::string>{"runs/old.log"});
  EXPECT_EQ(files.Note(),
            "the program wrote runs/old.log into the folder it runs in, and every trial does so "
            "again; run it in a copy of the folder, or give the program another output folder");
  EXPECT_FALSE(files.Look()) << "told once";
}

TEST_F(WrittenFilesTest, ThreeAreNamedAndTheOthersCounted) {
  WrittenFiles files(folder_, folder_ + "/hone-train");
  for (const char* name : {"d.pt", "a.pt", "deep/er/c.pt", "b.pt", "e.pt"}) Write(name);
  EXPECT_TRUE(files.Look());
  EXPECT_EQ(files.files().size(), 5U);
  EXPECT_TRUE(files.Note().starts_with("the program wrote a.pt, b.pt, d.pt and 2 more files into"))
      << files.Note();
}

TEST_F(WrittenFilesTest, WhatToolsWriteIsNotThePrograms) {
  Write("venv/pyvenv.cfg");
  Write("there/x");
  WrittenFiles files(folder_, folder_ + "/hone-train/");
  Write("hone-train/trial-001/output.txt");
  Write(".git/index");
  Write("model/__pycache__/net.pyc");
  Write("node_modules/x.js");
  Write("venv/lib/x.py");
  fs::create_directory_symlink(folder_ + "/venv", folder_ + "/link");
  EXPECT_FALSE(files.Look()) << files.Note();
}

}  // namespace
}  // namespace hone::tune
