// SPDX-License-Identifier: Apache-2.0
#include "collect/foreign_memory.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace hone::collect {
namespace {

constexpr std::size_t kPage = 4096;

// A page of 7s, and none behind it.
struct LastPage {
  LastPage()
      : data(static_cast<std::uint8_t*>(
            mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    munmap(data + kPage, kPage);
    std::memset(data, 7, kPage);
  }
  ~LastPage() { munmap(data, kPage); }
  std::uintptr_t At(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(data) + offset;
  }
  std::uint8_t* data;
};

TEST(ForeignMemory, WhatIsNotThereIsAnAnswer) {
  ASSERT_TRUE(ForeignMemoryWorks());
  const LastPage page;
  std::uint64_t value = 0;
  EXPECT_TRUE(ReadForeignValue(page.At(kPage - 8), &value));
  EXPECT_EQ(value, 0x0707070707070707u);
  EXPECT_FALSE(ReadForeignValue(page.At(kPage - 4), &value));
  EXPECT_FALSE(ReadForeignValue(page.At(kPage), &value));
  EXPECT_FALSE(ReadForeignValue(0, &value));
  EXPECT_FALSE(ReadForeignValue(~std::uintptr_t{0} - 64, &value));
}

TEST(ForeignMemory, UpToTheEdge) {
  const LastPage page;
  std::uint8_t buffer[2 * kPage] = {};
  EXPECT_EQ(ReadForeignUpTo(page.At(kPage - 100), buffer, sizeof(buffer)), 100u);
  EXPECT_EQ(buffer[99], 7);
  EXPECT_EQ(ReadForeignUpTo(page.At(kPage), buffer, 16), 0u);
}

TEST(ForeignMemory, PiecesUpToTheFirstThatFails) {
  const LastPage page;
  std::uint64_t values[200] = {};
  ForeignPiece pieces[200];
  for (std::size_t i = 0; i < 200; ++i) pieces[i] = {page.At(8 * i), &values[i], 8};
  EXPECT_EQ(ReadForeignPieces(pieces), 200u);
  EXPECT_EQ(values[199], 0x0707070707070707u);
  pieces[150].from = page.At(kPage);
  EXPECT_EQ(ReadForeignPieces(pieces), 150u);
  pieces[0].from = 0;
  EXPECT_EQ(ReadForeignPieces(pieces), 0u);
}

TEST(ForeignMemory, ChildOfAForkReadsItself) {
  ASSERT_TRUE(ForeignMemoryWorks());
  volatile int value = 1;
  const pid_t child = fork();
  if (child == 0) {
    value = 2;
    ForeignMemoryForked();
    int seen = 0;
    const bool read = ReadForeignValue(reinterpret_cast<std::uintptr_t>(&value), &seen);
    _exit(read && seen == 2 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// As the filter of a container may do.
bool ForbidTheCall() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ForeignMemory, WithoutTheCallThroughAFile) {
  const LastPage page;
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidTheCall()) _exit(77);
    ForeignMemoryForked();
    std::uint64_t values[2] = {};
    const ForeignPiece pieces[] = {{page.At(0), &values[0], 8}, {page.At(kPage), &values[1], 8}};
    const bool right = ForeignMemoryWorks() && ReadForeignPieces(pieces) == 1 &&
                       values[0] == 0x0707070707070707u && !ReadForeignValue(0, &values[1]);
    _exit(right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hone::collect
