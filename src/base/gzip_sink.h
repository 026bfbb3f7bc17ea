// SPDX-License-Identifier: Apache-2.0
// GzipSink: a stream buffer that compresses what is written through it (ISA-L).
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>

namespace hone {

// Constant memory (about 1.5 MiB). A failure of `out` shows there; the sink goes on without a word.
class GzipSink : public std::streambuf {
 public:
  explicit GzipSink(std::ostream& out);
  ~GzipSink() override;

  // Writes the end of the gzip stream. Once; nothing may be written after it.
  void Finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override { return 0; }  // flushing a compressor early costs size and gains nothing
  std::streamsize xsputn(const char* text, std::streamsize size) override;

 private:
  struct State;
  void Compress(const char* text, std::size_t size, bool last);

  std::ostream& out_;
  std::unique_ptr<State> state_;
};

}  // namespace hone
