// SPDX-License-Identifier: Apache-2.0
#include "cli/help_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/help_pages.h"
#include "cli/markdown_text.h"
#include "cli/program.h"
#include "doctor/rule.h"

namespace hone::cli {
namespace {

// The first heading: "# Idle causes" -> "Idle causes".
std::string TitleOf(const HelpPage& page) {
  const std::string_view text(page.text);
  const std::size_t start = text.find("# ");
  if (start == std::string_view::npos) return "";
  return std::string(text.substr(start + 2, text.find('\n', start) - start - 2));
}

// What a rule looks for, in its own words.
std::string WhatOf(const HelpPage& page) {
  for (const doctor::RuleInfo& rule : doctor::AllRules()) {
    if (std::string_view(page.name) == rule.id) return rule.what;
  }
  return TitleOf(page);
}

// Other words for a page.
std::string_view PageName(std::string_view topic) {
  if (topic == "schema") return "json";
  if (topic == "rules") return "findings";
  if (topic == "exit" || topic == "exit-code") return "exit-codes";
  return topic;
}

}  // namespace

const VerbInfo& HelpCommand::info() const {
  static const VerbInfo kInfo = {
      "help",
      "read the manual: inputs, trust, findings, each analysis",
      "hone help [TOPIC]",
      "Shows a page of the manual, or without a topic the list of pages. A verb is a topic too.",
      {{"hone help idle", "How hone decides why the device stood idle."},
       {"hone help input-bound", "What a finding means and how to get rid of it."},
       {"hone help schema", "The JSON document of hone analyze --json, field by field."}},
      ""};
  return kInfo;
}

void HelpCommand::Declare(CLI::App& app) {
  app.add_option("TOPIC", topic_, "page of the manual, or a verb")->option_text("TOPIC");
}

std::string HelpCommand::Topics() const {
  std::string text = "usage: hone help TOPIC\n\nverbs\n";
  for (const auto& verb : program_.verbs()) {
    text += fmt::format("  {:<14}{}\n", verb->info().name, verb->info().summary);
  }
  const auto add = [&](bool rules, int width) {
    for (const HelpPage& page : HelpPages()) {
      if (page.rule != rules || program_.FindVerb(page.name) != nullptr) continue;
      const std::string what = rules ? WhatOf(page) : TitleOf(page);
      text += fmt::format("  {:<{}}{}\n", page.name, width,
                          ElideMiddle(what, static_cast<std::size_t>(76 - width), false));
    }
  };
  text += "\npages\n";
  add(false, 14);
  text += fmt::format("  {:<14}another word for json\n", "schema");
  if (std::any_of(HelpPages().begin(), HelpPages().end(),
                  [](const HelpPage& page) { return page.rule; })) {
    text += "\nfindings, one page each\n";
    add(true, 21);
  }
  return text;
}

int HelpCommand::Run(Console& console) {
  if (topic_.empty()) {
    console.out << Topics();
    return kExitFine;
  }
  std::vector<std::string> names = {"schema"};
  for (const auto& verb : program_.verbs()) names.push_back(verb->info().name);
  for (const HelpPage& page : HelpPages()) {
    if (PageName(topic_) == page.name) {
      const bool terminal = IsTerminal(console.out_fd);
      const std::size_t columns = terminal ? TerminalWidth(console.out_fd) : 0;
      const std::size_t width = columns == 0 ? 80 : std::clamp<std::size_t>(columns, 40, 100);
      console.out << MarkdownToText(page.text, width, LocaleIsUtf8());
      return kExitFine;
    }
    names.emplace_back(page.name);
  }
  // A verb without a page of its own: what its --help says.
  if (const Verb* verb = program_.FindVerb(topic_)) {
    console.out << FormatHelp(verb->info(), program_.AppOf(*verb));
    return kExitFine;
  }
  const auto nearest = NearestSpelling(topic_, names);
  console.err << fmt::format(
      "hone: no help on {}; {}\n", Printable(topic_, false),
      nearest ? "did you mean hone help " + *nearest + "?" : "hone help lists the topics");
  return kExitUsage;
}

}  // namespace hone::cli
