// SPDX-License-Identifier: Apache-2.0
#include "base/gzip_sink.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>

#include "base/byte_source.h"

namespace hone {
namespace {

std::string ThroughGzip(const std::string& text, std::size_t piece) {
  const std::string path = testing::TempDir() + "gzip_sink_test.gz";
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    GzipSink sink(file);
    std::ostream out(&sink);
    for (std::size_t at = 0; at < text.size(); at += piece) out << text.substr(at, piece);
    out.flush();
    sink.Finish();
  }
  auto source = OpenByteSource(path);
  EXPECT_TRUE(source.has_value());
  std::string back(text.size() + 100, '\0');
  back.resize((*source)->Read(back.data(), back.size()));
  EXPECT_EQ((*source)->damage(), "");
  std::remove(path.c_str());
  return back;
}

TEST(GzipSink, ReadsBackAsWritten) {
  // Pseudo-random bytes do not shrink: the output buffer overflows within one piece.
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 1 << 20; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(state >> 24));
  }
  EXPECT_EQ(ThroughGzip(noise, 100'000), noise);
  const std::string zeros(3'000'000, 'a');
  EXPECT_EQ(ThroughGzip(zeros, 1'000'000), zeros);
  EXPECT_EQ(ThroughGzip("x", 1), "x");
  EXPECT_EQ(ThroughGzip("", 1), "");
}

}  // namespace
}  // namespace hone
