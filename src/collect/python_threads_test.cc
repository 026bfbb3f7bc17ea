// SPDX-License-Identifier: Apache-2.0
#include "collect/python_threads.h"

#include <gtest/gtest.h>

#include <thread>

namespace hone::collect {
namespace {

// As an interpreter lists its threads: three words each, in the test's own memory.
struct ThreadWords {
  PyAddress next, pthread, frame;
};

PyAddress AddressOf(const void* object) { return reinterpret_cast<PyAddress>(object); }

PythonLayout LayoutOf(PyAddress& first) {
  PythonLayout layout;
  layout.interpreter = AddressOf(&first);
  layout.thread_next = offsetof(ThreadWords, next);
  layout.thread_id = offsetof(ThreadWords, pthread);
  layout.thread_frame = offsetof(ThreadWords, frame);
  layout.frame_back = 0;
  layout.frame_code = 8;
  layout.frame_instruction = 16;
  return layout;
}

// Prepare wants a thread that is not the process's first, as the sampler is.
int ThreadsWithCode(PyAddress first, int rounds) {
  int seen = 0;
  std::thread([&] {
    const PythonLayout layout = LayoutOf(first);
    static PythonStacks stacks;
    static PythonThreads threads;
    ASSERT_TRUE(threads.Prepare(layout, stacks));
    for (int i = 0; i < rounds; ++i) {
      threads.Look([&](const PythonThread&, PythonThreads::Now) { ++seen; });
    }
    threads.Forked();
  }).join();
  return seen;
}

TEST(PythonThreads, AListThatGoesRoundEnds) {
  const PyAddress self = pthread_self();
  ThreadWords states[3] = {
      {AddressOf(&states[1]), self, 0}, {AddressOf(&states[2]), 0, 0}, {0, 0, 0}};
  EXPECT_EQ(ThreadsWithCode(AddressOf(states), 2), 0);
  states[2].next = AddressOf(&states[2]);  // itself, and no thread: an empty list of the allocator
  EXPECT_EQ(ThreadsWithCode(AddressOf(states), 2), 0);
  states[2].next = AddressOf(&states[0]);  // back to a thread that was seen
  EXPECT_EQ(ThreadsWithCode(AddressOf(states), 2), 0);
  states[2].next = 8;  // nowhere
  EXPECT_EQ(ThreadsWithCode(AddressOf(states), 2), 0);
}

}  // namespace
}  // namespace hone::collect
