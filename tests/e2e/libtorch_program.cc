// SPDX-License-Identifier: Apache-2.0
// A training loop in C++ with PyTorch's own classes: a net, an optimizer, a data loader whose
// batches come from threads of its own. Prints the loss of each step bit for bit, so that runs can
// be compared, and the thread it ran on.
//
//   libtorch_program STEPS sgd|adam [marks]
//
// Built by libtorch_test.py against the libraries of a torch wheel. Its headers take 20 seconds to
// compile, torch/torch.h over a minute: so the ones that are needed, one by one.
#include <sys/syscall.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/samplers/sequential.h>
#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hone.h"

namespace {

constexpr std::int64_t kBatch = 8, kWidth = 16;
constexpr std::size_t kLoaderThreads = 2;

// Examples that follow from their number: nothing is random, whoever asks for them.
class Examples : public torch::data::datasets::Dataset<Examples> {
 public:
  explicit Examples(std::size_t count) : count_(count) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto x = torch::arange(kWidth, torch::kFloat).mul_(0.01 * (1.0 + index % 7)).sin_();
    return {x, x.sum(0, true)};
  }
  torch::optional<std::size_t> size() const override { return count_; }

 private:
  std::size_t count_;
};

std::unique_ptr<torch::optim::Optimizer> MakeOptimizer(const char* name,
                                                       std::vector<torch::Tensor> parameters) {
  if (std::strcmp(name, "adam") == 0) {
    return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                torch::optim::AdamOptions(1e-3));
  }
  return std::make_unique<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(1e-2));
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const auto steps = static_cast<std::size_t>(std::atoi(words[1]));
  const bool marks = count > 3 && std::strcmp(words[3], "marks") == 0;
  torch::manual_seed(3);
  at::set_num_threads(1);
  std::printf("pid %d thread %ld\n", getpid(), syscall(SYS_gettid));

  torch::nn::Sequential net(torch::nn::Linear(kWidth, 32), torch::nn::ReLU(),
                            torch::nn::Linear(32, 1));
  const auto optimizer = MakeOptimizer(words[2], net->parameters());
  const auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Examples(steps * kBatch).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(kBatch).workers(kLoaderThreads));
  std::size_t step = 0;
  for (const auto& batch : *loader) {
    optimizer->zero_grad();
    const torch::Tensor loss =
        torch::nn::functional::mse_loss(net->forward(batch.data), batch.target);
    loss.backward();
    optimizer->step();
    if (marks) hone_step_end();
    std::printf("%zu %a\n", step++, loss.item<double>());
  }
  return 0;
}
