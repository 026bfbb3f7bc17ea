// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace hone {
namespace {

std::string Gzip(const std::string& text) {
  std::string out(text.size() + 1024, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.end_of_stream = 1;
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate_stateless(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

struct Outcome {
  std::string text, damage;
  std::uint64_t ignored = 0;
};

// Reads in odd sizes, so that the seams fall everywhere.
Outcome Drain(ByteSource& source) {
  Outcome outcome;
  char buffer[777];
  std::size_t got = 0;
  do {
    got = source.Read(buffer, sizeof buffer);
    outcome.text.append(buffer, got);
  } while (got == sizeof buffer);
  outcome.damage = source.damage();
  outcome.ignored = source.ignored_bytes();
  return outcome;
}

class ByteSourceTest : public ::testing::Test {
 protected:
  ByteSourceTest() {
    char name[] = "/tmp/hone-bytes-XXXXXX";
    path_ = name;
    path_.replace(0, path_.size(), ::mkdtemp(name));
  }
  ~ByteSourceTest() override {
    std::remove((path_ + "/file").c_str());
    ::rmdir(path_.c_str());
  }
  Outcome Read(const std::string& bytes) {
    std::ofstream(path_ + "/file", std::ios::binary) << bytes;
    Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path_ + "/file");
    EXPECT_TRUE(source);
    return Drain(**source);
  }
  std::string path_;
  std::string text_ = [] {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919) + ",";
    return text;
  }();
};

TEST_F(ByteSourceTest, ReadsPlainGzipAndZstd) {
  for (const std::string& bytes : {text_, Gzip(text_), Zstd(text_)}) {
    const Outcome outcome = Read(bytes);
    EXPECT_EQ(outcome.text, text_);
    EXPECT_EQ(outcome.damage, "");
  }
}

TEST_F(ByteSourceTest, ReadsSeveralMembersAndIgnoresPadding) {
  EXPECT_EQ(Read(Gzip("one ") + Gzip("two ") + Gzip("three")).text, "one two three");
  const Outcome padded = Read(Gzip("one") + std::string(512, '\0'));
  EXPECT_EQ(padded.text, "one");
  EXPECT_EQ(padded.damage, "");
  EXPECT_EQ(padded.ignored, 0U);
  EXPECT_EQ(Read(Zstd("one ") + Zstd("two")).text, "one two");
}

TEST_F(ByteSourceTest, CountsWhatStandsBehindTheLastMember) {
  for (const std::string& tail : {std::string("x"), std::string("garbage"), std::string("a\0b", 3),
                                  std::string(1'000'000, 'y')}) {
    const Outcome outcome = Read(Gzip("one ") + Gzip("two") + tail + std::string(100, '\0'));
    EXPECT_EQ(outcome.text, "one two");
    EXPECT_EQ(outcome.damage, "");
    EXPECT_EQ(outcome.ignored, tail.size());
  }
}

TEST_F(ByteSourceTest, TruncationAnywhereIsSaidAndWhatStandsBeforeIsKept) {
  for (const std::string& whole : {Gzip(text_), Zstd(text_)}) {
    for (const std::size_t size : {std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
      const Outcome outcome = Read(whole.substr(0, size));
      EXPECT_NE(outcome.damage.find("ends early at byte"), std::string::npos)
          << size << ": " << outcome.damage;
      EXPECT_EQ(text_.compare(0, outcome.text.size(), outcome.text), 0);
    }
  }
}

TEST_F(ByteSourceTest, CorruptBytesAreSaid) {
  std::string bytes = Gzip(text_);
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 64; ++i) bytes[i] = '\xA5';
  EXPECT_NE(Read(bytes).damage.find("corrupt at byte"), std::string::npos);
  std::string checksum = Gzip("abc");
  checksum[checksum.size() - 8] ^= 1;
  EXPECT_NE(Read(checksum).damage.find("checksum"), std::string::npos);
}

TEST_F(ByteSourceTest, ReadsAPipe) {
  const std::string pipe = path_ + "/file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << Gzip(text_); });
  EXPECT_EQ(ReadFileHead(pipe, 16), "");
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(pipe);
  ASSERT_TRUE(source);
  EXPECT_EQ(Drain(**source).text, text_);
  writer.join();
}

TEST_F(ByteSourceTest, SaysWhatCannotBeOpened) {
  EXPECT_EQ(OpenByteSource(path_ + "/none").error().message(), "no such file");
  EXPECT_EQ(OpenByteSource(path_).error().message(), "is a directory");
}

}  // namespace
}  // namespace hone
