// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::cli {
namespace {

constexpr std::size_t kWidth = 80, kOptionColumn = 26;

void AppendWrapped(std::string& help, std::string_view text, std::size_t indent) {
  for (const std::string& line : WrapWords(text, kWidth - indent)) {
    help += std::string(indent, ' ') + line + '\n';
  }
}

// "-o, --output FILE"
std::string OptionName(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() > 0) text += " " + option.get_option_text();
  return text;
}

void AppendOption(std::string& help, const CLI::Option& option) {
  const std::string name = "  " + OptionName(option);
  std::string what = option.get_description();
  const std::vector<std::string> choices = ChoicesOf(option);
  if (!choices.empty()) what += fmt::format(": {}", fmt::join(choices, ", "));
  if (!option.get_default_str().empty()) {
    what += fmt::format(" (default {})", option.get_default_str());
  }
  const std::vector<std::string> lines = WrapWords(what, kWidth - kOptionColumn);
  const bool fits = name.size() + 2 <= kOptionColumn;
  help += fits ? PadRight(name, kOptionColumn) + lines[0] + '\n' : name + '\n';
  for (std::size_t i = fits ? 1 : 0; i < lines.size(); ++i) {
    help += std::string(kOptionColumn, ' ') + lines[i] + '\n';
  }
}

}  // namespace

CLI::Validator OneOf(std::vector<std::string> words) {
  std::string list = fmt::format("{{{}}}", fmt::join(words, ","));
  CLI::Validator validator(std::move(list));
  validator.operation([words = std::move(words)](std::string& value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end()) return {};
    const auto nearest = NearestSpelling(value, words);
    if (nearest)
      return fmt::format("no value {}; did you mean {}?", Printable(value, false), *nearest);
    return fmt::format("no value {}; one of {}", Printable(value, false), fmt::join(words, ", "));
  });
  return validator;
}

double ParseSeconds(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || number > 1e7) return -1;
  const std::string unit(end, text.data() + text.size());
  if (unit.empty() || unit == "s") return number;
  if (unit == "m" || unit == "min") return number * 60;
  return unit == "h" ? number * 3600 : -1;
}

CLI::Validator LengthOfTime() {
  CLI::Validator validator{std::string()};
  validator.operation([](std::string& value) -> std::string {
    if (ParseSeconds(value) > 0) return {};
    return fmt::format("{} is not a length of time; write 90s, 10m or 1h", Printable(value, false));
  });
  return validator;
}

CLI::Validator WholeNumber() {
  CLI::Validator validator{std::string()};
  validator.operation([](std::string& value) -> std::string {
    const bool whole = !value.empty() && value.size() <= 18 &&
                       value.find_first_not_of("0123456789") == std::string::npos;
    if (whole) return {};
    return fmt::format("{} is not a whole number of 0 or more", Printable(value, false));
  });
  return validator;
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos || close < open) return words;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t comma = std::min(type.find(',', at), close);
    words.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

std::string FormatHelp(const VerbInfo& info, const CLI::App& app) {
  std::string help = fmt::format("usage: {}\n\n", info.usage);
  AppendWrapped(help, info.about, 0);
  help += "\nexamples\n";
  for (const Example& example : info.examples) {
    help += "  " + example.command + '\n';
    AppendWrapped(help, example.what, 6);
  }
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (option->get_positional() || group.empty()) continue;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  for (const std::string& group : groups) {
    help += "\n" + group + "\n";
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional() && option->get_group() == group) AppendOption(help, *option);
    }
  }
  if (!info.more.empty()) {
    help += '\n';
    AppendWrapped(help, info.more, 0);
  }
  return help;
}

}  // namespace hone::cli
