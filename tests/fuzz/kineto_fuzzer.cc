// SPDX-License-Identifier: Apache-2.0
// Any bytes through the Kineto importer and, where a trace comes out, through every analysis, the
// replay and every rule: what a strange file does to them matters as much as what it does to the
// reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyze/facts.h"
#include "doctor/doctor.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Windows of 256 bytes to 64 KiB: small ones put seams into the middle of everything, and the
  // usual ones would spend most of the time on clearing memory.
  const std::size_t window_bytes = size % 4 == 0 ? std::size_t{1} << 16 : 128U << (size % 4);
  const auto trace = hone::importer::LoadKinetoText(text, "fuzz", window_bytes);
  if (!trace) return 0;
  const hone::analyze::Facts facts = hone::analyze::Analyze(*trace);
  const hone::doctor::Diagnosis diagnosis = hone::doctor::Diagnose(*trace, facts);
  (void)diagnosis;
  return 0;
}
