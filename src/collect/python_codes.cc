// SPDX-License-Identifier: Apache-2.0
#include "collect/python_codes.h"

#include <sys/mman.h>

#include <algorithm>
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

// Addresses are used again: after exec of one text and then another, code, name, file name and line
// table may all stand where those of the last one stood. So code of that kind (not from a file, or
// the body of a module) is also told by what is written there.
std::uint64_t PythonCodes::Print(const Identity& identity) const noexcept {
  std::uint64_t print = Mix(identity.file, identity.name, identity.table);
  if (Lasting(identity)) return print;
  // Independent of each other, so that they cost the time of one.
  print ^= identity.length * 0xff51afd7ed558ccdu;
  print ^= static_cast<std::uint64_t>(identity.lines) * 0xc4ceb9fe1a85ec53u;
  print ^= identity.tail[0] * 0x87c37b91114253d5u;
  print ^= identity.tail[1] * 0x4cf5ad432745937fu;
  print ^= identity.tail[2] * 0x52dce729da3ed7bbu;
  print ^= identity.tail[3] * 0x38495ab5a3b5c0c9u;
  return print;
}

PyAddress PythonCodes::Tail(const Identity& identity, std::size_t* bytes) const noexcept {
  const TextLayout& text = layout_->text;
  constexpr std::size_t kWidths[4] = {1, 1, 2, 4};
  std::size_t which = 0;
  while (which < 3 && (identity.state & text.mask) != text.states[which]) ++which;
  const std::size_t whole = identity.length * kWidths[which];
  *bytes = std::min<std::size_t>(whole, sizeof(identity.tail));
  return identity.file + text.data[which] + whole - *bytes;
}

std::uint64_t PythonCodes::PassingPrint(PyAddress file, PyAddress name,
                                        PyAddress table) const noexcept {
  const PythonLayout& layout = *layout_;
  Identity identity = {};
  identity.file = file;
  identity.name = name;
  identity.table = table;
  identity.first = *reinterpret_cast<const char*>(file + layout.text.data[0]);
  identity.length = Load(file + layout.text.length);
  identity.state = *reinterpret_cast<const std::uint8_t*>(file + layout.text.state);
  identity.lines = static_cast<std::int64_t>(Load(table + layout.bytes_size));
  std::size_t bytes = 0;
  const PyAddress tail = Tail(identity, &bytes);
  if (bytes == sizeof(identity.tail)) {  // mostly, and without a call
    std::memcpy(identity.tail, reinterpret_cast<const void*>(tail), sizeof(identity.tail));
  } else {
    std::memcpy(identity.tail, reinterpret_cast<const void*>(tail), bytes);
  }
  return Print(identity);
}

bool PythonCodes::ReadFingerPrints(const PyAddress* codes, int count, std::uint64_t* prints,
                                   bool* lasting) const noexcept {
  constexpr int kMost = 16;  // 4 pieces each by one call
  if (count > kMost) {
    return ReadFingerPrints(codes, kMost, prints, lasting) &&
           ReadFingerPrints(codes + kMost, count - kMost, prints + kMost, lasting + kMost);
  }
  const PythonLayout& layout = *layout_;
  Identity found[kMost] = {};
  ForeignPiece pieces[4 * kMost];
  std::size_t wanted = 0;
  const auto ask = [&](PyAddress from, auto* to) { pieces[wanted++] = {from, to, sizeof(*to)}; };
  for (int i = 0; i < count; ++i) {
    ask(codes[i] + layout.object_type, &found[i].type);
    ask(codes[i] + layout.code_file, &found[i].file);
    ask(codes[i] + layout.code_name, &found[i].name);
    ask(codes[i] + layout.code_table, &found[i].table);
  }
  if (ReadForeignPieces({pieces, wanted}) != wanted) return false;
  wanted = 0;
  for (int i = 0; i < count; ++i) {
    if (found[i].type != layout.code_type) return false;
    found[i].first = '/';
    if (found[i].file == 0 || found[i].table == 0) continue;
    ask(found[i].file + layout.text.data[0], &found[i].first);
    ask(found[i].file + layout.text.length, &found[i].length);
    ask(found[i].file + layout.text.state, &found[i].state);
    ask(found[i].table + layout.bytes_size, &found[i].lines);
  }
  if (ReadForeignPieces({pieces, wanted}) != wanted) return false;
  wanted = 0;
  for (int i = 0; i < count; ++i) {
    lasting[i] = Lasting(found[i]);
    if (lasting[i] || found[i].file == 0 || found[i].table == 0) continue;
    std::size_t bytes = 0;
    const PyAddress tail = Tail(found[i], &bytes);
    if (bytes > 0) pieces[wanted++] = {tail, found[i].tail, bytes};
  }
  if (ReadForeignPieces({pieces, wanted}) != wanted) return false;
  for (int i = 0; i < count; ++i) prints[i] = Print(found[i]);
  return true;
}

