// SPDX-License-Identifier: Apache-2.0
// ControlPage: what `hone run` and the recorded processes tell each other while they run. A file of
// the run's folder (kControlFile), mapped shared by all of them; every field is atomic.
//
// Also the contract of the environment: how the launcher tells a process what to record.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::wire {

// Set for the program and inherited by everything it starts.
inline constexpr const char* kEnvFolder = "HONE_RUN_DIR";  // absolute; unset: record nothing
inline constexpr const char* kEnvSteps = "HONE_STEPS";     // steady steps of a window (30)
// Seconds that the steady steps of a window last together, at least; 0: no matter.
inline constexpr const char* kEnvLeastSeconds = "HONE_LEAST_SECONDS";
inline constexpr const char* kEnvSeconds = "HONE_SECONDS";  // of a window; 0: no limit
inline constexpr const char* kEnvAll = "HONE_ALL";          // 1: one window, from start to end
inline constexpr const char* kEnvEvery = "HONE_EVERY";  // steps between windows' starts; 0: once
// Seconds that a program without steps is recorded (30); for tests.
inline constexpr const char* kEnvWithoutSteps = "HONE_TEST_SECONDS_WITHOUT_STEPS";
inline constexpr const char* kEnvMemory = "HONE_MEMORY_BYTES";  // the recorder's buffers (64 MiB)
// Less holds not even one block a thread and one buffer for CUPTI: every source would drop. More
// than the most no tenth of a second fills, after which it is written out.
inline constexpr std::uint64_t kLeastMemory = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kMostMemory = std::uint64_t{64} << 30;
inline constexpr const char* kEnvStackRate = "HONE_STACK_HZ";  // Python samples a second (100)
// Comma-separated: ops, memory, cuda, nvtx, nccl, python, loader, shapes. Unset: all.
inline constexpr const char* kEnvCollect = "HONE_COLLECT";
inline constexpr const char* kEnvLibrary = "HONE_LIBRARY";  // absolute path of libhone_collect.so

inline constexpr const char* kControlFile = "control";
// One file a process: process-PID.hone; process-PID-2.hone when the same pid ran exec.
inline constexpr const char* kFilePrefix = "process-";
inline constexpr const char* kFileSuffix = ".hone";
inline constexpr const char* kMachineFile = "machine.hone";  // the launcher's own samples

enum class ProcessState : std::uint32_t {
  kFree = 0,       // with a pid: being taken
  kFollowing = 1,  // records, has seen no step of its own: closes when the stepping ones have
  kStepping = 2,   // records and counts steps
  kClosed = 3,     // its window is over; window 0: until it makes a step
  kEnded = 4,      // says the process itself, or the launcher of one that was killed
  // Its window is over for those that follow; it times a few steps without recording before it says
  // so to the launcher.
  kTiming = 5,
};

struct ProcessSlot {
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint32_t> state;   // ProcessState
  std::atomic<std::uint32_t> steps;   // steady ones recorded in this window
  std::atomic<std::uint32_t> window;  // number of the window it is in or has closed, from 1
};

struct ControlPage {
  static constexpr std::uint32_t kMagic = 0x4C544368;  // "hCTL"
  static constexpr std::uint32_t kSlots = 256;
  std::atomic<std::uint32_t> magic;  // set last by the launcher
  std::atomic<std::uint32_t> stop;   // 1: the launcher wants every window closed now
  std::atomic<std::uint32_t> steps_wanted;
  // errno of the first process whose file could not be made, or written any more; 0: none.
  std::atomic<std::uint32_t> file_error;
  // Taken in order, by compare-exchange on pid. Once all are, those of ended processes are taken
  // again, by compare-exchange on state from kEnded to kFree; beside 256 that live, one has none.
  ProcessSlot slots[kSlots];
};
static_assert(sizeof(ProcessSlot) == 16);

}  // namespace hone::wire
