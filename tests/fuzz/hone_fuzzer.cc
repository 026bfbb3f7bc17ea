// SPDX-License-Identifier: Apache-2.0
// Any bytes through the reader of .hone files and, where a trace comes out, through every analysis,
// the replay and every rule. Checksums are made right again for most inputs, or hardly a change
// would get past them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/facts.h"
#include "doctor/doctor.h"
#include "import/import.h"
#include "wire/checksum.h"
#include "wire/file_writer.h"
#include "wire/little_endian.h"

namespace {

using namespace hone::wire;  // NOLINT: the sizes and offsets of the format

void RepairChecksums(std::string& image) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(image.data());
  std::size_t at = kFileHeadBytes;
  while (at + kChunkHeadBytes <= image.size()) {
    if (Load32(bytes + at) != kChunkMagic) {
      ++at;
      continue;
    }
    const std::size_t stored = Load32(bytes + at + 16);
    if (stored > image.size() - at - kChunkHeadBytes) return;
    Store32(bytes + at + 20, ChunkChecksum(bytes + at, bytes + at + kChunkHeadBytes, stored));
    at += kChunkHeadBytes + stored;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string image(reinterpret_cast<const char*>(data), size);
  if (size % 8 != 0) RepairChecksums(image);
  const auto trace = hone::importer::LoadHoneImage(image, "fuzz");
  if (!trace) return 0;
  const hone::analyze::Facts facts = hone::analyze::Analyze(*trace);
  const hone::doctor::Diagnosis diagnosis = hone::doctor::Diagnose(*trace, facts);
  (void)diagnosis;
  return 0;
}