bool PythonCodes::Prepare(const PythonLayout& layout) noexcept {
  layout_ = &layout;
  if (codes_ != nullptr) return true;
  codes_ = static_cast<PythonCode*>(TakeMemory(kCodes * sizeof(PythonCode), AfterFork::kKept));
  slots_ = static_cast<std::atomic<std::uint32_t>*>(
      TakeMemory(kSlots * sizeof(std::uint32_t), AfterFork::kKept));
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

bool PythonCodes::IsStill(PyAddress code, std::uint64_t print) const noexcept {
  std::uint64_t now = 0;
  bool lasting = false;
  return ReadFingerPrints(&code, 1, &now, &lasting) && now == print;
}

PythonCode* PythonCodes::Add(PyAddress code, std::uint64_t print) noexcept {
  PyAddress file = 0, name = 0;
  std::int32_t first_line = 0;
  const ForeignPiece pieces[] = {
      {code + layout_->code_file, &file, sizeof(file)},
      {code + layout_->code_name, &name, sizeof(name)},
      {code + layout_->code_first_line, &first_line, sizeof(first_line)}};
  if (ReadForeignPieces(pieces) != std::size(pieces)) return nullptr;

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
  // What 3.12 and later put beneath a call of a class stands on line 0 of a "file" __init__.
  if (first_line <= 0 && file_name == function) flags = kHiddenCode;

  // Another thread's code may have gone while we read: then this is not it.
  if (!IsStill(code, print)) return nullptr;

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
  // Five of six frames while a program imports: 14,000 of them for torch alone, and nobody's
  // concern.
  if (path.starts_with(kImportSystem)) return kHiddenCode;
  if (path.starts_with("<frozen ") || path.starts_with("<eval_with_key>") ||
      Contains(path, "-packages/torch/") || Contains(path, "/torchinductor_") ||
      Contains(path, "-packages/triton/")) {
    return kFrameworkCode;
  }
  const int count = folder_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (path.starts_with(folders_[i])) return folder_flags_[i];
  }
  return 0;
}

void PythonCodes::AddFolder(const char* folder, std::uint8_t flag) noexcept {
  const int at = folder_count_.load(std::memory_order_relaxed);
  const std::size_t bytes = std::strlen(folder);
  if (at >= kFolders || bytes + 1 > sizeof(folders_[0])) return;
  std::memcpy(folders_[at], folder, bytes + 1);
  folder_flags_[at] = flag;
  folder_count_.store(at + 1, std::memory_order_release);
  if (codes_ == nullptr) return;
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t id = 1; id <= count && id < kCodes; ++id) {
    if (!codes_[id].whole.load(std::memory_order_acquire)) continue;
    if (NameText(codes_[id].file).starts_with(folder)) {
      codes_[id].flags.fetch_or(flag, std::memory_order_relaxed);
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
