// SPDX-License-Identifier: Apache-2.0
// TorchTrial: the self-test of torch_ops.h for processes without our Python: C++ programs with
// libtorch, and Python that runs no start-up file. What python/hone/_torch.py does from Python is
// done here through functions that libtorch_cpu exports: its C interface for compiled models makes
// and frees tensors, at::_ops calls operators on them. No header of torch, nothing random, no other
// device, too small for torch to start its threads.
#pragma once

#include <cstdint>

namespace hone::collect {

enum class TrialResult : std::uint8_t {
  kPassed,
  kFailed,     // operators ran and were not seen, or seen as others
  kNotTested,  // this torch lacks a function that the trial needs, or is not ready: nothing ran
};

// Runs what hone_torch_probe's contract (torch_layout.h) asks for on the calling thread, which need
// not be the program's: nothing of it is recorded.
TrialResult TryOperators(void* libtorch_cpu) noexcept;

}  // namespace hone::collect
