// Parameters of a transform, as configs/transforms/ writes them.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_PARAMS_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_PARAMS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Where a number comes from: evenly from low to high, or always the same.
struct Range {
  double low = 0;
  double high = 0;
  bool fixed() const { return low == high; }
};

// A list of `NAME=VALUE` that is read name by name. The first mistake is kept
// and later reads give zeros, so that a reader asks for everything in plain
// sequence and looks once, at the end:
//
//   Params params(spec.params);
//   const int bits = params.Integer("bits");
//   RETURN_IF_ERROR(params.Finish());
//
// Values: `3`, `-0.5`, `True`, `None`, `INTER_LINEAR`, `"text"`, `(1,2)`,
// `U(a,b)` for a draw from a to b, `uniform(a,b)` for a whole number from a to
// b, `uniform{3,5,7}` for one of these.
class Params {
 public:
  explicit Params(const std::vector<std::string>& params);

  // Whether `name` is among them with another value than None. None alone
  // counts as read.
  bool Has(absl::string_view name);

  double Number(absl::string_view name);
  int Integer(absl::string_view name);
  bool Boolean(absl::string_view name);
  // The value as it stands, without quotes.
  std::string Text(absl::string_view name);
  // Whether the value is in round brackets. False when it is missing.
  bool IsTuple(absl::string_view name);
  // `(a,b,...)` of exactly `size` numbers, or of any when 0.
  std::vector<double> Tuple(absl::string_view name, size_t size = 0);
  // `U(a,b)`, or a number.
  Range Draw(absl::string_view name);
  // `uniform(a,b)`, or a whole number.
  Range DrawInteger(absl::string_view name);
  // `uniform{a,b,...}`, or a number: at least one.
  std::vector<double> Choices(absl::string_view name);
  // The value that `names` gives to the word; the mistake lists the words.
  int Word(absl::string_view name,
           const std::vector<std::pair<absl::string_view, int>>& words);

  // For parameters that may be left out. The fallback must be what leaves the
  // image alone: numbers that matter stand in configs/transforms/.
  double NumberOr(absl::string_view name, double fallback);
  Range DrawOr(absl::string_view name, double fallback);

  // Keeps `problem` as the mistake of `name`, unless there was one before.
  void Fail(absl::string_view name, absl::string_view problem);

  // The first mistake, or a parameter that nobody has asked for.
  absl::Status Finish() const;

 private:
  struct Entry {
    std::string name;
    std::string value;
    bool used = false;
  };

  Entry* Find(absl::string_view name);
  // Marks it as used; a mistake and the empty value when it is missing.
  absl::string_view Take(absl::string_view name);
  std::vector<double> Numbers(absl::string_view name, absl::string_view list);

  std::vector<Entry> entries_;
  absl::Status status_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_PARAMS_H_
