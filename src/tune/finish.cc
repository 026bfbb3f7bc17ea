// SPDX-License-Identifier: Apache-2.0
// What is left of the winner when each part is taken out, and whether it is really faster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "tune/campaign.h"

namespace hone::tune {
namespace {

// Fresh processes on quiet machines differ by 0.3 to 3 % (docs/design/bench.md).
constexpr double kBusyNoise = 0.1;
// Of a comparison's run, a block more: two are looked at and do not count.
constexpr std::int64_t kLookedAtSteps = 10;

Recipe Without(const Recipe& recipe, std::size_t part) {
  Recipe less = recipe;
  less.erase(less.begin() + static_cast<std::ptrdiff_t>(part));
  return less;
}

}  // namespace

// What the winner loses without this part, measured if need be; none where that cannot be said.
std::optional<double> Campaign::Missed(std::size_t part) {
  const double least = std::log1p(options_.least_effect);
  const Recipe less = Without(incumbent_, part);
  Row& row = *RowOf(incumbent_[part]);
  if (ledger_.Runs(less) == 0) {
    if (!Fits(less)) {
      ++not_taken_out_;
      return std::nullopt;
    }
    const std::optional<Trial> trial = Attempt(less, "without", &row.candidate);
    if (!trial) return std::nullopt;
    verdicts_[KeyOf(less)] = guard_->Check(*trial, RiskOf(less));
    Tell(*trial, !Usable(*trial)
                     ? fmt::format("{}: {}", WordOf(trial->ending), trial->error)
                     : fmt::format("without it {} {}", ThreeDigits(*trial->rate), RateUnit()));
  }
  if (ledger_.Runs(less) == 0) return std::nullopt;  // fails without it
  Contrast contrast = ledger_.Compare(incumbent_, less);
  // One that was adopted by itself was measured as a gain before; one that came with others never
  // was. A second look before the first is taken out, and before the other stays.
  const double over = contrast.log_gain - least;
  const bool near = row.together < 2 ? over < 0 && over > -4 * contrast.error
                                     : over > 0 && over < 3 * contrast.error;
  if (near && !less.empty() && ledger_.Runs(less) < 2 && Fits(incumbent_, 2)) {
    for (const Recipe& recipe : {incumbent_, less}) {
      const std::optional<Trial> trial = Attempt(recipe, "without", &row.candidate);
      if (!trial) break;
      Tell(*trial,
           fmt::format("again: {} {}", trial->rate ? ThreeDigits(*trial->rate) : "no", RateUnit()));
    }
    contrast = ledger_.Compare(incumbent_, less);
  }
  row.without = contrast.factor();
  if (!verdicts_[KeyOf(less)].passed) return std::nullopt;
  return contrast.log_gain;
}

// The parts that the winner misses by less than the least effect, the weakest first. All parts are
// measured that the budget allows.
std::vector<std::size_t> Campaign::UselessParts() {
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t i = 0; i < incumbent_.size() && !stopped_; ++i) {
    const std::optional<double> missed = Missed(i);
    if (missed && *missed < std::log1p(options_.least_effect)) found.emplace_back(*missed, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> parts;
  for (const auto& [missed, part] : found) parts.push_back(part);
  if (parts.size() == incumbent_.size()) parts.pop_back();  // one of them it must be
  return parts;
}

// Each by itself is not missed; whether all of them are not is another question.
bool Campaign::MissesNoneOf(const std::vector<std::size_t>& parts) {
  Recipe less;
  for (std::size_t i = 0; i < incumbent_.size(); ++i) {
    if (std::find(parts.begin(), parts.end(), i) == parts.end()) less.push_back(incumbent_[i]);
  }
  if (ledger_.Runs(less) == 0) {
    if (!Fits(less)) return false;
    const std::optional<Trial> trial =
        Attempt(less, "without", &RowOf(incumbent_[parts[0]])->candidate);
    if (!trial || !Usable(*trial)) return false;
    verdicts_[KeyOf(less)] = guard_->Check(*trial, RiskOf(less));
    Tell(*trial, fmt::format("without {}: {} {}", Count(parts.size(), "treatment"),
                             ThreeDigits(*trial->rate), RateUnit()));
  }
  return verdicts_[KeyOf(less)].passed &&
         ledger_.Compare(incumbent_, less).log_gain < std::log1p(options_.least_effect);
}

void Campaign::LeaveOneOut() {
  while (incumbent_.size() > 1 && !stopped_) {
    not_taken_out_ = 0;
    std::vector<std::size_t> parts = UselessParts();
    if (parts.empty()) break;
    if (parts.size() > 1 && !MissesNoneOf(parts)) parts.resize(1);
    Recipe rest;
    for (std::size_t i = 0; i < incumbent_.size(); ++i) {
      if (std::find(parts.begin(), parts.end(), i) == parts.end()) {
        rest.push_back(incumbent_[i]);
        continue;
      }
      Row& row = *RowOf(incumbent_[i]);
      row.fate = Row::Fate::kSuperseded;
      row.why = fmt::format("the others made it useless: with it the winner is {} as fast",
                            Times(row.without.value_or(1)));
    }
    incumbent_ = std::move(rest);
    for (Row& other : rows_) other.without.reset();
  }
  if (not_taken_out_ > 0) {
    result_.notes.push_back(fmt::format(
        "{} of the winner's {} treatments were not taken out again to see what they still give: "
        "the budget was spent",
        not_taken_out_, incumbent_.size()));
  }
  // What stands alone is as much faster as it is without it.
  if (incumbent_.size() == 1) {
    RowOf(incumbent_[0])->without = ledger_.Compare(incumbent_, {}).factor();
  }
}

void Campaign::MeasureAlone() {
  for (const Choice& choice : incumbent_) {
    Row& row = *RowOf(choice);
    const Recipe alone = {choice};
    if (ledger_.Runs(alone) == 0) {
      if (stopped_ || !Fits(alone)) continue;
      const std::optional<Trial> trial = Attempt(alone, "alone", &row.candidate);
      if (!trial) return;
      Tell(*trial, Usable(*trial)
                       ? fmt::format("{} {} alone", ThreeDigits(*trial->rate), RateUnit())
                       : fmt::format("{}: {}", WordOf(trial->ending), trial->error));
      if (ledger_.Runs(alone) == 0) continue;
    }
    row.alone = ledger_.Compare(alone, {}).factor();
  }
}

ConfirmOrder Campaign::PlanConfirmation() const {
  ConfirmOrder order;
  order.recipe = incumbent_;
  order.budget_s = Left();
  order.steps = steps_ + (first_.left ? kLookedAtSteps : 0);  // and what each arm's loader needs
  order.least_effect = options_.least_effect;
  order.timeout_s = Timeout(std::max(Estimate({}), Estimate(incumbent_)));
  order.by_samples = first_.steps->samples_per_s.has_value();
  order.random_data = first_.batches && first_.batches->random;
  order.other_batches = RiskOf(incumbent_) == Risk::kOptimization;
  return order;
}

// One sentence: proven, or why not.
void Campaign::TakeProof(const bench::Benchmark& found) {
  if (found.comparisons.empty() || !found.comparisons[0].judgement.known) {
    result_.proof = "not confirmed: fewer than three pairs were measured";
    return;
  }
  const bench::Comparison& comparison = found.comparisons[0];
  const stats::Judgement& judged = comparison.judgement;
  result_.proven = comparison.verdict() == stats::Verdict::kFaster;
  const std::string numbers = fmt::format("{} ({} to {}) over {}", Times(judged.ratio),
                                          Times(judged.interval.low), Times(judged.interval.high),
                                          Count(static_cast<std::uint64_t>(judged.pairs), "pair"));
  if (result_.proven) {
    result_.proof = "proven: " + numbers;
    return;
  }
  std::string why(stats::WordOf(comparison.verdict()));
  if (!comparison.valid()) why = "both did not do the same work";
  for (const bench::Difference& difference : comparison.work.differences) {
    if (!difference.allowed) why += "; " + difference.sentence;
  }
  for (const std::string& trouble : comparison.trouble) why += "; " + trouble;
  result_.proof = fmt::format("not proven: {}, {}", numbers, why);
}

void Campaign::Confirm() {
  if (incumbent_.empty()) return;
  const ConfirmOrder order = PlanConfirmation();
  const double least = ShortestProof(incumbent_);
  if (!options_.confirm) {
    result_.proof = "not confirmed: that was not asked for";
  } else if (stopped_) {
    result_.proof = "not confirmed: the search ended before (" + result_.ended + ")";
  } else if (least > order.budget_s) {
    result_.proof = fmt::format(
        "not confirmed: {} of the budget are left and three pairs take {}; give a longer --budget",
        HumanDuration(static_cast<Nanos>(std::max(order.budget_s, 0.0) * 1e9)),
        HumanDuration(static_cast<Nanos>(least * 1e9)));
  }
  if (!result_.proof.empty()) return;
  listener_.Confirming(order);
  Result<bench::Benchmark> benchmark = runner_.Confirm(order);
  if (!benchmark) {
    result_.proof = "not confirmed: " + benchmark.error().message();
    return;
  }
  result_.confirmation = std::move(*benchmark);
  TakeProof(*result_.confirmation);
  const std::string& ended = result_.confirmation->ended;
  if (!ended.empty() && result_.ended.empty() && !result_.proven) result_.ended = ended;
  listener_.Confirmed(*result_.confirmation, result_.proof);
}

// Runs that came after a part was adopted tell more of it.
void Campaign::CountAgain() {
  Recipe part;
  for (const Choice& choice : incumbent_) {
    part.push_back(choice);
    if (ledger_.Runs(part) == 0) continue;
    const std::optional<double> old = RowOf(choice)->cumulative;
    for (const Choice& one : part) {
      Row& row = *RowOf(one);
      if (row.cumulative != old) continue;  // this one, and what was adopted at once with it
      row.cumulative_rate = ledger_.Rate(part);
      row.cumulative = ledger_.Compare(part, {}).factor();
    }
  }
}

void Campaign::Finish() {
  CountAgain();
  result_.winner = incumbent_;
  const auto stands = latest_.find(KeyOf(incumbent_));
  if (!incumbent_.empty() && stands != latest_.end()) {
    result_.patch = stands->second.patch;
    result_.winner_guard = guard_->Check(stands->second, RiskOf(incumbent_));
  }
  result_.noise = ledger_.noise().value_or(0);
  if (result_.noise > kBusyNoise && result_.trials.size() == 2) {
    // The first of them describes the program, and is slower by what it looks at.
    result_.notes.push_back(fmt::format(
        "both runs of the program as it is differ by {}: the first was looked into, which takes "
        "time, or this machine is busy with something else; a longer --budget runs it more often",
        Percent(result_.noise)));
  } else if (result_.noise > kBusyNoise) {
    result_.notes.push_back(fmt::format(
        "runs of the same recipe differ by {}: this machine is busy with something else, or the "
        "program's pace changes by itself; small gains cannot be found here",
        Percent(result_.noise)));
  }
  result_.baseline_rate = *ledger_.Rate({});
  const bool all = std::all_of(incumbent_.begin(), incumbent_.end(), [&](const Choice& choice) {
    return Expect(RowOf(choice)->candidate, options_).predicted.has_value();
  });
  if (all) result_.predicted = PredictedGain(incumbent_, {});
  // Adopted first, as adopted; then what was measured, best first; then the rest as declared.
  const auto place = [&](const Row& row) {
    const auto found = std::find(incumbent_.begin(), incumbent_.end(), row.candidate.choice);
    return found == incumbent_.end() ? incumbent_.size()
                                     : static_cast<std::size_t>(found - incumbent_.begin());
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return a.on_top.value_or(-1) > b.on_top.value_or(-1);
  });
  if (!options_.only.empty()) {  // nobody asked for the others
    std::erase_if(rows_, [&](const Row& row) {
      return !options_.only.contains(row.candidate.choice.treatment);
    });
    std::erase_if(result_.inapplicable,
                  [&](const Inapplicable& one) { return !options_.only.contains(one.treatment); });
  }
  result_.rows = std::move(rows_);
  result_.seconds = runner_.Elapsed();
}

}  // namespace hone::tune
