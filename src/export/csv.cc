// SPDX-License-Identifier: Apache-2.0
#include "export/csv.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/csv_text.h"
#include "export/sql_database.h"
#include "export/sql_rank.h"
#include "export/sql_schema.h"
#include "export/text_output.h"

namespace hone::exporter {
namespace {

void WriteHead(const SqlTable& table, TextOutput& out) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out.Raw(i == 0 ? "" : ",").Raw(table.columns[i].name);
  }
  out.Raw("\n");
}

void WriteText(std::string_view text, TextOutput& out) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != ',' && c != '"';
  });
  if (plain) {
    out.Raw(text);
  } else {
    out.Raw(CsvText(text));
  }
}

void WriteCell(const SqlValue& value, TextOutput& out) {
  switch (value.kind()) {
    case SqlValue::Kind::kNull: return;
    case SqlValue::Kind::kInteger: out.Int(value.integer()); return;
    case SqlValue::Kind::kReal:
      if (std::isfinite(value.real())) out.Real(value.real());
      return;
    case SqlValue::Kind::kText: WriteText(value.text(), out); return;
  }
}

// The ranks that share the tables: rows are numbered on from one to the next.
class CsvRanks {
 public:
  SqlRank Next(const Exported& rank) {
    return {rank.trace, rank.facts, numbers_.Next(rank.trace.info.rank), before_};
  }
  void Done(const SqlRank& rank) { before_ = rank.Behind(); }

 private:
  SqlRankNumbers numbers_;
  SqlRank::Counts before_{};
};

// Rows done, over all tables that are written.
class CsvProgress {
 public:
  CsvProgress(const Exported& rank, std::uint64_t total) : rank_(rank), total_(total) {}
  void Row() {
    if ((++done_ & 4095U) == 0 && rank_.progress) rank_.progress(done_, total_);
  }

 private:
  const Exported& rank_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
};

void WriteRows(const SqlTable& table, const SqlRank& rank, CsvProgress& progress, TextOutput& out) {
  const auto rows = static_cast<trace::RowId>(rank.RowsOf(table.id));
  for (trace::RowId row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) out.Raw(",");
      WriteCell(table.columns[i].read(rank, row), out);
    }
    out.Raw("\n");
    progress.Row();
  }
}

class CsvFolder : public Writer {
 public:
  explicit CsvFolder(std::string path) : path_(std::move(path)) {}

  Status Add(const Exported& rank) override {
    const SqlRank sql = ranks_.Next(rank);
    std::uint64_t total = 0;
    for (const SqlTable& table : AllSqlTables()) total += sql.RowsOf(table.id);
    CsvProgress progress(rank, total);
    for (const SqlTable& table : AllSqlTables()) {
      if (sql.RowsOf(table.id) > 0) HONE_RETURN_IF_ERROR(AddTable(table, sql, progress));
    }
    ranks_.Done(sql);
    return Ok();
  }

  Status Finish() override { return Ok(); }

 private:
  Status AddTable(const SqlTable& table, const SqlRank& rank, CsvProgress& progress) const {
    const std::filesystem::path path = path_ / (std::string(table.name) + ".csv");
    std::error_code ignored;
    const bool first = !std::filesystem::exists(path, ignored);
    std::ofstream file(path, std::ios::binary | std::ios::app);
    {
      TextOutput out(file);
      if (first) WriteHead(table, out);
      WriteRows(table, rank, progress, out);
    }
    file.close();
    if (file) return Ok();
    return Error(std::string("cannot be written: ") + std::strerror(errno));
  }

  const std::filesystem::path path_;
  CsvRanks ranks_;
};

class CsvTableWriter : public Writer {
 public:
  CsvTableWriter(const SqlTable& table, std::ostream& out) : table_(table), out_(out) {}

  Status Add(const Exported& rank) override {
    if (first_) WriteHead(table_, out_);
    first_ = false;
    const SqlRank sql = ranks_.Next(rank);
    CsvProgress progress(rank, sql.RowsOf(table_.id));
    WriteRows(table_, sql, progress, out_);
    ranks_.Done(sql);
    return Ok();
  }

  Status Finish() override {
    out_.Flush();
    return Ok();
  }

 private:
  const SqlTable& table_;
  TextOutput out_;
  CsvRanks ranks_;
  bool first_ = true;
};

}  // namespace

std::vector<std::string> CsvTables() {
  std::vector<std::string> names;
  for (const SqlTable& table : AllSqlTables()) names.emplace_back(table.name);
  return names;
}

Result<std::unique_ptr<Writer>> CreateCsvFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error) return Error("cannot be made: " + error.message());
  return std::unique_ptr<Writer>(std::make_unique<CsvFolder>(path));
}

std::unique_ptr<Writer> OpenCsvTable(const std::string& table, std::ostream& out) {
  const auto tables = AllSqlTables();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const SqlTable& one) { return one.name == table; });
  HONE_CHECK(found != tables.end());
  return std::make_unique<CsvTableWriter>(*found, out);
}

}  // namespace hone::exporter
