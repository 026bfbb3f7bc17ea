// SPDX-License-Identifier: Apache-2.0
// Four training steps for tests of gradients. What is written down runs one by one: 10 us each, 1
// us apart. On a device the backward pass has a thread of its own, and each product a kernel of 20
// us.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "replay/replayed_test.h"

namespace hone::replay {

inline constexpr int kTrainingSteps = 4;
inline constexpr const char* kProduct = "AddmmBackward0";

class BackwardSteps {
 public:
  explicit BackwardSteps(bool device = false) : device_(device) {
    MarkSteps(sketch_, kTrainingSteps, kStep);
    sketch_.builder().trace().info.format = trace::Format::kKineto;
  }

  // One more: from 0 to 3.
  BackwardSteps& Step(int number) {
    at_ = 1000 + number * kStep + 10;
    return *this;
  }
  // Makes a node, which is the next to run backwards.
  BackwardSteps& Forward(const char* name = "aten::linear") {
    made_.push_back(++sequence_);
    Add(name, at_, 10, sequence_);
    return Next();
  }
  BackwardSteps& Op(const char* name, const char* inside = nullptr) {
    Add(name, at_, 10);
    if (inside != nullptr) Add(inside, at_ + 2, 2);
    return Next();
  }
  // On a device each product, or result of what is none, is a kernel of that name.
  BackwardSteps& Node(const char* name, int products, const char* kernel = "product",
                      bool are_products = true) {
    std::int64_t number = -1;
    if (!made_.empty()) {
      number = made_.back();
      made_.pop_back();
    }
    Add(kEngine + name, at_, 10, number, BackwardThread(), 1);
    for (int i = 0; i < products; ++i) {
      Add(are_products ? "aten::mm" : "aten::resize_", at_ + 2 + 3 * i, 2, -1, BackwardThread());
      Launch(at_ + 2 + 3 * i, kernel);
    }
    return Next();
  }
  BackwardSteps& Product(int products = 2, const char* kernel = "product") {
    return Node(kProduct, products, kernel);
  }
  // A parameter takes its gradient: the first, or one more.
  BackwardSteps& Sets() { return Leaf({"aten::detach"}); }
  // Of that size, as recorded: "[[8, 4]]".
  BackwardSteps& SetsOf(const char* dims) {
    dims_ = dims;
    Leaf({"aten::detach"});
    dims_ = nullptr;
    return *this;
  }
  BackwardSteps& Adds(const char* kernel = "add") {
    Launch(at_ + 3, kernel);
    return Leaf({"aten::add_"});
  }
  // With these operators inside, those of the node itself behind "".
  BackwardSteps& Leaf(const std::vector<const char*>& inside) {
    Add(std::string(kEngine) + kAccumulate, at_, 10, -1, BackwardThread());
    double at = at_ + 1;
    for (const char* name : inside) {
      if (*name == '\0') Add(kAccumulate, at, at_ + 10 - at, -1, BackwardThread());
      if (*name != '\0') Add(name, at, 1, -1, BackwardThread());
      at += 2;
    }
    return Next();
  }
  // Without being in anybody's way: so much that steps beside it are not replayed.
  BackwardSteps& MuchWork(int pieces) {
    for (int i = 0; i < pieces; ++i) sketch_.Kernel(at_ + 0.01 * i, at_ + 0.01 * i + 0.005, 0, 9);
    return *this;
  }
  BackwardSteps& Optimizer() {
    sketch_.Annotation("Optimizer.step#Adam.step", at_, at_ + 10);
    return Next();
  }
  // Over parameters of these sizes.
  BackwardSteps& OptimizerOver(const std::vector<const char*>& sizes) {
    const double begin = at_;
    for (const char* size : sizes) {
      dims_ = size;
      Op("aten::addcdiv_");
    }
    dims_ = nullptr;
    sketch_.Annotation("Optimizer.step#Adam.step", begin, at_);
    return Next();
  }
  BackwardSteps& ZeroGrad() {
    sketch_.Annotation("Optimizer.zero_grad#Adam.zero_grad", at_, at_ + 10);
    return Next();
  }
  // Around what is written down until the other.
  BackwardSteps& Open() {
    open_ = at_++;
    return *this;
  }
  BackwardSteps& CloseNode(const char* name) {
    Add(kEngine + std::string(name), open_, at_ - open_, -1, BackwardThread());
    return Next(0);
  }
  BackwardSteps& CloseOptimizer() {
    sketch_.Annotation("Optimizer.step#Adam.step", open_, at_ + 10);
    return Next();
  }

  Replayed Finish() { return Replayed(std::move(sketch_)); }

 private:
  static constexpr double kStep = 2000;  // us
  static constexpr const char* kAccumulate = "torch::autograd::AccumulateGrad";
  static inline const std::string kEngine = "autograd::engine::evaluate_function: ";

  std::int64_t BackwardThread() const {
    return device_ ? TraceSketch::kAutograd : TraceSketch::kMain;
  }
  BackwardSteps& Next(double us = 10) {
    at_ += us + 1;
    return *this;
  }
  void Add(const std::string& name, double at, double us, std::int64_t node = -1,
           std::int64_t thread = TraceSketch::kMain, std::int32_t fwd_thread = 0) {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at);
    op.duration_ns = TraceSketch::Ns(us);
    op.name = builder.Intern(name);
    op.thread = builder.ThreadFor(1, thread);
    op.link = node;
    op.detail = builder.Detail({.dims = builder.Intern(dims_ != nullptr ? dims_ : ""),
                                .types = builder.Intern(dims_ != nullptr ? "[\"float\"]" : ""),
                                .fwd_thread = fwd_thread});
    builder.Add(op);
  }
  void Launch(double at, const char* kernel) {
    if (!device_) return;
    sketch_.Call("cudaLaunchKernel", at + 0.5, at + 1.5, ++launched_, BackwardThread());
    stream_ = std::max(stream_ + 1, at + 5);
    sketch_.Kernel(stream_, stream_ + 20, launched_, 7, kernel);
    stream_ += 20;
  }

  const bool device_;
  const char* dims_ = nullptr;  // of what is written down next
  TraceSketch sketch_;
  double at_ = 0, open_ = 0, stream_ = 0;
  std::int64_t sequence_ = 100, launched_ = 0;
  std::vector<std::int64_t> made_;
};

}  // namespace hone::replay
