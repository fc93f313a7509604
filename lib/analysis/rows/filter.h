// Filter expressions, as in --where.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/fields.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// A condition on a row:
//
//   status == "ok" && (device == "cpu" || batch_size >= 256)
//   library in ["kornia", "opencv"] && !("noisy" in warnings)
//   equivalence.label != "different" && settings.prefetch == 4 && !cold
//
// == != < <= > >= compare a field with text or a number; && || ! and brackets
// join; a boolean field stands alone. Text is in double or single quotes. An
// absent value equals nothing, and is neither less nor greater than anything.
class Filter {
 public:
  // An empty expression matches every row. InvalidArgument names the column,
  // what is wrong there and what to write instead.
  static absl::StatusOr<Filter> Parse(absl::string_view text);

  // The fields that the expression uses, each once.
  const std::vector<Field>& fields() const { return fields_; }

  // REQUIRES: `values` has one value per entry of fields().
  bool Matches(absl::Span<const Value> values) const;
  bool Matches(const Row& row) const;

 private:
  friend class FilterParser;

  enum class Op {
    kTrue,
    kAnd,
    kOr,
    kNot,
    kTruth,
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    // The field's value is one of `values`.
    kIn,
    // The field is a list that contains values[0].
    kHas,
  };
  struct Node {
    Op op = Op::kTrue;
    size_t field = 0;
    std::vector<Value> values;
    std::vector<size_t> children;
  };

  bool Holds(size_t node, absl::Span<const Value> values) const;

  std::vector<Field> fields_;
  std::vector<Node> nodes_;
  size_t root_ = 0;
};

}  // namespace feedrate
