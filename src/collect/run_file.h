// SPDX-License-Identifier: Apache-2.0
// RunFile: this process's .hone file as the Output of all sources. Writer thread only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collect/source.h"
#include "wire/file_writer.h"

namespace hone::collect {

class RunFile final : public Output {
 public:
  // False: the folder is gone or cannot be written, or the program has no memory left.
  bool Create(const char* folder) noexcept;

  wire::ChunkBuilder& Rows(wire::Table table) noexcept override;
  void Loss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept override;

  // Writes builders of some size, or all of them.
  void Flush(bool everything) noexcept;
  void WriteAnchor() noexcept;
  int error_number() const noexcept {
    return error_ != 0 || !file_ ? error_ : file_->error_number();
  }
  bool failed() const noexcept { return file_ && file_->status() != wire::WriteStatus::kOk; }

 private:
  bool Make(const char* path) noexcept;
  void Write(wire::ChunkBuilder& rows) noexcept override;
  void WriteNewStrings() noexcept;

  // Below this a chunk waits for more rows: small chunks compress badly.
  static constexpr std::size_t kWorthWriting = 32u << 10;

  std::optional<wire::FileWriter> file_;
  // All made with the file: where the program's memory runs out later, rows are lost, and it is not
  // ended by a bad_alloc of ours.
  std::array<std::optional<wire::ChunkBuilder>, wire::kTableCount> builders_;
  std::uint32_t strings_written_ = 0;
  int error_ = 0;  // errno of a file that could not be made
};

}  // namespace hone::collect
