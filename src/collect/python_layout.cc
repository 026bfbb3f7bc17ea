// SPDX-License-Identifier: Apache-2.0
#include "collect/python_layout.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "collect/foreign_memory.h"
#include "collect/python_text.h"

namespace hone::collect {
namespace {

// How far structures are searched: well past what 3.9 to 3.13 need (given behind).
constexpr std::size_t kThreadBytes = 1024;            // 72
constexpr std::size_t kHopBytes = 32;                 // 8
constexpr std::size_t kFrameBytes = 128;              // 96
constexpr std::size_t kCodeBytes = 320;               // 200
constexpr std::size_t kInterpreterBytes = 64u << 10;  // 7,300

constexpr std::size_t kWord = sizeof(PyAddress);

// A piece of memory, as far as it was there.
template <std::size_t kBytes>
struct Piece {
  Piece() noexcept = default;
  explicit Piece(PyAddress from) noexcept : bytes(ReadForeignUpTo(from, data, kBytes)) {}
  template <typename Value>
  Value At(std::size_t offset) const noexcept {
    Value value{};
    if (offset + sizeof(Value) <= bytes) std::memcpy(&value, data + offset, sizeof(Value));
    return value;
  }
  PyAddress Word(std::size_t offset) const noexcept { return At<PyAddress>(offset); }

  alignas(8) std::uint8_t data[kBytes] = {};
  std::size_t bytes = 0;
};

bool LooksLikeAddress(PyAddress value) noexcept {
  return value >= 4096 && value % kWord == 0 && value < (PyAddress{1} << 56);
}

// The whole chain from `frame` outwards is the known stack, but for frames in between that the API
// does not show (entries from C, clean-ups); at most `kHidden` of them in a row. Keeps the frames
// that it does show.
bool FollowsStack(PyAddress frame, std::size_t code, std::size_t back, const KnownStack& stack,
                  Piece<kFrameBytes>* shown) noexcept {
  constexpr int kHidden = 3;
  int known = 0;
  int hidden = 0;
  while (frame != 0) {
    if (!LooksLikeAddress(frame) || hidden > kHidden) return false;
    const Piece<kFrameBytes> piece(frame);
    if (piece.bytes <= std::max(code, back)) return false;
    if (known < stack.count &&
        (piece.Word(code) & ~PythonLayout::kTag) == stack.frames[known].code) {
      shown[known++] = piece;
      hidden = 0;
    } else {
      ++hidden;
    }
    if (known == KnownStack::kMost) return true;
    frame = piece.Word(back);
  }
  return known == stack.count;
}

class Search {
 public:
  Search(const PythonApi& api, const KnownStack& stack, PythonLayout* layout) noexcept
      : api_(api), stack_(stack), layout_(*layout), thread_(api.PyThreadState_Get()) {}

  const char* Run() noexcept {
    layout_.interpreter = api_.PyInterpreterState_Get();
    layout_.code_type = api_.PyCode_Type;
    layout_.text_type = api_.PyUnicode_Type;
    layout_.bytes_type = api_.PyBytes_Type;
    layout_.none = api_._Py_NoneStruct;
    if (!FindObjectType()) return "the type of objects";
    if (!FindFrames()) return "the frames of this thread";
    if (!FindInstruction()) return "the instruction of a frame";
    if (!FindCode()) return "file, name and lines of code";
    if (!FindLineFormat()) return "how lines are written down";
    if (!FindThreads()) return "the list of threads";
    layout_.module_name = api_.PyUnicode_InternFromString("<module>");
    if (layout_.module_name == 0) return "the name of modules";
    return LearnText(api_, &layout_.text);
  }

 private:
  bool FindObjectType() noexcept {
    const Piece<64> code(stack_.frames[0].code);
    for (std::uint16_t at = 0; at < 64; at = Next(at)) {
      if (code.Word(at) != layout_.code_type) continue;
      layout_.object_type = at;
      return true;
    }
    return false;
  }

