// SPDX-License-Identifier: Apache-2.0
// Any bytes through the Kineto importer and, where a trace comes out, through every analysis: what
// a strange file does to the analyses matters as much as what it does to the reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyze/facts.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = hone::importer::LoadKinetoText(text, "fuzz");
  if (!trace) return 0;
  const hone::analyze::Facts facts = hone::analyze::Analyze(*trace);
  (void)facts;
  return 0;
}
