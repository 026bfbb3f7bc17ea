// SPDX-License-Identifier: Apache-2.0
// Operators of PyTorch, on every thread, without a header of it: at::addGlobalCallback and two more
// exported functions of libtorch_cpu, found by name.
//
// The callback object has been 40 bytes since 1.13 (two functions, a probability, ten scopes, three
// flags); whether this build agrees is tested right after registration, from Python
// (hone_torch_ready, python/hone) or without it (torch_trial.h), and a build that does not is left
// alone.
#pragma once

#include <cstdint>

namespace hone::collect {

// Finds torch and registers. 0; 1 where operators are not wanted, so that only scopes (steps, the
// loader) are; or a negative number with the reason in TorchWhy.
int TorchReady() noexcept;
// For C++ programs, and for Python that ran no start-up file: TorchReady and the self-test, once.
// A program linked with torch has it done before its main; nothing when torch is not there.
void TorchWithoutPython() noexcept;
// The same once torch was loaded. Cheap while nothing new was. Writer thread.
void TorchLook() noexcept;
void TorchRefuse(const char* why) noexcept;
// Unregisters without a word: operators are seen otherwise (torch_emitted.h), or not at all.
void TorchLetGo() noexcept;
const char* TorchWhy() noexcept;
std::uint64_t TorchOperatorsSeen() noexcept;
// A slice of torch's ended, by its name: counted, and a step where its name says so.
void TorchEnded(std::uint32_t name) noexcept;

// Stages 1 and 2 of hone_torch_probe (collect/torch_layout.h).
int TorchProbe(int stage) noexcept;

// Steps were followed after the window closed, and no longer matter. Writer thread.
void TorchForgetSteps() noexcept;

// Takes arguments of operators from now on, or stops. Any thread.
void TorchSampleArguments(bool on) noexcept;

}  // namespace hone::collect
