// Parameters of a reference, as configs/transforms/ writes them.
#ifndef FEEDRATE_LIB_REFERENCE_ARGUMENTS_H_
#define FEEDRATE_LIB_REFERENCE_ARGUMENTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// A list of `NAME=VALUE`, read name by name: `3`, `-0.5`, `(1,2,3)`, `word`.
// The first mistake is kept and later reads give zeros, so that a definition
// reads its parameters in plain sequence and the caller looks once, at the end.
class Arguments {
 public:
  // `op` is for messages.
  Arguments(absl::string_view op, const std::vector<std::string>& params);

  double Number(absl::string_view name);
  // `fallback` when it is not there.
  double NumberOr(absl::string_view name, double fallback);
  int Integer(absl::string_view name);
  // `(a,b,...)` of exactly `size` numbers.
  std::vector<double> Numbers(absl::string_view name, size_t size);
  // One of `known`.
  std::string Word(absl::string_view name,
                   const std::vector<std::string>& known);
  // A mistake that only the definition can see.
  void Complain(absl::string_view problem);

  // The first mistake, a parameter that nobody read among them.
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

#endif  // FEEDRATE_LIB_REFERENCE_ARGUMENTS_H_
