// SPDX-License-Identifier: Apache-2.0
// RunFile: this process's .hone file as the Output of all sources. Writer thread only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "collect/source.h"
#include "wire/file_writer.h"

namespace hone::collect {

class RunFile final : public Output {
 public:
  // False: the folder is gone or cannot be written.
  bool Create(const char* folder) noexcept;

  wire::ChunkBuilder& Rows(wire::Table table) noexcept override;
  void Loss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept override;

  // Writes builders of some size, or all of them.
  void Flush(bool everything) noexcept;
  void WriteAnchor() noexcept;
  bool failed() const noexcept { return file_ && file_->status() != wire::WriteStatus::kOk; }

 private:
  void Write(wire::ChunkBuilder& rows) noexcept override;
  void WriteNewStrings() noexcept;

  // Below this a chunk waits for more rows: small chunks compress badly.
  static constexpr std::size_t kWorthWriting = 32u << 10;

  std::optional<wire::FileWriter> file_;
  std::array<std::unique_ptr<wire::ChunkBuilder>, wire::kTableCount> builders_;
  std::uint32_t strings_written_ = 0;
};

}  // namespace hone::collect
