// SPDX-License-Identifier: Apache-2.0
#include "base/string_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone {
namespace {

TEST(StringPool, GivesEachTextOneId) {
  StringPool pool;
  const StringId a = pool.Intern("a");
  EXPECT_NE(a, StringId::kEmpty);
  EXPECT_EQ(pool.Intern(std::string("a")), a);
  EXPECT_EQ(pool.Intern(""), StringId::kEmpty);
  EXPECT_EQ(pool.Find("a"), a);
  EXPECT_EQ(pool.Find("b"), StringId::kEmpty);
  EXPECT_EQ(pool[a], "a");
}

TEST(StringPool, GrowsAndViewsStay) {
  StringPool pool;
  std::vector<StringId> ids;
  const std::string_view early = pool[pool.Intern("early")];
  for (int i = 0; i < 50'000; ++i) ids.push_back(pool.Intern("name " + std::to_string(i)));
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(pool[ids[static_cast<std::size_t>(i)]], "name " + std::to_string(i));
    ASSERT_EQ(pool.Intern("name " + std::to_string(i)), ids[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(early, "early");
  EXPECT_EQ(pool.size(), 50'002U);
}

TEST(StringPool, TakesTextLongerThanItsBlocks) {
  StringPool pool;
  const std::string text(3'000'000, 'x');
  EXPECT_EQ(pool[pool.Intern(text)], text);
  EXPECT_EQ(pool[pool.Intern("after")], "after");
}

TEST(StringPool, SurvivesAMove) {
  StringPool pool;
  const StringId id = pool.Intern("kept");
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved[id], "kept");
}

}  // namespace
}  // namespace hone
