// SPDX-License-Identifier: Apache-2.0
#include "record/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "wire/control_page.h"

namespace hone::record {
namespace {

bool Names(const std::string& variable, std::string_view name) {
  return variable.size() > name.size() && variable[name.size()] == '=' &&
         variable.compare(0, name.size(), name) == 0;
}

void Unset(Variables& variables, std::string_view name) {
  std::erase_if(variables, [&](const std::string& variable) { return Names(variable, name); });
}

void Set(Variables& variables, std::string_view name, std::string_view value) {
  Unset(variables, name);
  variables.push_back(fmt::format("{}={}", name, value));
}

void SetPreload(Environment& environment, const std::string& library) {
  // The loader takes blanks and colons for separators and knows no escape.
  if (library.find_first_of(" :") != std::string::npos) {
    environment.notes.emplace_back(
        "LD_PRELOAD", fmt::format("{} has a blank or a colon in its path, which LD_PRELOAD cannot "
                                  "hold; install hone elsewhere",
                                  library));
    return;
  }
  const char* own = FindVariable(environment.variables, "LD_PRELOAD");
  Set(environment.variables, "LD_PRELOAD",
      own == nullptr || *own == '\0' ? library : fmt::format("{}:{}", own, library));
}

// A program built with AddressSanitizer does not start where a library is loaded before its
// runtime, unless it is told not to look. Ours asks for memory as any library does, so the order is
// no matter. Of options that are said twice the later one counts: the user's.
void SetSanitizer(Variables& variables) {
  constexpr const char* kName = "ASAN_OPTIONS";
  const char* own = FindVariable(variables, kName);
  const std::string user = own == nullptr || *own == '\0' ? "" : fmt::format(":{}", own);
  Set(variables, kName, "verify_asan_link_order=0" + user);
}

// A door that one library can take.
void SetUnlessTaken(Environment& environment, const char* name, const std::string& library) {
  const char* own = FindVariable(environment.variables, name);
  if (own == nullptr || *own == '\0') {
    Set(environment.variables, name, library);
  } else if (library != own) {
    environment.notes.emplace_back(
        name, fmt::format("is {} already and was left alone; unset it to let hone record", own));
  }
}

// Strict about who comes first: only one sitecustomize is run, and ours runs the next one.
void SetPythonPath(Environment& environment, const std::string& inject) {
  if (inject.empty()) {
    environment.notes.emplace_back(
        "PYTHONPATH",
        "is unchanged: hone's Python files are missing beside its library; install hone again");
    return;
  }
  if (inject.find(':') != std::string::npos) {
    environment.notes.emplace_back(
        "PYTHONPATH", fmt::format("{} has a colon in its path, which PYTHONPATH cannot hold; "
                                  "install hone elsewhere",
                                  inject));
    return;
  }
  // An empty part would mean the current folder: nothing is appended to nothing.
  const char* own = FindVariable(environment.variables, "PYTHONPATH");
  Set(environment.variables, "PYTHONPATH",
      own == nullptr || *own == '\0' ? inject : fmt::format("{}:{}", inject, own));
}

}  // namespace

Variables OwnVariables() {
  Variables variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

const char* FindVariable(const Variables& variables, std::string_view name) {
  // The first one counts, as in getenv.
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const std::string& v) { return Names(v, name); });
  return found == variables.end() ? nullptr : found->c_str() + name.size() + 1;
}

Environment BuildEnvironment(const Variables& own, const Installation& installation,
                             const std::string& folder, const RecordOptions& options) {
  Environment environment;
  environment.variables = own;
  Variables& variables = environment.variables;
  SetPreload(environment, installation.library);
  for (const char* door :
       {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"}) {
    SetUnlessTaken(environment, door, installation.library);
  }
  SetPythonPath(environment, installation.inject);
  SetSanitizer(variables);

  for (const char* name :
       {wire::kEnvSteps, wire::kEnvLeastSeconds, wire::kEnvSeconds, wire::kEnvAll, wire::kEnvEvery,
        wire::kEnvMemory, wire::kEnvStackRate, wire::kEnvCollect}) {
    Unset(variables, name);
  }
  Set(variables, wire::kEnvFolder, folder);
  Set(variables, wire::kEnvLibrary, installation.library);
  Set(variables, wire::kEnvSteps, fmt::to_string(options.steps));
  if (options.least_seconds > 0) {
    Set(variables, wire::kEnvLeastSeconds, fmt::format("{}", options.least_seconds));
  }
  if (options.seconds > 0) Set(variables, wire::kEnvSeconds, fmt::format("{}", options.seconds));
  if (options.all) Set(variables, wire::kEnvAll, "1");
  if (options.every > 0) Set(variables, wire::kEnvEvery, fmt::to_string(options.every));
  if (options.memory_bytes > 0) {
    Set(variables, wire::kEnvMemory, fmt::to_string(options.memory_bytes));
  }
  if (options.stack_hz >= 0) {
    Set(variables, wire::kEnvStackRate, fmt::to_string(options.stack_hz));
  }
  if (!options.collect.empty()) Set(variables, wire::kEnvCollect, options.collect);
  return environment;
}

}  // namespace hone::record
