// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/analyze_command.h"
#include "cli/bench_command.h"
#include "cli/completion_command.h"
#include "cli/diff_command.h"
#include "cli/export_command.h"
#include "cli/help_command.h"
#include "cli/run_command.h"
#include "cli/sql_command.h"
#include "cli/tune_command.h"
#include "cli/view_command.h"
#include "cli/whatif_command.h"
#include "report/version.h"

namespace hone::cli {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// "--jsno=x" -> "--jsno"
std::string WithoutValue(const std::string& word) {
  return word.rfind("--", 0) == 0 ? word.substr(0, word.find('=')) : word;
}

// CLI11's own words for an option with too many values or none: "--steps: At Most 1 required but
// received 2".
std::string WrongCount(const CLI::App& where, const CLI::ArgumentMismatch& error) {
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = where.get_option_no_throw(name);
  if (option == nullptr) return what;
  const std::vector<std::string>& values = option->results();
  if (values.size() > 1) {
    return fmt::format("{} is given {} times, as {}; give it once", name, values.size(),
                       fmt::join(values, " and as "));
  }
  const std::vector<std::string> choices = ChoicesOf(*option);
  return fmt::format("{} stands without a value; {} {}", name, choices.empty() ? "write" : "one of",
                     choices.empty() ? fmt::format("{} {}", name, option->get_option_text())
                                     : fmt::format("{}", fmt::join(choices, ", ")));
}

}  // namespace

Program::Program() : app_(std::make_unique<CLI::App>("", "hone")) {
  verbs_.push_back(std::make_unique<RunCommand>());
  verbs_.push_back(std::make_unique<AnalyzeCommand>());
  verbs_.push_back(std::make_unique<WhatIfCommand>());
  verbs_.push_back(std::make_unique<BenchCommand>());
  verbs_.push_back(std::make_unique<TuneCommand>());
  verbs_.push_back(std::make_unique<DiffCommand>());
  verbs_.push_back(std::make_unique<ExportCommand>());
  verbs_.push_back(std::make_unique<SqlCommand>());
  verbs_.push_back(std::make_unique<ViewCommand>());
  verbs_.push_back(std::make_unique<HelpCommand>(*this));
  verbs_.push_back(std::make_unique<CompletionCommand>(*this));
  app_->set_help_flag("-h,--help", "show this help");
  app_->add_flag("--version")->description("show the version")->group("options");
  app_->allow_extras();
  // One verb; the names of the others are plain words after it (hone help analyze).
  app_->require_subcommand(0, 1);
  for (const std::unique_ptr<Verb>& verb : verbs_) {
    CLI::App* sub = app_->add_subcommand(verb->info().name, verb->info().summary);
    // Unknown words are ours to explain.
    sub->allow_extras();
    sub->set_help_flag();
    verb->Declare(*sub);
    sub->add_flag("-h,--help")->description("show this help")->group("other");
  }
}

Program::~Program() = default;

const Verb* Program::FindVerb(std::string_view name) const {
  for (const std::unique_ptr<Verb>& verb : verbs_) {
    if (verb->info().name == name) return verb.get();
  }
  return nullptr;
}

std::string Program::Help() const {
  std::string help =
      "hone says why a deep-learning job is slow.\n\n"
      "usage: hone VERB [options]\n\n";
  for (const std::unique_ptr<Verb>& verb : verbs_) {
    help += fmt::format("  {:<12}{}\n", verb->info().name, verb->info().summary);
  }
  help +=
      "\nexamples\n"
      "  hone run -- python train.py                 why is this training slow?\n"
      "  hone analyze trace.json.gz                  the same from a trace you have\n"
      "  hone whatif trace.json.gz --list            what would each fix give back?\n"
      "  hone tune -- python train.py                which fixes help, and is it still right?\n"
      "  hone bench -- python a.py -- python b.py    is the second really faster?\n"
      "  hone diff before.json.gz after.json.gz      what changed, and is it noise?\n"
      "  hone view trace.json.gz                     the whole report, in the browser\n"
      "  hone analyze ranks/ --json | jq .findings   the same for a job, for a program\n"
      "\noptions\n"
      "  -h, --help    show this help; hone VERB --help says more\n"
      "  --version     show the version\n";
  return help;
}

