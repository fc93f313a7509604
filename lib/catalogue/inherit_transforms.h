// What transform sets leave unsaid: profiles that ask for the same, and what a
// set takes from its base.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

// The profile that an implementation is for: `paper` when it names none.
absl::string_view ProfileOf(const Implementation& implementation);

// Makes the error for the field at a path such as `transforms[3].own`.
using FieldError = std::function<absl::Status(const std::string& path,
                                              absl::string_view problem)>;

// Both write `set` out in full, so that nobody else has to know how it was
// written down. Errors come from `error`; `set` is then of no use.

// Adds the implementations that `also_matched` and `matched` stand for.
absl::Status ExpandMatched(const FieldError& error, TransformSet* set);

// Adds what `set` takes from `base` and clears what says so. Implementations
// are in the order of the base, those that it does not have come last. An error
// is also what has no effect: a `without` or `own` that keeps nothing out, an
// implementation that repeats the base's.
// REQUIRES: ExpandMatched was called for `set`, and `base` is whole.
absl::Status InheritFrom(const TransformSet& base, const FieldError& error,
                         TransformSet* set);

}  // namespace feedrate
