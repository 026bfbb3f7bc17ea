// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/call_tree.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analyze/source_frame.h"
#include "trace/running.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Files of PyTorch that only hand on to an operator or start a program, after "torch/".
constexpr std::string_view kCovers[] = {
    "_tensor.py",       "functional.py",        "nn/functional.py", "nn/parameter.py",
    "storage.py",       "utils/_contextlib.py", "_utils.py",        "_ops.py",
    "_jit_internal.py", "overrides.py",         "random.py",        "autograd/grad_mode.py"};
constexpr std::string_view kCoverFolders[] = {"linalg/", "fft/", "special/", "sparse/",
                                              "multiprocessing/"};

// The path from the package on; "" where it is not PyTorch's.
std::string_view InTorch(std::string_view file) {
  constexpr std::string_view kFolder = "torch/";
  if (file.starts_with(kFolder)) return file.substr(kFolder.size());
  constexpr std::string_view kInstalled = "-packages/torch/";
  const std::size_t at = file.rfind(kInstalled);
  return at == std::string_view::npos ? std::string_view{} : file.substr(at + kInstalled.size());
}

bool IsCover(const analyze::SourceFrame& frame) {
  const std::string_view path = InTorch(frame.file);
  if (frame.function == "backward" || frame.function.ends_with(".backward")) return false;
  return std::find(std::begin(kCovers), std::end(kCovers), path) != std::end(kCovers) ||
         std::any_of(std::begin(kCoverFolders), std::end(kCoverFolders),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

// An optimizer of PyTorch's own calls the closure that it was given: under Lightning the user's
// step. Their common cover calls the step of an optimizer, which may be the user's.
bool CallsBack(std::string_view torch) {
  return torch.starts_with("optim/") && torch != "optim/optimizer.py";
}

bool IsOfMetrics(std::string_view file) {
  constexpr std::array<std::string_view, 4> kLibraries = {"/torchmetrics/", "/torcheval/metrics/",
                                                          "/ignite/metrics/", "/evaluate/"};
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view library) {
    return file.find(library) != std::string_view::npos;
  });
}

}  // namespace

CodeRole RoleOfCode(std::string_view text) {
  if (text.starts_with("nn.Module: ")) return CodeRole::kModel;
  const analyze::SourceFrame frame = analyze::ParseFrame(text);
  if (frame.file.empty() || IsCover(frame)) return CodeRole::kPlain;
  if (analyze::IsFrameworkFrame(frame)) return CodeRole::kModel;
  return analyze::IsUserFrame(frame) ? CodeRole::kUser : CodeRole::kPlain;
}

CallTree::CallTree(const Model& model) : nodes_(1), of_(model.trace().host.size(), 0) {
  if (model.facts().trust.present.python > 0) {
    TakeFrames(model);
  } else {
    TakeStacks(model);
  }
}

std::uint32_t CallTree::FunctionOf(std::string_view place) const {
  const analyze::SourceFrame frame = analyze::ParseFrame(place);
  const auto found = functions_.find({frame.file, frame.function});
  return found == functions_.end() ? 0 : found->second;
}

std::uint32_t CallTree::Add(std::uint32_t caller, std::string_view place) {
  const analyze::SourceFrame frame = analyze::ParseFrame(place);
  Node node;
  node.caller = caller;
  node.place = place;
  node.role = RoleOfCode(place);
  const auto self = static_cast<std::uint32_t>(nodes_.size());
  // Some versions of Python run a comprehension as a function of its own.
  const bool inside = caller != 0 && analyze::IsComprehension(frame) &&
                      analyze::ParseFrame(nodes_[caller].place).file == frame.file;
  node.function = inside ? nodes_[caller].function
                         : functions_
                               .try_emplace({frame.file, frame.function},
                                            static_cast<std::uint32_t>(functions_.size() + 1))
                               .first->second;
  node.user = node.role == CodeRole::kUser    ? self
              : node.role == CodeRole::kModel ? 0
                                              : nodes_[caller].user;
  // Trainers call the user's step and what is in it; PyTorch calls nobody's but a model's.
  const std::string_view torch = InTorch(frame.file);
  const bool runs = node.role == CodeRole::kModel && (frame.file.empty() || !torch.empty());
  node.in_model = (nodes_[caller].in_model || runs) && !CallsBack(torch);
  node.measures = nodes_[caller].measures || IsOfMetrics(frame.file);
  nodes_.push_back(node);
  return self;
}

void CallTree::TakeFrames(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  trace::Running running(trace.host);
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    const RowId around = running.Around(i);
    const std::uint32_t caller = around == kNoRow ? 0 : of_[around];
    if (trace.host.kind[i] == SliceKind::kPython) {
      of_[i] = Add(caller, trace.HostName(i));
      running.Begin(i);
    } else if (model.lineage().top_op[i] == i) {
      of_[i] = caller;
    }
  }
}

void CallTree::TakeStacks(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::Thread& thread = trace.threads[model.graph().lanes[0].row];
  std::vector<std::uint32_t> known(trace.strings.size(), 0);  // by StringId of the stack
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> children;
  std::vector<std::string_view> frames;
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (model.lineage().top_op[i] != i) continue;
    const StringId stack = trace.op_details[trace.host.detail[i]].stack;
    if (stack == StringId::kEmpty) continue;
    std::uint32_t& node = known[static_cast<std::uint32_t>(stack)];
    if (node == 0) {
      frames.clear();
      for (std::string_view rest = trace.Name(stack); !rest.empty();) {
        const std::size_t cut = std::min(rest.find(';'), rest.size());
        std::string_view frame = rest.substr(0, cut);
        while (frame.starts_with(' ')) frame.remove_prefix(1);
        if (!frame.empty()) frames.push_back(frame);
        rest.remove_prefix(std::min(cut + 1, rest.size()));
      }
      for (std::size_t f = frames.size(); f-- > 0;) {
        std::uint32_t& child = children[{node, frames[f]}];
        if (child == 0) child = Add(node, frames[f]);
        node = child;
      }
    }
    of_[i] = node;
  }
}

}  // namespace hone::replay
