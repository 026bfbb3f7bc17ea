// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help_pages.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> Flags(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

// Words that may stand as a verb's positional argument; empty: files.
std::vector<std::string> Words(const CLI::App& verb) {
  if (verb.get_name() == "help") {
    std::vector<std::string> topics;
    for (const HelpPage& page : HelpPages()) topics.emplace_back(page.name);
    return topics;
  }
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional()) return ChoicesOf(*option);
  }
  return {};
}

std::vector<const CLI::App*> VerbsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// For single quotes of a shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out.push_back(c);
    }
  }
  return out + "'";
}

// What bash offers for a word that is no option.
std::string BashWords(const Program& program, const CLI::App& verb) {
  if (program.FindVerb(verb.get_name())->TakesCommand()) return "-c -f";
  const std::vector<std::string> words = Words(verb);
  return words.empty() ? "-f" : "-W " + Quoted(Join(words));
}

std::string Bash(const Program& program) {
  const CLI::App& app = program.app();
  std::vector<std::string> verbs;
  std::string cases;
  for (const CLI::App* verb : VerbsOf(app)) {
    verbs.push_back(verb->get_name());
    std::vector<std::string> flags;
    std::string values;
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_positional()) continue;
      const std::vector<std::string> names = Flags(*option);
      flags.insert(flags.end(), names.begin(), names.end());
      if (option->get_items_expected_max() == 0) continue;
      const std::vector<std::string> choices = ChoicesOf(*option);
      values += fmt::format(
          "        {}) {} return ;;\n", fmt::join(names, "|"),
          choices.empty()
              ? std::string("COMPREPLY=($(compgen -f -- \"$cur\"));")
              : fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"));", Quoted(Join(choices))));
    }
    cases += fmt::format(
        "    {})\n      case \"$prev\" in\n{}      esac\n"
        "      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$cur\"));\n"
        "      else COMPREPLY=($(compgen {} -- \"$cur\")); fi ;;\n",
        verb->get_name(), values, Quoted(Join(flags)), BashWords(program, *verb));
  }
  return fmt::format(
      "# hone completion for bash: source <(hone completion bash)\n"
      "_hone() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$cur\"))\n    return\n  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n}}\n"
      "complete -o filenames -o bashdefault -F _hone hone\n",
      Quoted(Join(verbs) + " --help --version"), cases);
}

std::string Zsh(const Program& program) {
  const CLI::App& app = program.app();
  // "[" and ":" have a meaning inside _arguments.
  const auto described = [](std::string text) {
    for (const char* special : {"[", "]", ":"}) {
      for (std::size_t at = 0; (at = text.find(special, at)) != std::string::npos; at += 2) {
        text.insert(at, "\\");
      }
    }
    return text;
  };
  std::string verbs, cases;
  for (const CLI::App* verb : VerbsOf(app)) {
    verbs += fmt::format("    {}\n", Quoted(verb->get_name() + ":" + verb->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n", verb->get_name());
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_positional()) continue;
      for (const std::string& flag : Flags(*option)) {
        std::string spec = fmt::format("{}[{}]", flag, described(option->get_description()));
        const std::vector<std::string> choices = ChoicesOf(*option);
        if (option->get_items_expected_max() > 0) {
          spec += fmt::format(":{}:{}", option->get_option_text(),
                              choices.empty() ? "_files" : "(" + Join(choices) + ")");
        }
        cases += fmt::format("        {} \\\n", Quoted(spec));
      }
    }
    const std::vector<std::string> words = Words(*verb);
    const bool command = program.FindVerb(verb->get_name())->TakesCommand();
    cases +=
        fmt::format("        {} ;;\n", Quoted(command         ? std::string("*:::command:_normal")
                                              : words.empty() ? std::string("*:file:_files")
                                                              : "*:word:(" + Join(words) + ")"));
  }
  return fmt::format(
      "#compdef hone\n# hone completion for zsh: hone completion zsh > \"${{fpath[1]}}/_hone\"\n"
      "_hone() {{\n  local -a verbs=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n  shift words; (( CURRENT-- ))\n"
      "  case $verb in\n{}  esac\n}}\ncompdef _hone hone\n",
      verbs, cases);
}

std::string Fish(const Program& program) {
  const CLI::App& app = program.app();
  std::string script =
      "# hone completion for fish: hone completion fish > ~/.config/fish/completions/hone.fish\n";
  std::vector<std::string> verbs;
  for (const CLI::App* verb : VerbsOf(app)) verbs.push_back(verb->get_name());
  const std::string none = fmt::format("not __fish_seen_subcommand_from {}", Join(verbs));
  for (const CLI::App* verb : VerbsOf(app)) {
    script += fmt::format("complete -c hone -f -n {} -a {} -d {}\n", Quoted(none), verb->get_name(),
                          Quoted(verb->get_description()));
    const std::string here =
        Quoted(fmt::format("__fish_seen_subcommand_from {}", verb->get_name()));
    const std::vector<std::string> words = Words(*verb);
    if (program.FindVerb(verb->get_name())->TakesCommand()) {
      script += fmt::format("complete -c hone -n {} -a '(__fish_complete_subcommand)'\n", here);
    } else if (!words.empty()) {
      script += fmt::format("complete -c hone -f -n {} -a {}\n", here, Quoted(Join(words)));
    }
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_positional()) continue;
      std::string line = fmt::format("complete -c hone -n {}", here);
      for (const std::string& name : option->get_snames()) line += " -s " + name;
      for (const std::string& name : option->get_lnames()) line += " -l " + name;
      const std::vector<std::string> choices = ChoicesOf(*option);
      if (!choices.empty()) {
        line += fmt::format(" -x -a {}", Quoted(Join(choices)));
      } else if (option->get_items_expected_max() > 0) {
        line += " -r";
      }
      script += fmt::format("{} -d {}\n", line, Quoted(option->get_description()));
    }
  }
  return script;
}

}  // namespace

const VerbInfo& CompletionCommand::info() const {
  static const VerbInfo kInfo = {
      "completion",
      "print a completion script for bash, zsh or fish",
      "hone completion bash|zsh|fish",
      "Prints a script that teaches your shell hone's verbs, options and their values.",
      {{"source <(hone completion bash)",
        "Completion in this bash; put it into ~/.bashrc to keep it."},
       {"hone completion fish > ~/.config/fish/completions/hone.fish", "For every fish to come."}},
      ""};
  return kInfo;
}

void CompletionCommand::Declare(CLI::App& app) {
  app.add_option("SHELL", shell_, "the shell")
      ->option_text("SHELL")
      ->required()
      ->check(OneOf({"bash", "zsh", "fish"}));
}

int CompletionCommand::Run(Console& console) {
  console.out << (shell_ == "bash"  ? Bash(program_)
                  : shell_ == "zsh" ? Zsh(program_)
                                    : Fish(program_));
  return kExitFine;
}

}  // namespace hone::cli
