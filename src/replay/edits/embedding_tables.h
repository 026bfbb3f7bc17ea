// SPDX-License-Identifier: Apache-2.0
// EmbeddingTables: tables of which a step looks up few rows and whose gradient is dense all the
// same, and what is done to them as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

// Of the rows of a table, what a step looks up at most for sparse gradients to be worth a try.
inline constexpr double kMostTouched = 0.1;

// What the optimizer makes of sparse gradients.
enum class SparseForm : std::uint8_t {
  kNone,   // no optimizer step is marked, or not of the tables
  kAsIs,   // takes them: SGD without momentum and weight decay, Adagrad
  kAdam,   // SparseAdam takes its place
  kOther,  // has none
};

struct EmbeddingTables {
  struct Shape {  // all tables of one shape
    std::int64_t rows = 0, width = 0;
    double tables = 1;   // in a step
    double indices = 0;  // looked up in a step, in each
    SparseForm form = SparseForm::kNone;
    std::string optimizer;                // "Adam"; "": not known
    trace::RowId lookup = trace::kNoRow;  // one of them, of the forward pass where it is there

    double Elements() const { return static_cast<double>(rows) * static_cast<double>(width); }
  };
  // An operator over a whole table, or over a list of parameters in which tables are.
  struct Call {
    trace::RowId row = trace::kNoRow;
    bool updates = false;   // the optimizer's
    double share = 1;       // of what the operator goes over, what is such tables
    double tables = 0;      // updates: so many, each divided by the number of its operators
    double remains_ns = 0;  // updates: what sparse ones take on the CPU, likewise
  };
  std::vector<Shape> shapes;  // largest first
  // Nodes of the backward pass, of the window, that make dense gradients of such tables.
  std::vector<trace::RowId> nodes;
  std::vector<Call> calls;  // of the window, in row order; none inside another

  bool clipped = false;  // norms of their gradients are taken

  bool empty() const { return calls.empty(); }
};

// Needs shapes: without them nothing. Recorders note them in some steps only; elsewhere optimizer
// steps and backward nodes with the same operators are taken for the same. Left out are tables that
// something else than lookups has a gradient for (an output layer that shares the weight), and
// lookups that have no sparse form (maximum over bags, gradients scaled by frequency). Linear in
// host rows; arguments are parsed once per distinct combination.
EmbeddingTables LookAtEmbeddingTables(const Model& model);

// Whether the steps make dense gradients of tables at all, shapes or none. Linear in host rows.
bool HasDenseEmbeddings(const Model& model);

}  // namespace hone::replay
