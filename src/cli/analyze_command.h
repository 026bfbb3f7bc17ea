// SPDX-License-Identifier: Apache-2.0
// hone analyze TRACE... [options]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer.h"
#include "cli/job.h"
#include "cli/verb.h"
#include "report/table.h"
#include "report/words/style.h"

namespace hone::cli {

class AnalyzeCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  Status Check();
  JobOptions Job() const;
  report::TableShape ShapeOf(bool everything) const;
  // The error is about the command line (a column that does not exist).
  Status Write(const report::Report& report, const report::Style& style, std::ostream& out,
               Console& console) const;
  Status WriteOneTable(const report::Report& report, const report::Style& style, std::ostream& out,
                       Console& console) const;

  int WriteHtml(const report::Report& report, Console& console) const;

  std::vector<std::string> paths_;
  bool json_ = false, csv_ = false, all_ = false, reverse_ = false, stable_ = false, quiet_ = false,
       critical_path_ = false, markdown_ = false;
  std::string html_, table_, sort_, group_by_ = "name";
  AnswerOptions answer_;
  std::vector<std::string> compat_;
  std::int64_t limit_ = 20, rank_ = -1;
  const CLI::Option* limit_option_ = nullptr;
};

}  // namespace hone::cli
