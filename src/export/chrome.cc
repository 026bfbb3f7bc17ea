// SPDX-License-Identifier: Apache-2.0
#include "export/chrome.h"

namespace hone::exporter {
namespace {

class ChromeWriter : public Writer {
 public:
  explicit ChromeWriter(std::ostream& out) : out_(out) {}
  Status Add(const Exported& /*rank*/) override { return Error("chrome is not written yet"); }
  Status Finish() override { return out_ ? Ok() : Error("the stream failed"); }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Writer> OpenChrome(std::ostream& out) {
  return std::make_unique<ChromeWriter>(out);
}

}  // namespace hone::exporter
