// SPDX-License-Identifier: Apache-2.0
// TorchBackward: a backward pass costs torch itself far more when operators are recorded than a
// forward pass does, because of two things it does for every node of the graph. Both are shortened
// while a window is open, by standing in the way of two functions with ones that do the same:
//
// - c10::demangle spells out the node's C++ type, twice a node; here a type is spelt out once.
// - at::set_record_function_tls_ builds the thread's lists of callbacks anew for all kinds of
//   records when a node is entered and again when it is left, also where nothing is different;
//   here it is passed on only where something is.
//
// Figures: docs/design/recording.md.
#pragma once

namespace hone::collect {

// Finds out on the calling thread whether torch keeps its thread-local callbacks where we would
// look for them; until then, and if not, nothing is shortened. Any number of times.
void LearnThreadCallbacks() noexcept;

}  // namespace hone::collect