  bool FindFrames() noexcept {
    const Piece<kThreadBytes> thread(thread_);
    // The plain way first: what stands behind a hop might lead to the same frames by chance.
    for (std::uint16_t at = 0; at < thread.bytes; at = Next(at)) {
      if (!IsFrame(thread.Word(at))) continue;
      layout_.thread_frame = at;
      layout_.frame_hop = PythonLayout::kNone;
      return true;
    }
    for (std::uint16_t at = 0; at < thread.bytes; at = Next(at)) {
      if (!LooksLikeAddress(thread.Word(at))) continue;
      const Piece<kHopBytes> hop(thread.Word(at));
      for (std::uint16_t to = 0; to < hop.bytes; to = Next(to)) {
        if (!IsFrame(hop.Word(to))) continue;
        layout_.thread_frame = at;
        layout_.frame_hop = to;
        return true;
      }
    }
    return false;
  }

  // Whether the stack starts here; then also where a frame keeps its code and its caller.
  bool IsFrame(PyAddress frame) noexcept {
    if (!LooksLikeAddress(frame)) return false;
    const Piece<kFrameBytes> piece(frame);
    for (std::uint16_t code = 0; code < piece.bytes; code = Next(code)) {
      if ((piece.Word(code) & ~PythonLayout::kTag) != stack_.frames[0].code) continue;
      for (std::uint16_t back = 0; back < piece.bytes; back = Next(back)) {
        if (back == code || !LooksLikeAddress(piece.Word(back))) continue;
        if (!FollowsStack(frame, code, back, stack_, frames_)) continue;
        layout_.frame_code = code;
        layout_.frame_back = back;
        return true;
      }
    }
    return false;
  }

  bool FindInstruction() noexcept {
    for (std::uint16_t at = 0; at + 4u <= kFrameBytes; at = static_cast<std::uint16_t>(at + 4)) {
      if (IsNumber(at, 1)) return SetInstruction(at, InstructionForm::kByte, 0);
      if (IsNumber(at, 2)) return SetInstruction(at, InstructionForm::kUnit, 0);
      if (at % kWord != 0) continue;
      const std::int64_t start = AddressBias(at);
      if (start > 0) return SetInstruction(at, InstructionForm::kAddress, start);
    }
    return false;
  }
  bool SetInstruction(std::uint16_t at, InstructionForm form, std::int64_t start) noexcept {
    layout_.frame_instruction = at;
    layout_.form = form;
    layout_.code_start = static_cast<std::uint16_t>(start);
    return true;
  }
  bool IsNumber(std::uint16_t at, int unit) const noexcept {
    for (int i = 0; i < stack_.count; ++i) {
      if (std::int64_t{frames_[i].At<std::int32_t>(at)} * unit != stack_.frames[i].offset) {
        return false;
      }
    }
    return true;
  }
  // Bytes from the code object to its first instruction, the same for every frame; or 0.
  std::int64_t AddressBias(std::uint16_t at) const noexcept {
    std::int64_t bias = 0;
    for (int i = 0; i < stack_.count; ++i) {
      const KnownFrame& known = stack_.frames[i];
      const auto here = static_cast<std::int64_t>(frames_[i].Word(at) - known.code) - known.offset;
      if (here <= 0 || here > 1024 || (i > 0 && here != bias)) return 0;
      bias = here;
    }
    return bias;
  }

  bool FindCode() noexcept {
    for (int i = 0; i < stack_.count; ++i) codes_[i] = Piece<kCodeBytes>(stack_.frames[i].code);
    for (std::uint16_t at = 0; at < kCodeBytes; at = Next(at)) {
      if (AllCodes(at, &KnownFrame::file)) layout_.code_file = at;
      if (AllCodes(at, &KnownFrame::name)) layout_.code_name = at;
      if (AllCodes(at, &KnownFrame::table)) layout_.code_table = at;
    }
    for (std::uint16_t at = 0; at < kCodeBytes; at = static_cast<std::uint16_t>(at + 4)) {
      bool same = true;
      for (int i = 0; i < stack_.count && same; ++i) {
        same = codes_[i].At<std::int32_t>(at) == stack_.frames[i].first_line;
      }
      if (same) layout_.code_first_line = at;
    }
    return layout_.code_file != PythonLayout::kNone && layout_.code_name != PythonLayout::kNone &&
           layout_.code_table != PythonLayout::kNone &&
           layout_.code_first_line != PythonLayout::kNone;
  }
  bool AllCodes(std::uint16_t at, PyAddress KnownFrame::*field) const noexcept {
    for (int i = 0; i < stack_.count; ++i) {
      if (codes_[i].Word(at) != stack_.frames[i].*field) return false;
    }
    return true;
  }

