// Defines what each transform means.
//
// The catalogue names an operation and its parameters for each transform. This
// computes the pixels directly from the definition, in double precision, slow
// and readable, without any library under test.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// The outputs that `reference` allows for `image`: one, or one per equal
// choice, such as four quarter turns. InvalidArgument names the operation and
// what is wrong with it. REQUIRES: not DISTRIBUTION, and an image that is not
// empty.
absl::StatusOr<std::vector<Pixels>> ComputeReference(const Reference& reference,
                                                     const Pixels& image);

// The operations that ComputeReference knows, sorted.
std::vector<std::string> ReferenceOps();

// One readable line, such as `gaussian_blur size=5 sigma=2`.
std::string ReferenceText(const Reference& reference);

// Parameters of a reference, as configs/transforms/ writes them: a list of
// `NAME=VALUE`, read name by name: `3`, `-0.5`, `(1,2,3)`, `word`. The first
// error is kept and later reads return zeros, so that a definition reads its
// parameters in sequence and the caller checks once, at the end.
class Arguments {
 public:
  // `op` is for messages.
  Arguments(absl::string_view op, const std::vector<std::string>& params);

  double Number(absl::string_view name);
  // Returns `fallback` when it is missing.
  double NumberOr(absl::string_view name, double fallback);
  int Integer(absl::string_view name);
  // `(a,b,...)` of exactly `size` numbers.
  std::vector<double> Numbers(absl::string_view name, size_t size);
  // One of `known`.
  std::string Word(absl::string_view name,
                   const std::vector<std::string>& known);
  // Records an error that only the definition can detect.
  void Complain(absl::string_view problem);

  // The first error; an unread parameter is one.
  absl::Status Finish() const;

 private:
  const std::string* Find(absl::string_view name);
  double ParseNumber(absl::string_view name, absl::string_view text);

  const std::string op_;
  std::map<std::string, std::string> values_;
  std::set<std::string> read_;
  absl::Status status_;
};

}  // namespace feedrate
