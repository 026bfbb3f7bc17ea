// SPDX-License-Identifier: Apache-2.0
// Operators of PyTorch, on every thread, without a header of it: at::addGlobalCallback and two more
// exported functions of libtorch_cpu, found by name.
//
// The callback object has been 40 bytes since 1.13 (two functions, a probability, ten scopes, three
// flags); whether this build agrees is tested from Python right after registration
// (hone_torch_ready, python/hone), and a build that does not is left alone.
#pragma once

#include <cstdint>

namespace hone::collect {

// Finds torch and registers. 0, or a negative number with the reason in TorchWhy.
int TorchReady() noexcept;
// For programs whose Python start-up file did not run, and for C++ programs: registers once torch
// is there. Cheap while nothing new was loaded. Writer thread.
void TorchLook() noexcept;
void TorchRefuse(const char* why) noexcept;
const char* TorchWhy() noexcept;
std::uint64_t TorchOperatorsSeen() noexcept;

// Stages 1 and 2 of hone_torch_probe (collect/torch_layout.h).
int TorchProbe(int stage) noexcept;

// Takes arguments of operators from now on, or stops. Any thread.
void TorchSampleArguments(bool on) noexcept;

}  // namespace hone::collect