  bool FindLineFormat() noexcept {
    const PyAddress table = stack_.frames[0].table;
    const Piece<24> head(table);
    const auto data = reinterpret_cast<PyAddress>(api_.PyBytes_AsString(table));
    const std::int64_t size = api_.PyBytes_Size(table);
    if (data <= table || data - table > 64 || size < 0) return false;
    layout_.bytes_data = static_cast<std::uint16_t>(data - table);
    if (head.At<std::int64_t>(layout_.bytes_size) != size) return false;
    for (int format = 0; format < kLineFormats; ++format) {
      layout_.lines = static_cast<LineFormat>(format);
      bool same = true;
      for (int i = 0; i < stack_.count && same; ++i) {
        const KnownFrame& frame = stack_.frames[i];
        const auto* bytes =
            reinterpret_cast<const std::uint8_t*>(api_.PyBytes_AsString(frame.table));
        const auto length = static_cast<std::size_t>(api_.PyBytes_Size(frame.table));
        same = LineAt(layout_.lines, {bytes, length}, frame.first_line, frame.offset) == frame.line;
      }
      if (same) return true;
    }
    return false;
  }

  // A second thread state, made and dropped under the GIL, shows where the list is.
  bool FindThreads() noexcept {
    const auto self = static_cast<PyAddress>(pthread_self());
    const Piece<kThreadBytes> mine(thread_);
    for (std::uint16_t at = 0; at < mine.bytes; at = Next(at)) {
      if (mine.Word(at) != self) continue;
      layout_.thread_id = at;
      break;
    }
    const PyAddress before = api_.PyInterpreterState_ThreadHead(layout_.interpreter);
    const PyAddress other = api_.PyThreadState_New(layout_.interpreter);
    if (other == 0) return false;
    const bool found = FindList(before, other);
    api_.PyThreadState_Clear(other);
    api_.PyThreadState_Delete(other);
    PyAddress head = 0;
    return found && layout_.thread_id != PythonLayout::kNone &&
           ReadForeignValue(layout_.interpreter + layout_.interpreter_threads, &head) &&
           head == before;
  }
  bool FindList(PyAddress before, PyAddress other) noexcept {
    if (api_.PyInterpreterState_ThreadHead(layout_.interpreter) != other) return false;
    const PyAddress next = api_.PyThreadState_Next(other);
    if (next == 0 || next != before) return false;
    const Piece<kThreadBytes> state(other);
    for (std::uint16_t at = 0; at < state.bytes && layout_.thread_next == PythonLayout::kNone;
         at = Next(at)) {
      if (state.Word(at) == next) layout_.thread_next = at;
    }
    const Piece<kInterpreterBytes> interpreter(layout_.interpreter);
    for (std::uint32_t at = 0; at < interpreter.bytes; at += kWord) {
      if (interpreter.Word(at) != other) continue;
      layout_.interpreter_threads = at;
      return layout_.thread_next != PythonLayout::kNone;
    }
    return false;
  }

  static std::uint16_t Next(std::uint16_t at) noexcept {
    return static_cast<std::uint16_t>(at + kWord);
  }

  const PythonApi& api_;
  const KnownStack& stack_;
  PythonLayout& layout_;
  PyAddress thread_;
  Piece<kFrameBytes> frames_[KnownStack::kMost];  // of the known stack, as it shows them
  Piece<kCodeBytes> codes_[KnownStack::kMost];
};

}  // namespace

const char* LearnLayout(const PythonApi& api, PythonLayout* layout) noexcept {
  if (!ForeignMemoryWorks()) return "a way to read this process's own memory";
  KnownStack stack;
  if (const char* missing = AskStack(api, &stack)) return missing;
  if (stack.count < 5 || stack.count == KnownStack::kMost) return "a stack of 5 to 63 frames";
  return Search(api, stack, layout).Run();
}

}  // namespace hone::collect