int Program::Unknown(const CLI::App& where, const std::string& word, Console& console) const {
  const bool root = &where == app_.get();
  const std::string shown = Printable(WithoutValue(word), false);
  const std::string see =
      root ? "see hone --help" : fmt::format("see hone {} --help", where.get_name());
  if (!word.empty() && word[0] == '-') {
    const auto nearest = NearestSpelling(WithoutValue(word), OptionNames(where));
    console.err << fmt::format("hone: unknown option {}; {}\n", shown,
                               nearest ? "did you mean " + *nearest + "?" : see);
    return kExitUsage;
  }
  if (!root) {
    console.err << fmt::format("hone: {} is one word too many; {}\n", shown, see);
    return kExitUsage;
  }
  std::vector<std::string> names;
  for (const std::unique_ptr<Verb>& verb : verbs_) names.push_back(verb->info().name);
  const auto nearest = NearestSpelling(word, names);
  std::error_code ignored;
  std::string hint = see;
  if (nearest) {
    hint = "did you mean " + *nearest + "?";
  } else if (std::filesystem::exists(word, ignored)) {
    hint = fmt::format("to analyze it: hone analyze {}", shown);
  }
  console.err << fmt::format("hone: unknown verb {}; {}\n", shown, hint);
  return kExitUsage;
}

int Program::Parse(const std::vector<std::string>& arguments, Console& console) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app_->parse(reversed);
  } catch (const CLI::CallForHelp&) {
    console.out << Help();
    return kExitFine;
  } catch (const CLI::ParseError& error) {
    // An unknown option often explains what else CLI11 stumbled over, and --help outranks both.
    const std::vector<CLI::App*> chosen = app_->get_subcommands();
    const CLI::App& where = chosen.empty() ? *app_ : *chosen[0];
    if (!chosen.empty() && where.count("--help") > 0) return -1;
    for (const std::string& word : where.remaining()) {
      if (word.size() > 1 && word[0] == '-' && word != "--") return Unknown(where, word, console);
    }
    const auto* const count = dynamic_cast<const CLI::ArgumentMismatch*>(&error);
    const std::string what =
        Printable(count == nullptr ? error.what() : WrongCount(where, *count), false);
    const std::string see =
        fmt::format("; see hone {}--help", chosen.empty() ? "" : where.get_name() + " ");
    console.err << fmt::format("hone: {}{}\n", what, what.ends_with('?') ? "" : see);
    return kExitUsage;
  }
  return -1;
}

std::size_t Program::FindCommand(const std::vector<std::string>& arguments) const {
  const Verb* verb = arguments.empty() ? nullptr : FindVerb(arguments[0]);
  if (verb == nullptr || !verb->TakesCommand()) return arguments.size();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return i;
    if (word.empty() || word[0] != '-') {
      if (verb->CommandNeedsDashes()) continue;
      return i;
    }
    const CLI::Option* option = AppOf(*verb).get_option_no_throw(WithoutValue(word));
    const bool takes_next = option != nullptr && option->get_items_expected_max() > 0;
    const bool dashes_next = i + 1 < arguments.size() && arguments[i + 1] == "--";
    if (takes_next && !dashes_next && word.find('=') == std::string::npos) ++i;
  }
  return arguments.size();
}

int Program::Run(const std::vector<std::string>& all, Console& console) {
  const auto split = all.begin() + static_cast<std::ptrdiff_t>(FindCommand(all));
  const std::vector<std::string> arguments(all.begin(), split);
  const int parsed = Parse(arguments, console);
  if (parsed >= 0) return parsed;
  if (app_->count("--version") > 0) {
    console.out << fmt::format("hone {}\n", report::Version());
    return kExitFine;
  }
  const std::vector<CLI::App*> chosen = app_->get_subcommands();
  for (const std::string& word : app_->remaining()) {
    if (word != "--") return Unknown(*app_, word, console);
  }
  if (chosen.empty()) {
    console.err << Help();
    return kExitUsage;
  }
  const auto verb = std::find_if(verbs_.begin(), verbs_.end(), [&](const auto& candidate) {
    return candidate->info().name == chosen[0]->get_name();
  });
  if (chosen[0]->count("--help") > 0) {
    console.out << FormatHelp((*verb)->info(), *chosen[0]);
    return kExitFine;
  }
  for (const std::string& word : chosen[0]->remaining()) {
    if (word != "--") return Unknown(*chosen[0], word, console);
  }
  if (split != all.end()) {
    (*verb)->SetCommand(std::vector<std::string>(*split == "--" ? split + 1 : split, all.end()));
  }
  return (*verb)->Run(console);
}

}  // namespace hone::cli
