// SPDX-License-Identifier: Apache-2.0
#include "record/launch.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "record/control.h"
#include "record/installation.h"

namespace hone::record {
namespace {

namespace fs = std::filesystem;

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("hone_launch_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Put(const std::string& name, const std::string& text, int mode = 0644) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    ::chmod(path.c_str(), static_cast<mode_t>(mode));
    return path.string();
  }
  fs::path folder_;
};

TEST_F(LaunchTest, FindsAlongThePathAsTheShellDoes) {
  const std::string second = Put("b/tool", "#!/bin/sh\n", 0755);
  Put("a/tool", "not executable");
  fs::create_directories(folder_ / "c/tool");
  const std::string path = "PATH=" + (folder_ / "c").string() + ":" + (folder_ / "a").string() +
                           ":" + (folder_ / "b").string();
  EXPECT_EQ(FindProgram("tool", {path}).path, second);
  EXPECT_EQ(FindProgram("nosuch", {path}).exit_code, 127);
  EXPECT_EQ(FindProgram("tool", {"PATH=" + (folder_ / "a").string()}).exit_code, 126);
  EXPECT_EQ(FindProgram((folder_ / "a/tool").string(), {path}).exit_code, 126);
  EXPECT_EQ(FindProgram((folder_ / "a").string(), {path}).exit_code, 126);
  EXPECT_EQ(FindProgram("./nosuch", {path}).exit_code, 127);
  EXPECT_EQ(FindProgram("", {path}).exit_code, 127);
  EXPECT_FALSE(FindProgram("sh", {}).path.empty());  // without PATH
}

TEST_F(LaunchTest, StartsWithTheEnvironmentAndNothingElse) {
  const std::string out = (folder_ / "out").string();
  const StartedProgram started =
      StartProgram("/bin/sh", {"sh", "-c", "echo $A-$0 > \"$1\"; exit 7", "zero", out}, {"A=b"},
                   CurrentSignals());
  ASSERT_GT(started.pid, 0) << started.message;
  int status = 0;
  ASSERT_EQ(::waitpid(started.pid, &status, 0), started.pid);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  std::string line;
  std::getline(std::ifstream(out) >> std::ws, line);
  EXPECT_EQ(line, "b-zero");
}

TEST_F(LaunchTest, AScriptWithoutAnInterpreterRunsByTheShell) {
  const std::string script = Put("plain", "exit $1\n", 0755);
  const StartedProgram started = StartProgram(script, {"plain", "9"}, {}, CurrentSignals());
  ASSERT_GT(started.pid, 0) << started.message;
  int status = 0;
  ::waitpid(started.pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

TEST_F(LaunchTest, WhatCannotStartSaysWhy) {
  const std::string script = Put("bad", "#!/no/such/interpreter\n", 0755);
  const StartedProgram started = StartProgram(script, {script}, {}, CurrentSignals());
  EXPECT_EQ(started.pid, -1);
  EXPECT_EQ(started.exit_code, 127);
  EXPECT_EQ(started.message, script +
                                 ": cannot be started: /no/such/interpreter, which its first line "
                                 "names, is not there");
}

TEST_F(LaunchTest, FirstLinesThatAreOdd) {
  const auto why = [&](const char* name, const char* text) {
    const std::string script = Put(name, text, 0755);
    return StartProgram(script, {script}, {}, CurrentSignals()).message;
  };
  EXPECT_EQ(why("short", "#!/no/such"), (folder_ / "short").string() +
                                            ": cannot be started: /no/such, which its first line "
                                            "names, is not there");
  const std::string crlf = (folder_ / "crlf").string();
  EXPECT_EQ(why("crlf", "#!/bin/sh\r\necho\r\n"),
            crlf + ": cannot be started: its lines end as on Windows; sed -i 's/\\r$//' " + crlf);
}

TEST_F(LaunchTest, WhatIsNoProgramSaysWhatToWrite) {
  const std::string script = Put("train.py", "print()\n"), text = Put("notes", "hello");
  const auto why = [](const std::string& name) { return FindProgram(name, {"PATH=/bin"}).message; };
  EXPECT_EQ(why(script), script + ": is not executable; write -- python " + script);
  EXPECT_EQ(why(text),
            text + ": is not executable; chmod +x " + text + ", or name the program that reads it");
  EXPECT_EQ(why(folder_.string()), folder_.string() + ": is a folder, not a program");
  EXPECT_EQ(why("./no/such"), "./no/such: no such file");
  EXPECT_EQ(FindProgram("notes", {"PATH=" + folder_.string()}).message, why(text));
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_EQ(why("train.py"), "train.py: is a script, not a program; write -- python train.py");
  EXPECT_EQ(why("notes"),
            "notes: no such program in PATH; for the file in this folder write ./notes");
  EXPECT_EQ(why("nosuch"), "nosuch: no such program; is it in PATH?");
  EXPECT_EQ(why(""), ": no such program; is it in PATH?");
  fs::current_path(before);
}

TEST_F(LaunchTest, ProgramsThatNothingCanBeLoadedInto) {
  EXPECT_EQ(WhyClosed("/bin/sh"), "");
  EXPECT_EQ(WhyClosed(Put("script", "#! /bin/sh -e\n", 0755)), "");
  EXPECT_EQ(WhyClosed(Put("text", "hello", 0755)), "");
  std::string elf(64, '\0');
  elf.replace(0, 5, "\177ELF\002");
  elf[54] = 56;  // e_phentsize; no program header, so no loader
  const std::string program = Put("static", elf, 0755);
  EXPECT_NE(WhyClosed(program).find("statically linked"), std::string::npos);
  EXPECT_NE(WhyClosed(Put("by_static", "#!" + program + "\n", 0755)).find("statically linked"),
            std::string::npos);
  elf[4] = 1;
  EXPECT_NE(WhyClosed(Put("old", elf, 0755)).find("32-bit"), std::string::npos);
}

TEST_F(LaunchTest, ProgramsOfAnotherCLibraryDoNotStartWithOurs) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_INTERP;
  segment.p_offset = sizeof header + sizeof segment;
  const auto program = [&](const std::string& loader) {
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           std::string(reinterpret_cast<const char*>(&segment), sizeof segment) + loader + '\0';
  };
  const std::string musl = Put("musl", program("/lib/ld-musl-x86_64.so.1"), 0755);
  EXPECT_NE(WhyClosed(musl).find("/lib/ld-musl-x86_64.so.1"), std::string::npos);
  EXPECT_TRUE(RefusesPreload(musl));
  EXPECT_TRUE(RefusesPreload(Put("by_musl", "#!" + musl + "\n", 0755)));
  const std::string glibc = Put("glibc", program("/lib64/ld-linux-x86-64.so.2"), 0755);
  EXPECT_EQ(WhyClosed(glibc), "");
  EXPECT_FALSE(RefusesPreload(glibc));
  segment.p_type = PT_LOAD;  // what a static program starts may be open
  EXPECT_FALSE(RefusesPreload(Put("static", program(""), 0755)));
}

TEST_F(LaunchTest, TheThreeLayoutsOfAnInstallation) {
  const std::string library = Put("prefix/lib/hone/libhone_collect.so", "");
  const std::string site = Put("prefix/lib/hone/python/inject/sitecustomize.py", "");
  for (const char* program : {"prefix/bin/hone", "prefix/hone"}) {
    const Result<Installation> found = FindInstallationBeside((folder_ / program).string());
    ASSERT_TRUE(found) << program;
    EXPECT_EQ(found->library, library);
    EXPECT_EQ(found->inject + "/sitecustomize.py", site);
  }
  const Result<Installation> none = FindInstallationBeside("/nowhere/bin/hone");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("/nowhere/lib/hone"), std::string::npos);
}

TEST_F(LaunchTest, FoldersOfRuns) {
  const std::string fresh = (folder_ / "x/y").string();
  const Result<std::string> made = MakeRunFolder(fresh, "n");
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, fresh);
  EXPECT_TRUE(MakeRunFolder(fresh, "n"));  // still empty
  Put("x/y/file", "");
  EXPECT_FALSE(MakeRunFolder(fresh, "n"));
  EXPECT_FALSE(MakeRunFolder(Put("file", ""), "n"));
  EXPECT_EQ(NameOfCommand({"python", "-u", "dir/train.py", "--x"}), "train");
  EXPECT_EQ(NameOfCommand({"python", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(NameOfCommand({"./bin/a.out", "1"}), "a.out");
}

TEST_F(LaunchTest, TheControlPageIsMadeOnce) {
  Result<Control> control = Control::Create(folder_.string(), 30);
  ASSERT_TRUE(control);
  EXPECT_TRUE(control->Read().empty());
  EXPECT_EQ(fs::file_size(folder_ / "control"), sizeof(wire::ControlPage));
  EXPECT_FALSE(Control::Create(folder_.string(), 30));  // never over another's
}

}  // namespace
}  // namespace hone::record
