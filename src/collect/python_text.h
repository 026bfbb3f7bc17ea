// SPDX-License-Identifier: Apache-2.0
// Text of Python's string objects, read from their memory.
#pragma once

#include <cstddef>

#include "collect/python_layout.h"

namespace hone::collect {

// Null, or what was not found. Holds the GIL (makes and drops four strings).
const char* LearnText(const PythonApi& api, TextLayout* layout) noexcept;

// The object's text as UTF-8, cut at `most` bytes. Bytes written, or -1 when this is no string (any
// more). No GIL needed, any address.
int ReadText(const PythonLayout& layout, PyAddress object, char* to, std::size_t most) noexcept;

}  // namespace hone::collect
