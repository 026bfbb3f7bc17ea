// SPDX-License-Identifier: Apache-2.0
// CallTree: the Python functions around the outermost operators of the steps' thread, by recorded
// frames or by the call stacks that operators carry.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

// What code is, of a line on a stack.
enum class CodeRole : std::uint8_t {
  kPlain,  // a library's, a built-in's, or PyTorch's thin cover of an operator
  kUser,   // the user's own
  kModel,  // runs models, optimizers, loaders, backward passes, compiled code
};
CodeRole RoleOfCode(std::string_view frame);

// Nodes are places on stacks, each under its caller; callers stand before callees; node 0: nothing.
class CallTree {
 public:
  struct Node {
    std::uint32_t caller = 0;
    std::string_view place;      // "train.py(46): main", a view into the trace
    std::uint32_t function = 0;  // dense; one file's function, whichever of its lines runs
    CodeRole role = CodeRole::kPlain;
    std::uint32_t user = 0;  // the node of the user's code that it works for; 0: a framework does
    bool in_model = false;   // inside of a framework, with whatever that calls
    bool measures = false;   // inside of a library of metrics, whose results no loss is made of
  };

  // Linear in host rows and distinct stacks.
  explicit CallTree(const Model& model);

  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t functions() const { return functions_.size() + 1; }
  // Of an outermost operator of the steps' thread; 0: not recorded.
  std::uint32_t Of(trace::RowId operation) const { return of_[operation]; }
  // 0: no such function is in the tree.
  std::uint32_t FunctionOf(std::string_view place) const;

 private:
  using Function = std::pair<std::string_view, std::string_view>;  // file, name

  void TakeFrames(const Model& model);
  void TakeStacks(const Model& model);
  std::uint32_t Add(std::uint32_t caller, std::string_view place);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> of_;  // by host row
  std::map<Function, std::uint32_t> functions_;
};

}  // namespace hone::replay
