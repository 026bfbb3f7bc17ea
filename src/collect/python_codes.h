// SPDX-License-Identifier: Apache-2.0
// PythonCodes: the functions of the program's Python that recorded frames name, each once.
//
// Found by the address of the code object, and by what it holds: an address that was freed and used
// again for other code is other code. Any thread looks up and adds, without lock; two threads that
// meet the same new function at once may both add it, which is harmless. Bounded; what does not fit
// is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "collect/python_layout.h"

namespace hone::collect {

class Output;

// Files whose frames are left out of stacks: that the interpreter imports something is told by the
// frames around them.
inline constexpr std::string_view kImportSystem = "<frozen importlib.";

enum : std::uint8_t {
  kFrameworkCode = 1,  // of torch, of generated code: not where a person would look
  kHiddenCode = 2,     // the interpreter's own, and hone's: not told
};

struct PythonCode {
  PyAddress address;
  std::uint64_t print;           // of what the object holds, see FingerPrint
  std::uint32_t id;              // in the file, from 1
  std::uint32_t file, function;  // names
  std::int32_t first_line;
  std::atomic<std::uint8_t> flags;
  std::atomic<bool> whole;  // may be written
};

class PythonCodes {
 public:
  bool Prepare(const PythonLayout& layout) noexcept;  // takes the memory; once

  // Distinguishes code objects that stood at the same address, one after the other. For the warm
  // path: `code` is alive (its frame is on the calling thread's stack). About 2 ns.
  // `lasting`: code of a kind that is hardly ever freed.
  std::uint64_t FingerPrint(PyAddress code, bool* lasting) const noexcept {
    const PyAddress file = Load(code + layout_->code_file);
    const PyAddress name = Load(code + layout_->code_name);
    const PyAddress table = Load(code + layout_->code_table);
    // The interpreter's own code may have none of them.
    *lasting = file == 0 || table == 0 ||
               (name != layout_->module_name &&
                *reinterpret_cast<const char*>(file + layout_->text.data[0]) == '/');
    return *lasting ? Mix(file, name, table) : PassingPrint(file, name, table);
  }
  std::uint64_t FingerPrint(PyAddress code) const noexcept {
    bool lasting = false;
    return FingerPrint(code, &lasting);
  }
  // The same of code that may be gone: false then.
  bool ReadFingerPrints(const PyAddress* codes, int count, std::uint64_t* prints,
                        bool* lasting) const noexcept;
  bool IsStill(PyAddress code, std::uint64_t print) const noexcept;

  // Null when the table or the names are full, or when this is no code object (any more). About
  // 10 ns; microseconds the first time.
  PythonCode* Find(PyAddress code, std::uint64_t print) noexcept;

  const PythonCode* Get(std::uint32_t id) const noexcept {
    return id == 0 || id >= kCodes ? nullptr : &codes_[id];
  }

  // Code under this folder, seen before or later, is of this kind.
  void AddFolder(const char* folder, std::uint8_t flag) noexcept;

  void Drain(Output& output) noexcept;  // writer thread only: new rows
  bool full() const noexcept { return count_.load(std::memory_order_relaxed) + 1 >= kCodes; }
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void Forked() noexcept;

 private:
  static constexpr std::uint32_t kCodes = 1u << 14;  // 0.6 MiB; torch with a compiler: 10,000
  static constexpr std::uint32_t kSlots = kCodes * 2;
  static constexpr int kProbes = 64;
  static constexpr int kFolders = 8;

  // What of a code object says which one it is.
  struct Identity {
    PyAddress type, file, name, table;
    std::uint64_t length;   // of the file's name, in characters
    std::uint8_t state;     // how they are stored
    char first;             // of them
    std::uint64_t tail[4];  // the last bytes of them
    std::int64_t lines;     // bytes of the line table
  };
  bool Lasting(const Identity& identity) const noexcept {
    return identity.first == '/' && identity.name != layout_->module_name;
  }
  static PyAddress Load(PyAddress from) noexcept {
    return *reinterpret_cast<const PyAddress*>(from);
  }
  static std::uint64_t Mix(PyAddress file, PyAddress name, PyAddress table) noexcept {
    return (file * 0x9e3779b97f4a7c15u) ^ (name * 0xc2b2ae3d27d4eb4fu) ^ table;
  }
  std::uint64_t PassingPrint(PyAddress file, PyAddress name, PyAddress table) const noexcept;
  std::uint64_t Print(const Identity& identity) const noexcept;
  // Where the last bytes of the file's name stand, and how many.
  PyAddress Tail(const Identity& identity, std::size_t* bytes) const noexcept;
  PythonCode* Add(PyAddress code, std::uint64_t print) noexcept;
  std::uint8_t FlagsOf(const char* file, std::size_t bytes) const noexcept;

  const PythonLayout* layout_ = nullptr;
  PythonCode* codes_ = nullptr;                  // [0] is not used: ids are indices
  std::atomic<std::uint32_t>* slots_ = nullptr;  // ids
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::uint32_t written_ = 0;  // the writer's
  char folders_[kFolders][512] = {};
  std::uint8_t folder_flags_[kFolders] = {};
  std::atomic<int> folder_count_{0};
};

}  // namespace hone::collect
