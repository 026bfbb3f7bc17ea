// SPDX-License-Identifier: Apache-2.0
// The Markdown of our own manual as plain text for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace hone::cli {

// Headings, paragraphs, lists (`-`, `*`, `1.`), fenced and indented code, tables, `code`, **bold**,
// [links](url). Prose is wrapped to `width`; code stays as it is, cut at the width. Tables become
// one entry a row: the first cell as the heading of the others.
std::string MarkdownToText(std::string_view markdown, std::size_t width, bool utf8);

}  // namespace hone::cli
