// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/copy_name.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::importer::kineto {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;

TEST(CopyName, WordsOfCudaAndRocm) {
  const CopyName cuda = ParseCopyName("Memcpy DtoH (Device -> Pinned)");
  EXPECT_EQ(cuda.direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(cuda.source, MemoryKind::kDevice);
  EXPECT_EQ(cuda.target, MemoryKind::kPinned);
  EXPECT_EQ(ParseCopyName("CopyHostToDevice").direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(ParseCopyName("MEMORY_COPY_HOST_TO_DEVICE").direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(ParseCopyName("MEMORY_COPY_DEVICE_TO_HOST").direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(ParseCopyName("MEMORY_COPY_DEVICE_TO_DEVICE").direction,
            CopyDirection::kDeviceToDevice);
}

TEST(CopyName, LettersOfLevelZero) {
  const struct {
    const char* sides;
    CopyDirection direction;
    MemoryKind source, target;
  } cases[] = {
      {"(M2D)", CopyDirection::kHostToDevice, MemoryKind::kPageable, MemoryKind::kDevice},
      {"(D2M)", CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPageable},
      {"(H2D)", CopyDirection::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice},
      {"(D2H)", CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPinned},
      {"(S2D)", CopyDirection::kHostToDevice, MemoryKind::kManaged, MemoryKind::kDevice},
      {"(D2S)", CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kManaged},
      {"(D2D)", CopyDirection::kDeviceToDevice, MemoryKind::kDevice, MemoryKind::kDevice},
      {"(M2H)", CopyDirection::kHostToHost, MemoryKind::kPageable, MemoryKind::kPinned},
      {"(X2D)", CopyDirection::kUnknown, MemoryKind::kUnknown, MemoryKind::kDevice},
  };
  for (const auto& one : cases) {
    const CopyName copy = ParseCopyName(std::string("zeCommandListAppendMemoryCopy") + one.sides);
    EXPECT_EQ(copy.direction, one.direction) << one.sides;
    EXPECT_EQ(copy.source, one.source) << one.sides;
    EXPECT_EQ(copy.target, one.target) << one.sides;
  }
}

TEST(CopyName, OtherNamesSayNothing) {
  for (const char* name : {"", "(", "(M2", "(M2D", "copy", "conv2d", "f(a, b)", "()"}) {
    EXPECT_EQ(ParseCopyName(name).direction, CopyDirection::kUnknown) << name;
  }
}

}  // namespace
}  // namespace hone::importer::kineto
