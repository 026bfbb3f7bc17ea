// SPDX-License-Identifier: Apache-2.0
#include "collect/python_codes.h"

#include <sys/mman.h>

#include <cstring>
#include <string_view>

#include "collect/budget.h"
#include "collect/foreign_memory.h"
#include "collect/names.h"
#include "collect/python_text.h"
#include "collect/source.h"

namespace hone::collect {
namespace {

std::uint32_t SlotOf(PyAddress code, std::uint64_t print) noexcept {
  std::uint64_t hash = (code >> 4) ^ print;
  hash *= 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>(hash >> 40);
}

bool Contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool PythonCodes::Prepare(const PythonLayout& layout) noexcept {
  layout_ = &layout;
  if (codes_ != nullptr) return true;
  codes_ = static_cast<PythonCode*>(TakeMemory(kCodes * sizeof(PythonCode)));
  slots_ = static_cast<std::atomic<std::uint32_t>*>(TakeMemory(kSlots * sizeof(std::uint32_t)));
  return codes_ != nullptr && slots_ != nullptr;
}

PythonCode* PythonCodes::Find(PyAddress code, std::uint64_t print) noexcept {
  const std::uint32_t start = SlotOf(code, print);
  for (int probe = 0; probe < kProbes; ++probe) {
    const std::uint32_t id = slots_[(start + static_cast<std::uint32_t>(probe)) % kSlots].load(
        std::memory_order_acquire);
    if (id == 0) return Add(code, print);
    if (codes_[id].address == code && codes_[id].print == print) return &codes_[id];
  }
  lost_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

PythonCode* PythonCodes::Add(PyAddress code, std::uint64_t print) noexcept {
  PyAddress type = 0, file = 0, name = 0, table = 0;
  std::int32_t first_line = 0;
  const ForeignPiece pieces[] = {
      {code + layout_->object_type, &type, sizeof(type)},
      {code + layout_->code_file, &file, sizeof(file)},
      {code + layout_->code_name, &name, sizeof(name)},
      {code + layout_->code_table, &table, sizeof(table)},
      {code + layout_->code_first_line, &first_line, sizeof(first_line)}};
  if (ReadForeignPieces(pieces) != std::size(pieces)) return nullptr;
  if (type != layout_->code_type || Mix(file, name, table) != print) return nullptr;

  char text[2048];
  int bytes = ReadText(*layout_, file, text, sizeof(text));
  std::uint8_t flags = 0;
  std::uint32_t file_name = kUnnamed, function = kUnnamed;
  if (bytes < 0) {
    flags = kHiddenCode;  // the interpreter's own code has none
  } else {
    flags = FlagsOf(text, static_cast<std::size_t>(bytes));
    file_name = InternName({text, static_cast<std::size_t>(bytes)});
  }
  bytes = ReadText(*layout_, name, text, sizeof(text));
  if (bytes >= 0) function = InternName({text, static_cast<std::size_t>(bytes)});

  // Another thread's code may have gone while we read: then this is not it.
  PyAddress still = 0;
  if (!ReadForeignValue(code + layout_->code_name, &still) || still != name) return nullptr;

  const std::uint32_t id = count_.load(std::memory_order_relaxed) + 1 < kCodes
                               ? count_.fetch_add(1, std::memory_order_relaxed) + 1
                               : kCodes;
  if (id >= kCodes) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  PythonCode& added = codes_[id];
  added.address = code;
  added.print = print;
  added.id = id;
  added.file = file_name;
  added.function = function;
  added.first_line = first_line;
  added.flags.store(flags, std::memory_order_relaxed);
  added.whole.store(true, std::memory_order_release);
  const std::uint32_t start = SlotOf(code, print);
  for (int probe = 0; probe < kProbes; ++probe) {
    std::uint32_t empty = 0;
    if (slots_[(start + static_cast<std::uint32_t>(probe)) % kSlots].compare_exchange_strong(
            empty, id, std::memory_order_release, std::memory_order_relaxed)) {
      break;
    }
  }
  return &added;
}

std::uint8_t PythonCodes::FlagsOf(const char* file, std::size_t bytes) const noexcept {
  const std::string_view path(file, bytes);
  // Entry frames of 3.12 have code of their own, which the interpreter's API never shows.
  if (path == "<shim>") return kHiddenCode;
  if (path.starts_with("<frozen ") || path.starts_with("<eval_with_key>") ||
      Contains(path, "-packages/torch/") || Contains(path, "/torchinductor_") ||
      Contains(path, "-packages/triton/")) {
    return kFrameworkCode;
  }
  const int count = folder_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (path.starts_with(folders_[i])) return kFrameworkCode;
  }
  return 0;
}

void PythonCodes::AddFramework(const char* folder) noexcept {
  const int at = folder_count_.load(std::memory_order_relaxed);
  const std::size_t bytes = std::strlen(folder);
  if (at >= kFolders || bytes + 1 > sizeof(folders_[0])) return;
  std::memcpy(folders_[at], folder, bytes + 1);
  folder_count_.store(at + 1, std::memory_order_release);
  if (codes_ == nullptr) return;
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t id = 1; id <= count && id < kCodes; ++id) {
    if (!codes_[id].whole.load(std::memory_order_acquire)) continue;
    if (NameText(codes_[id].file).starts_with(folder)) {
      codes_[id].flags.fetch_or(kFrameworkCode, std::memory_order_relaxed);
    }
  }
}

void PythonCodes::Drain(Output& output) noexcept {
  if (codes_ == nullptr) return;
  while (written_ + 1 < kCodes && codes_[written_ + 1].whole.load(std::memory_order_acquire)) {
    const PythonCode& code = codes_[++written_];
    output.Row(wire::Table::kCode, code.id, NameText(code.file), NameText(code.function),
               code.first_line);
  }
}

void PythonCodes::Forked() noexcept {
  if (codes_ == nullptr) return;
  // The pages become zero again: the child's file starts without any of them.
  madvise(codes_, kCodes * sizeof(PythonCode), MADV_DONTNEED);
  madvise(static_cast<void*>(slots_), kSlots * sizeof(std::uint32_t), MADV_DONTNEED);
  count_.store(0, std::memory_order_relaxed);
  lost_.store(0, std::memory_order_relaxed);
  written_ = 0;
}

}  // namespace hone::collect
