// SPDX-License-Identifier: Apache-2.0
// small-batch: the same samples in fewer, larger steps.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "replay/edits/batch_growth.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_growth.h"
#include "replay/simulate.h"
#include "trace/record_again.h"

namespace hone::replay {
namespace {

// Doublings that are tried. Beyond that a batch is another program, and the recording too far away.
constexpr double kMostTimes = 16;
// Of the time for a sample, what each doubling must give back.
constexpr double kLeastGain = 0.05;
// Of the device's memory, what a program may plan with.
constexpr double kUsable = 0.9;
// Of the kernel time, what must carry a grid; of a step without a device, what must be operators.
constexpr double kLeastKnown = 0.5;

enum class Stop : std::uint8_t { kFarEnough, kNoGain, kMemory };

struct Choice {
  double times = 1;
  double step_ns = 0;  // with that batch, as is likely
  double each_ns = 0;  // of it, for the samples of one recorded step
  Stop stop = Stop::kFarEnough;
  double next = 1;  // of the time that the next doubling would take for a sample
};

// Whether a batch so many times as large fits. What stands between steps stays (parameters, their
// gradients and states), what is above it grows. True where nobody recorded it.
bool Fits(const Model& model, double times) {
  if (!model.facts().memory) return true;
  for (const analyze::DeviceMemory& device : model.facts().memory->devices) {
    if (device.type != trace::MemoryDevice::kGpu || device.capacity <= 0 ||
        device.at_step_end.empty()) {
      continue;
    }
    const Bytes between = *std::min_element(device.at_step_end.begin(), device.at_step_end.end());
    const auto grows = static_cast<double>(std::max<Bytes>(device.peak_allocated - between, 0));
    const auto stays =
        static_cast<double>(between + (device.relative ? device.allocated_before : 0));
    if (stays + times * grows > kUsable * static_cast<double>(device.capacity)) return false;
  }
  return true;
}

double MostTimes(const StepGrowth& growth) {
  return growth.rounds() > 1 ? std::min(kMostTimes, growth.rounds()) : kMostTimes;
}

Choice Choose(const Model& model, const StepGrowth& growth) {
  Plan bare(model.graph());
  if (const FoundEdit observer = FindObserver(model)) {
    (*observer)->Apply(model, Guess::kLikely, bare);
  }
  Choice choice;
  choice.step_ns = choice.each_ns = SteadyStep(model.graph(), bare);
  for (double times = 2; times <= MostTimes(growth); times *= 2) {
    if (!Fits(model, times)) {
      choice.stop = Stop::kMemory;
      return choice;
    }
    Plan plan = bare;
    growth.Apply(Guess::kLikely, times, plan);
    const double step = SteadyStep(model.graph(), plan);
    const double each = step / plan.samples;
    choice.next = each / choice.each_ns;
    if (!(choice.next <= 1 - kLeastGain)) {
      choice.stop = Stop::kNoGain;
      return choice;
    }
    choice.times = times;
    choice.step_ns = step;
    choice.each_ns = each;
  }
  return choice;
}

const char* Word(double times) {
  return times < 4 ? "two" : times < 8 ? "four" : times < 16 ? "eight" : "sixteen";
}

class SmallBatch : public Edit {
 public:
  SmallBatch(std::unique_ptr<const StepGrowth> growth, const Choice& choice)
      : growth_(std::move(growth)), choice_(choice) {}

  void Apply(const Model& /*model*/, Guess guess, Plan& plan) const override {
    growth_->Apply(guess, choice_.times, plan);
  }

  std::string Scope(const Model& /*model*/) const override {
    if (growth_->rounds() > 1) {
      return fmt::format("{:.0f} samples that go through the model one by one go together",
                         choice_.times);
    }
    std::string text = fmt::format("the batch x{:.0f}: a step of {:.3g} ms does the work of {}",
                                   choice_.times, choice_.step_ns / 1e6, Word(choice_.times));
    if (choice_.stop == Stop::kNoGain) {
      text += fmt::format("; x{:.0f} would give less than {:.0f} % more", 2 * choice_.times,
                          kLeastGain * 100);
    } else if (choice_.stop == Stop::kMemory) {
      text += fmt::format("; x{:.0f} would not fit into memory", 2 * choice_.times);
    }
    return text;
  }

 private:
  const std::unique_ptr<const StepGrowth> growth_;
  const Choice choice_;
};

}  // namespace

FoundEdit FindSmallBatch(const Model& model) {
  std::unique_ptr<const StepGrowth> growth;
  const char* full = nullptr;
  if (model.trace().device.size() == 0) {
    if (!model.facts().trust.present.shapes) {
      return FoundEdit::Absent("the sizes of tensors are not in this trace");
    }
    auto of_host = std::make_unique<HostGrowth>(model);
    const double operators = of_host->operators_ns() /
                             static_cast<double>(std::max<Nanos>(model.graph().measured_ns, 1));
    if (operators < kLeastKnown) {
      return FoundEdit::Absent(
          fmt::format("operators take {} of a step; of the rest nobody knows what it is for",
                      Percent(operators)));
    }
    growth = std::move(of_host);
    full = "operators have enough to do for each call";
  } else {
    const std::vector<Task>& tasks = model.graph().tasks;
    if (!std::any_of(tasks.begin(), tasks.end(),
                     [](const Task& task) { return task.kind == TaskKind::kKernel; })) {
      return FoundEdit::Absent("no kernels in the steps");
    }
    auto of_device = std::make_unique<BatchGrowth>(model);
    if (of_device->known() < kLeastKnown) {
      return FoundEdit::Absent(
          fmt::format("{} of the kernel time says on how many of the multiprocessors it ran; {}",
                      Percent(of_device->known()),
                      trace::RecordAgain(model.trace().info, trace::Lacking::kGrids)));
    }
    growth = std::move(of_device);
    full = "kernels fill the device";
  }
  const Choice choice = Choose(model, *growth);
  if (choice.times > 1) return FoundEdit(std::make_unique<SmallBatch>(std::move(growth), choice));
  if (choice.stop == Stop::kMemory) {
    return FoundEdit::Absent("twice the batch would not fit into the device's memory");
  }
  return FoundEdit::Absent(
      fmt::format("{}: twice the batch would take {:.2f} times as long", full, 2 * choice.next));
}

}  // namespace hone::replay
