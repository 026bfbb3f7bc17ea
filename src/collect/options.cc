// SPDX-License-Identifier: Apache-2.0
#include "collect/options.h"

#include <cstdlib>
#include <cstring>

#include "collect/source.h"
#include "wire/control_page.h"

namespace hone::collect {
namespace {

Options g_options;

// A number from the environment within bounds; anything else leaves the default.
template <typename T>
void Read(const char* name, double least, double most, T& value) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != 0 || !(number >= least && number <= most)) return;
  value = static_cast<T>(number);
}

template <std::size_t kSize>
void ReadText(const char* name, char (&value)[kSize]) {
  const char* text = std::getenv(name);
  if (text == nullptr || std::strlen(text) >= kSize) return;
  std::strcpy(value, text);
}

}  // namespace

const Options& GetOptions() noexcept { return g_options; }

void ReadOptions() noexcept {
  ReadText(wire::kEnvFolder, g_options.folder);
  if (g_options.folder[0] != '/') g_options.folder[0] = 0;
  ReadText(wire::kEnvCollect, g_options.collect);
  Read(wire::kEnvSteps, 1, 1e9, g_options.steps);
  Read(wire::kEnvLeastSeconds, 0, 1e9, g_options.least_seconds);
  Read(wire::kEnvSeconds, 0, 1e9, g_options.seconds);
  Read(wire::kEnvEvery, 0, 1e9, g_options.every);
  Read(wire::kEnvWithoutSteps, 0.1, 1e9, g_options.seconds_without_steps);
  std::uint32_t all = 0;
  Read(wire::kEnvAll, 0, 1, all);
  g_options.all = all != 0;
  Read(wire::kEnvMemory, wire::kLeastMemory, wire::kMostMemory, g_options.memory_bytes);
  Read(wire::kEnvStackRate, 0, 10000, g_options.stack_hz);
}

bool Wanted(std::string_view source) noexcept {
  std::string_view list = g_options.collect;
  if (list.empty()) return true;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == source) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace hone::collect
