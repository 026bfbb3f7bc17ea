// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_text.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/markdown/markdown_words.h"
#include "report/table.h"
#include "report/text/table_text.h"

namespace hone::cli {
namespace {

using exporter::SqlStatement;
using exporter::SqlValue;
using Kind = SqlValue::Kind;

// Shortest form that reads back the same, with a point so that it is seen to be no integer.
std::string RealText(double value) {
  if (!std::isfinite(value)) return value != value ? "nan" : value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// For people: at most six digits behind the point, the same number for a column.
std::string RealText(double value, int decimals) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size >= 1e15 || (size > 0 && size < 1e-6)) return RealText(value);
  return fmt::format("{:.{}f}", value, decimals);
}

int DecimalsOf(double value) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) return 1;
  const std::string text = fmt::format("{:.6f}", value);
  const std::size_t last = text.find_last_not_of('0');
  return static_cast<int>(last - text.find('.'));
}

class TableOutput : public SqlOutput {
 public:
  TableOutput(const SqlOutputOptions& options, const std::vector<std::string>& columns,
              std::ostream& out)
      : options_(options), out_(out), kinds_(columns.size()), decimals_(columns.size(), 1) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      // Numbers are written here and stand at the right; texts at the left, once one was seen.
      // Columns at the end go first where the terminal is narrow; texts may shrink (rank below 5).
      table_.columns.push_back(
          {columns[i], report::Unit::kNumber, static_cast<int>(std::min<std::size_t>(i, 4))});
    }
  }

  void Add(SqlStatement& row) override {
    if (rows_.size() == kMostKept) Write(0, false);
    std::vector<Cell>& cells = rows_.emplace_back();
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const SqlValue value = row.Cell(i);
      Cell cell{value.kind(), {}, 0};
      switch (value.kind()) {
        case Kind::kNull: break;
        case Kind::kInteger: cell.text = fmt::format("{}", value.integer()); break;
        case Kind::kReal:
          cell.real = value.real();
          decimals_[i] = std::max(decimals_[i], DecimalsOf(cell.real));
          break;
        case Kind::kText: cell.text = value.text(); break;
      }
      kinds_[i] = std::max(kinds_[i], value.kind());
      cells.push_back(std::move(cell));
    }
  }

  void Finish(std::uint64_t left_out) override {
    if (rows_.empty()) {
      out_ << options_.style.Paint(report::Tone::kFaint, "no rows") << '\n';
      return;
    }
    Write(left_out, true);
  }

 private:
  struct Cell {
    Kind kind;
    std::string text;
    double real;
  };

  void Write(std::uint64_t left_out, bool last) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i] == Kind::kText) table_.columns[i].unit = report::Unit::kText;
    }
    for (std::vector<Cell>& row : rows_) {
      std::vector<report::Cell> cells;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i].kind == Kind::kReal) row[i].text = RealText(row[i].real, decimals_[i]);
        cells.push_back(row[i].kind == Kind::kNull ? report::Cell()
                                                   : report::Cell(std::string_view(row[i].text)));
      }
      table_.Add(std::move(cells));
    }
    table_.left_out = left_out;
    report::TableTextOptions text;
    text.indent = 0;
    text.raw = true;
    text.notes = last;
    if (options_.interactive) {
      text.all_rows = ".limit 0 shows all";
      text.all_columns = ".mode csv has every column";
    }
    WriteTable(table_, options_.style, text, out_);
    table_.rows.clear();
    rows_.clear();
  }

  const SqlOutputOptions options_;
  std::ostream& out_;
  report::Table table_;
  std::vector<Kind> kinds_;  // by column: the widest kind seen
  std::vector<int> decimals_;
  std::vector<std::vector<Cell>> rows_;
};

// Two columns of one name would make one key: the second is called name_2.
std::vector<std::string> Distinct(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = column;
    for (int n = 2; std::find(names.begin(), names.end(), name) != names.end(); ++n) {
      name = fmt::format("{}_{}", column, n);
    }
    names.push_back(std::move(name));
  }
  return names;
}

class JsonOutput : public SqlOutput {
 public:
  JsonOutput(const std::vector<std::string>& columns, std::ostream& out)
      : names_(Distinct(columns)), json_(out) {
    json_.BeginArray();
  }

  void Add(SqlStatement& row) override {
    json_.BeginObject(JsonWriter::Layout::kInline);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const SqlValue value = row.Cell(i);
      json_.Key(names_[i]);
      switch (value.kind()) {
        case Kind::kNull: json_.Null(); break;
        case Kind::kInteger: json_.Int(value.integer()); break;
        case Kind::kReal: json_.Double(value.real()); break;
        case Kind::kText: json_.String(value.text()); break;
      }
    }
    json_.EndObject();
  }

  void Finish(std::uint64_t /*left_out*/) override {
    json_.EndArray();
    json_.Finish();
  }

 private:
  std::vector<std::string> names_;
  JsonWriter json_;
};

std::string PlainText(const SqlValue& value) {
  switch (value.kind()) {
    case Kind::kNull: return "";
    case Kind::kInteger: return fmt::format("{}", value.integer());
    case Kind::kReal: return RealText(value.real());
    case Kind::kText: break;
  }
  return std::string(value.text());
}

class CsvOutput : public SqlOutput {
 public:
  CsvOutput(const std::vector<std::string>& columns, std::ostream& out)
      : columns_(columns.size()), out_(out) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out << (i == 0 ? "" : ",") << CsvText(columns[i]);
    }
    out << '\n';
  }

  void Add(SqlStatement& row) override {
    for (std::size_t i = 0; i < columns_; ++i) {
      const SqlValue value = row.Cell(i);
      out_ << (i == 0 ? "" : ",")
           << (value.kind() == Kind::kText ? CsvText(value.text()) : PlainText(value));
    }
    out_ << '\n';
  }

  void Finish(std::uint64_t /*left_out*/) override {}

 private:
  std::size_t columns_;
  std::ostream& out_;
};

class MarkdownOutput : public SqlOutput {
 public:
  MarkdownOutput(const std::vector<std::string>& columns, std::ostream& out)
      : columns_(columns.size()), out_(out) {
    for (const std::string& column : columns) out << "| " << report::Markdown(column) << ' ';
    out << "|\n";
    for (std::size_t i = 0; i < columns_; ++i) out << "|---";
    out << "|\n";
  }

  void Add(SqlStatement& row) override {
    for (std::size_t i = 0; i < columns_; ++i) {
      // Names come from strangers: nothing of them may become markup.
      const SqlValue value = row.Cell(i);
      const bool text = value.kind() == Kind::kText;
      out_ << "| " << (text ? report::Markdown(value.text()) : PlainText(value)) << ' ';
    }
    out_ << "|\n";
  }

  void Finish(std::uint64_t left_out) override {
    if (left_out > 0) out_ << fmt::format("\n{} not shown\n", Count(left_out, "more row"));
  }

 private:
  std::size_t columns_;
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<SqlOutput> SqlOutput::Make(const SqlOutputOptions& options,
                                           const std::vector<std::string>& columns,
                                           std::ostream& out) {
  switch (options.mode) {
    case SqlMode::kTable: return std::make_unique<TableOutput>(options, columns, out);
    case SqlMode::kJson: return std::make_unique<JsonOutput>(columns, out);
    case SqlMode::kCsv: return std::make_unique<CsvOutput>(columns, out);
    case SqlMode::kMarkdown: return std::make_unique<MarkdownOutput>(columns, out);
  }
  return nullptr;
}

}  // namespace hone::cli
