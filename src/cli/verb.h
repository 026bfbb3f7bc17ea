// SPDX-License-Identifier: Apache-2.0
// Verb: one word after `hone`. Everything a user is told about it is declared here, and help,
// completion and the check of the manual all read the same declaration.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/console.h"

namespace hone::cli {

struct Example {
  std::string command;
  std::string what;
};

struct VerbInfo {
  std::string name;
  std::string summary;            // one line, for `hone --help`
  std::string usage;              // "hone analyze TRACE... [options]"
  std::string about;              // a few sentences
  std::vector<Example> examples;  // at least two
  std::string more;               // where to read on
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual const VerbInfo& info() const = 0;
  // Adds options and positionals. Called once, before Run.
  virtual void Declare(CLI::App& app) = 0;
  // Whether the words after the options are another program's command line, not ours to parse.
  virtual bool TakesCommand() const { return false; }
  // They begin at "--" only; words before it are ours.
  virtual bool CommandNeedsDashes() const { return false; }
  virtual void SetCommand(const std::vector<std::string>& /*command*/) {}
  // After parsing. Returns an ExitCode.
  virtual int Run(Console& console) = 0;
};

// An option value out of a list; an unknown one gets the nearest spelling. `{a,b}` in the
// description is what completion and help read.
CLI::Validator OneOf(std::vector<std::string> words);
// Zero or more, without a sign or a point.
CLI::Validator WholeNumber();
// "90", "90s", "10m", "1h", "1.5h"; above 0.
CLI::Validator LengthOfTime();
// In seconds; below 0 for what is no length of time.
double ParseSeconds(const std::string& text);
// The list behind an option declared with OneOf; empty for others.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

// Help of a verb from its declaration, at most 80 columns wide.
std::string FormatHelp(const VerbInfo& info, const CLI::App& app);

}  // namespace hone::cli
