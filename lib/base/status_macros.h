// RETURN_IF_ERROR and ASSIGN_OR_RETURN, which this Abseil release does not
// have.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function when `expr`, a Status, is not OK.
#define RETURN_IF_ERROR(expr)                          \
  do {                                                 \
    absl::Status feedrate_status = (expr);             \
    if (!feedrate_status.ok()) return feedrate_status; \
  } while (false)

// Evaluates `rexpr`, a StatusOr, and assigns its value to `lhs` (which may
// declare a variable), or returns its status from the enclosing function.
#define ASSIGN_OR_RETURN(lhs, rexpr)                                         \
  FEEDRATE_ASSIGN_OR_RETURN_(FEEDRATE_CONCAT_(feedrate_statusor_, __LINE__), \
                             lhs, rexpr)

#define FEEDRATE_ASSIGN_OR_RETURN_(statusor, lhs, rexpr)   \
  auto statusor = (rexpr);                                 \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = std::move(statusor).value()

#define FEEDRATE_CONCAT_(a, b) FEEDRATE_CONCAT_INNER_(a, b)
#define FEEDRATE_CONCAT_INNER_(a, b) a##b
