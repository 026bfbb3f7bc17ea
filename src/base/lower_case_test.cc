// SPDX-License-Identifier: Apache-2.0
#include "base/lower_case.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(LowerCase, OnlyLettersOfAsciiChange) {
  EXPECT_EQ(LowerCase("AllReduce_[@`{Z\xc3\x84"), "allreduce_[@`{z\xc3\x84");
  EXPECT_EQ(LowerCase(""), "");
}

}  // namespace
}  // namespace hone
