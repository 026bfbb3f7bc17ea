// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Nsight Systems export: never a crash, never a hang, never more memory than the
// file's size explains.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view image(reinterpret_cast<const char*>(data), size);
  static_cast<void>(hone::importer::LoadNsysImage(image, "fuzz"));
  return 0;
}
