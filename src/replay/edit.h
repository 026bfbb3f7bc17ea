// SPDX-License-Identifier: Apache-2.0
// Edit: a change to the program, as the replay sees it. One file each under edits/; the models
// behind them and how far they hold: docs/user/whatif.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/known.h"
#include "replay/model.h"
#include "replay/plan.h"

namespace hone::replay {

// How much the change helps: the range of a prediction comes from replaying the outer two.
enum class Guess : std::uint8_t { kLeast, kLikely, kMost };

// least, likely, most.
struct Range3 {
  double least = 0, likely = 0, most = 0;
  double At(Guess guess) const {
    return guess == Guess::kLeast ? least : guess == Guess::kMost ? most : likely;
  }
};

// What an edit found to change in one trace. Holds its targets; applying it twice is a mistake.
class Edit {
 public:
  virtual ~Edit() = default;
  virtual void Apply(const Model& model, Guess guess, Plan& plan) const = 0;
  // For people: what it would change here, e.g. "428 launches a step become 2".
  virtual std::string Scope(const Model& model) const = 0;
};

struct EditInfo {
  const char* id;    // the word after --fix; the doctor's rules use the same
  const char* what;  // one clause: "batches are ready when asked for"
  // Absent: nothing in this trace to change (or no way to tell), with the reason.
  Known<std::unique_ptr<Edit>> (*find)(const Model& model);
  // Another remedy for what a fix cures, and one that may harm: no rule asks for it where that fix
  // applies, and `all` does not mean it.
  bool offered = false;
  // Whether `all` means it: not what makes another step of it, with other samples.
  bool in_all = !offered;
};

// In the order in which they are applied: the recorder's own cost first, then what shortens host
// code and waits, then what changes kernels, then what changes launches, then other ranks.
std::span<const EditInfo> AllEdits();
const EditInfo* FindEdit(std::string_view id);  // null: no such word

}  // namespace hone::replay
