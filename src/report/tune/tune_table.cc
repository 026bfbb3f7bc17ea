// SPDX-License-Identifier: Apache-2.0
#include "report/tune/tune_table.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "report/bench/bench_words.h"
#include "report/tune/tune_words.h"

namespace hone::report {
namespace {

using tune::Row;

std::string RatioOr(const std::optional<double>& ratio) { return ratio ? RatioText(*ratio) : "-"; }

std::string NumberOr(const std::optional<double>& number) {
  return number ? ThreeDigits(*number) : "-";
}

std::string BytesOr(const std::optional<std::int64_t>& bytes) {
  return bytes ? HumanBytes(static_cast<double>(*bytes)) : "-";
}

// Losses are compared by their fourth digit; three would hide what the guard saw.
std::string LossOr(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4g}", *loss) : "-";
}

TuneTableRow AsItIs(const tune::TuneResult& result) {
  TuneTableRow cells{nullptr, "as it is", "-", "-", "-", "-", "-", "-", ""};
  cells.rate = ThreeDigits(result.baseline_rate);
  if (const tune::Trial* baseline = BaselineOf(result))
    cells.peak = BytesOr(baseline->peak_bytes());
  std::optional<double> loss = result.winner_guard.baseline_loss;
  for (const Row& row : result.rows) {
    if (!loss) loss = row.guard.baseline_loss;
  }
  cells.loss = LossOr(loss);
  return cells;
}

TuneTableRow CellsOf(const Row& row) {
  const bool adopted = row.fate == Row::Fate::kAdopted;
  TuneTableRow cells;
  cells.row = &row;
  cells.name = row.candidate.title;
  cells.alone = RatioOr(row.alone ? row.alone : adopted ? std::nullopt : row.on_top);
  cells.total = RatioOr(row.cumulative);
  cells.rate = NumberOr(adopted && row.cumulative_rate ? row.cumulative_rate : row.rate);
  cells.peak = BytesOr(row.peak_bytes);
  cells.loss = LossOr(row.loss);
  cells.predicted = RatioOr(row.predicted);
  cells.verdict = std::string(tune::WordOf(row.fate));
  return cells;
}

}  // namespace

std::vector<TuneBatchRow> MakeBatchTable(const tune::TuneResult& result) {
  std::vector<TuneBatchRow> rows;
  for (const tune::BatchRow& row : result.batches) {
    TuneBatchRow cells;
    cells.name = row.candidate ? row.candidate->title : "as it is";
    if (result.best_batch == rows.size()) cells.name += " (best)";
    cells.batch = row.batch ? Fixed(*row.batch, *row.batch == std::floor(*row.batch) ? 0 : 1) : "-";
    cells.rate = NumberOr(row.rate);
    cells.step = row.step_ms ? HumanDuration(static_cast<Nanos>(*row.step_ms * 1e6)) : "-";
    cells.peak = BytesOr(row.peak_bytes);
    rows.push_back(std::move(cells));
  }
  return rows;
}

TuneTable MakeTuneTable(const tune::TuneResult& result) {
  TuneTable table;
  table.adopted.push_back(AsItIs(result));
  for (const Row* row : AdoptedRows(result)) table.adopted.push_back(CellsOf(*row));
  for (const Row* row : OtherRows(result)) table.others.push_back(CellsOf(*row));
  return table;
}

}  // namespace hone::report
