// SPDX-License-Identifier: Apache-2.0
#include "analyze/lineage.h"

#include <string_view>
#include <vector>

#include "trace/running.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// "path/file.py(123): function". Built-in functions and C calls carry no line.
bool HasSourceLine(std::string_view name) {
  for (std::size_t close = name.find("): "); close != std::string_view::npos;
       close = name.find("): ", close + 1)) {
    std::size_t open = close;
    while (open > 0 && name[open - 1] >= '0' && name[open - 1] <= '9') --open;
    if (open < close && open > 1 && name[open - 1] == '(') return true;
  }
  return false;
}

// Decided once per distinct name.
class PythonNames {
 public:
  enum Kind : std::uint8_t { kUnseen, kPlain, kLine, kModule };

  explicit PythonNames(const trace::Trace& trace)
      : trace_(trace), kinds_(trace.strings.size(), kUnseen) {}

  Kind operator[](StringId name) {
    std::uint8_t& kind = kinds_[static_cast<std::uint32_t>(name)];
    if (kind == kUnseen) {
      const std::string_view text = trace_.Name(name);
      kind = text.starts_with("nn.Module: ") ? kModule : HasSourceLine(text) ? kLine : kPlain;
    }
    return static_cast<Kind>(kind);
  }

 private:
  const trace::Trace& trace_;
  std::vector<std::uint8_t> kinds_;
};

}  // namespace

Lineage::Lineage(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  const std::size_t rows = host.size();
  for (Column<RowId>* column : {&op, &top_op, &annotation, &python, &module}) {
    column->resize(rows, kNoRow);
  }
  PythonNames python_names(trace);
  trace::Running ops(host), annotations(host), functions(host), modules(host);
  for (RowId i = 0; i < rows; ++i) {
    op[i] = ops.Around(i);
    annotation[i] = annotations.Around(i);
    python[i] = functions.Around(i);
    module[i] = modules.Around(i);
    const auto begin = [&](trace::Running& running, Column<RowId>& column) {
      running.Begin(i);
      column[i] = i;
    };
    switch (host.kind[i]) {
      case SliceKind::kOp:
        // One that outlives the operator in which it began is outermost itself.
        top_op[i] = op[i] != kNoRow && trace::Holds(host, op[i], i) ? top_op[op[i]] : i;
        begin(ops, op);
        break;
      case SliceKind::kAnnotation: begin(annotations, annotation); break;
      case SliceKind::kPython: {
        const PythonNames::Kind kind = python_names[host.name[i]];
        if (kind == PythonNames::kLine) begin(functions, python);
        if (kind == PythonNames::kModule) begin(modules, module);
        break;
      }
      default: break;
    }
    if (host.kind[i] != SliceKind::kOp && op[i] != kNoRow) top_op[i] = top_op[op[i]];
  }
}

}  // namespace hone::analyze
