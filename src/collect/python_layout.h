// SPDX-License-Identifier: Apache-2.0
// PythonLayout: where this interpreter keeps what the recorder reads without its help.
//
// Not a table of versions. Under the GIL, inside calls whose stack the public C API can tell, the
// memory of the thread, its frames and their code is searched for the very values that were told;
// then other stacks are read both ways and must agree to the line. So a patched or newer
// interpreter either works or is left alone.
//
//   thread state --(frame, maybe over a second structure: hop)--> frame --back--> frame --> … 0
//   frame: code (low bits may be a tag), instruction (a number, or an address inside the code)
//   code: file, name, line table (objects), first line (int)
#pragma once

#include <cstdint>

#include "collect/python_api.h"
#include "collect/python_lines.h"

namespace hone::collect {

enum class InstructionForm : std::uint8_t {
  kByte = 0,     // int: bytes from the first instruction
  kUnit = 1,     // int: instructions of two bytes
  kAddress = 2,  // pointer into the code object
};

struct TextLayout {
  std::uint16_t length = 0;     // size_t: characters
  std::uint16_t state = 0;      // one byte: how they are stored, in …
  std::uint8_t mask = 0;        // … these bits of it
  std::uint8_t states[4] = {};  // ASCII, and 1, 2, 4 bytes a character
  std::uint16_t data[4] = {};
};

struct PythonLayout {
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr PyAddress kTag = 7;  // objects are aligned: low bits are not theirs

  std::uint16_t thread_frame = kNone;
  std::uint16_t frame_hop = kNone;  // kNone: thread_frame points at the frame itself
  std::uint16_t thread_id = kNone;  // pthread_t
  std::uint16_t thread_next = kNone;
  std::uint32_t interpreter_threads = 0;

  std::uint16_t frame_back = kNone;
  std::uint16_t frame_code = kNone;
  std::uint16_t frame_instruction = kNone;
  InstructionForm form = InstructionForm::kByte;

  std::uint16_t object_type = 8;
  std::uint16_t code_file = kNone;
  std::uint16_t code_name = kNone;  // the qualified one where there is one
  std::uint16_t code_table = kNone;
  std::uint16_t code_first_line = kNone;
  std::uint16_t code_start = 0;  // of the instructions, for kAddress
  LineFormat lines = LineFormat::kLnotab;

  std::uint16_t bytes_size = 16;
  std::uint16_t bytes_data = 32;
  TextLayout text;

  PyAddress interpreter = 0;
  PyAddress code_type = 0, text_type = 0, bytes_type = 0, none = 0;
  PyAddress module_name = 0;  // the string "<module>", of which there is one

  // Of an instruction, in bytes from the first of its code.
  std::int64_t OffsetOf(PyAddress instruction, PyAddress code) const noexcept {
    if (form == InstructionForm::kAddress) {
      return static_cast<std::int64_t>(instruction - code) - code_start;
    }
    const auto number = std::int64_t{static_cast<std::int32_t>(instruction)};
    return form == InstructionForm::kUnit ? 2 * number : number;
  }

  // Bytes of a frame that hold all we look at.
  std::uint16_t FrameBytes() const noexcept {
    std::uint16_t last = frame_back > frame_code ? frame_back : frame_code;
    if (frame_instruction > last) last = frame_instruction;
    return static_cast<std::uint16_t>(last + 8);
  }
};

// What the C API says of one frame.
struct KnownFrame {
  PyAddress code;
  PyAddress file, name, table;  // objects, kept alive by the code
  std::int64_t offset;          // of the instruction, in bytes
  int first_line;
  int line;
};
struct KnownStack {
  static constexpr int kMost = 64;
  KnownFrame frames[kMost];  // innermost first
  int count = 0;             // kMost: may go on
};

// Of the calling thread, which holds the GIL. Null, or what the API did not tell.
const char* AskStack(const PythonApi& api, KnownStack* stack) noexcept;

// Null and a whole layout, or what was not found. Holds the GIL; at least 5 Python frames, of which
// 4 have different code, stand on the calling thread's stack.
const char* LearnLayout(const PythonApi& api, PythonLayout* layout) noexcept;

}  // namespace hone::collect
