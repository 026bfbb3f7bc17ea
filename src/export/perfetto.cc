// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto.h"

namespace hone::exporter {
namespace {

class PerfettoWriter : public Writer {
 public:
  explicit PerfettoWriter(std::ostream& out) : out_(out) {}
  Status Add(const Exported& /*rank*/) override { return Error("perfetto is not written yet"); }
  Status Finish() override { return out_ ? Ok() : Error("the stream failed"); }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Writer> OpenPerfetto(std::ostream& out) {
  return std::make_unique<PerfettoWriter>(out);
}

}  // namespace hone::exporter
