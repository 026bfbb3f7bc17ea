// SPDX-License-Identifier: Apache-2.0
// Recorder: the life of the recording in one process. Starts when something worth recording shows
// up, owns the file and the writer thread, opens and closes windows, survives forks, and finishes
// the file when the process ends in whatever way lets it.
//
// Off unless HONE_RUN_DIR is set. All functions are safe to call at any time from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "collect/window.h"

namespace hone::collect {

// Starts the recorder if it has not started in this process; false when it is off or cannot.
bool StartRecorder() noexcept;
bool RecorderStarted() noexcept;
bool RecorderFinishing() noexcept;  // the process ends
bool RecorderWanted() noexcept;     // HONE_RUN_DIR is set and the recorder has not failed

// Everything that is known goes into the file, which ends in order. Waits at most two seconds.
// Nothing is recorded afterwards.
void FinishRecorder() noexcept;

void NoteStep(StepSign sign) noexcept;
// The device is recorded again, after another tool had it: steps count from here.
void NoteResumed() noexcept;
// A mark for the file (wire::MarkKind).
void NoteMark(std::uint8_t kind, std::int64_t value, std::string_view text) noexcept;
// Kept whole for the file; at most 256 of them a process.
void NoteInfo(std::string_view key, std::string_view value) noexcept;
void NoteLoss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept;

// In the child of a fork (pthread_atfork): everything of the parent is dropped; the child starts
// its own file with its first event.
void ForkedRecorder() noexcept;

// Whether arguments of operators are to be taken just now.
bool SamplingArguments() noexcept;

// Whether Python's own start-up file called us: then torch will be announced by its import hook.
void PythonHookPresent() noexcept;

}  // namespace hone::collect
