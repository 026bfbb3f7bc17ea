// SPDX-License-Identifier: Apache-2.0
// The program: its verbs, and how a command line finds its way to one.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/verb.h"

namespace hone::cli {

class Program {
 public:
  Program();
  ~Program();

  // Arguments without the program's name. Returns the exit code. Foreign exceptions pass through.
  int Run(const std::vector<std::string>& arguments, Console& console);

  const CLI::App& app() const { return *app_; }
  const std::vector<std::unique_ptr<Verb>>& verbs() const { return verbs_; }
  const Verb* FindVerb(std::string_view name) const;  // null: none
  const CLI::App& AppOf(const Verb& verb) const { return *app_->get_subcommand(verb.info().name); }

 private:
  // Where the command of `hone run [options] [--] CMD...` begins; arguments.size() without one.
  std::size_t FindCommand(const std::vector<std::string>& arguments) const;
  int Parse(const std::vector<std::string>& arguments, Console& console);
  int Unknown(const CLI::App& where, const std::string& word, Console& console) const;
  std::string Help() const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace hone::cli
