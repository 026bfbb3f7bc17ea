// SPDX-License-Identifier: Apache-2.0
#include "bench/probe_variables.h"

namespace hone::bench {

void SetVariable(record::Variables& variables, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(variables, [&](const std::string& other) { return other.starts_with(name); });
  variables.push_back(variable);
}

void AddProbe(record::Variables& variables, const std::string& inject, const std::string& folder) {
  const char* own = record::FindVariable(variables, "PYTHONPATH");
  const bool alone = own == nullptr || *own == '\0';
  SetVariable(variables, "PYTHONPATH=" + (alone ? inject : inject + ":" + own));
  SetVariable(variables, "HONE_BENCH_DIR=" + folder);
}

}  // namespace hone::bench
