// SPDX-License-Identifier: Apache-2.0
// hone export TRACE... --to FORMAT [-o FILE]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "export/formats.h"
#include "trace/trace.h"

namespace hone::cli {

class ExportCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  struct Job;

  Status Check(const std::vector<std::string>& files) const;
  // Reads one trace and hands it on.
  void ExportOne(const std::string& file, Job& job);
  Status Write(const exporter::Exported& rank, const std::string& file, Job& job);
  Status OpenShared(const std::string& path, Job& job);
  Status FinishShared(Job& job);
  void SayWritten(const std::string& path, std::uint64_t bytes, Job& job) const;
  bool SharesOutput() const { return format_->write == nullptr; }
  // Whether the format is a folder or database, which no stream can take.
  bool IsPlace() const { return format_->create != nullptr && table_.empty(); }
  std::string PathFor(const exporter::Exported& rank, const std::string& file) const;
  bool WantsGzip(const std::string& path) const { return gzip_ || path.ends_with(".gz"); }

  std::vector<std::string> paths_;
  std::string to_, output_, table_;
  std::int64_t rank_ = -1;
  bool gzip_ = false, quiet_ = false;
  const exporter::Format* format_ = nullptr;
};

}  // namespace hone::cli
