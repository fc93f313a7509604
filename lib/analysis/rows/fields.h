// The fields of a row by name, their values, and which rows are attempts at the
// same run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// The value of a field, of any type.
struct Value {
  enum class Kind { kAbsent, kNumber, kText, kTruth, kList };
  Kind kind = Kind::kAbsent;
  // NaN if the value is absent because it was `null`: a number that JSON does
  // not have, and not 0.
  double number = 0;
  bool truth = false;
  std::string text;
  std::vector<std::string> list;
};

Value NumberValue(double number);
Value TextValue(absl::string_view text);
// A number if `text` is one (NaN is not), else text.
Value NumberOrText(absl::string_view text);
Value TruthValue(bool truth);

// Parses a JSON value: text, a number, true or false, or a list of text. null
// and "" are absent values. InvalidArgument for anything else.
absl::StatusOr<Value> ParseValue(absl::string_view json);

// The value as shown in tables and keys: numbers in their shortest form, lists
// with commas, `-` for absent values and empty text.
std::string ValueText(const Value& value);

// Appends `text` to a key of several texts. Whatever they contain, different
// texts give different keys.
void AppendKey(absl::string_view text, std::string* key);

// Sort order of tables: absent values first, numbers by size, everything else
// as text.
bool ValueLess(const Value& a, const Value& b);

enum class FieldType {
  kText,
  kNumber,
  kTruth,
  kList,
  // A setting: text that can also be compared with numbers.
  kSetting,
};

// A field of a row, under the names that --by, --where and --mix accept:
//   library, batch_size, throughput   a field of the row
//   equivalence.label, dataset.id     a field of a part of the row
//   loader.gpu.busy                   a field of a part of a part
//   settings.prefetch                 a setting; any name
//   settings                          all settings, as one text
//   counters.items_per_second         a counter of an imported row
//   labels, warnings                  lists
//   labels.cold, warnings.noisy       whether the list has the item
//   cold, exploratory                 short for labels.…
//   dataset                           short for dataset.id
struct Field {
  std::string name;
  FieldType type = FieldType::kText;
  // Its place in a row's JSON: a key and, unless empty, a key inside that
  // object. The second has dots where the place is deeper.
  std::string key;
  std::string sub_key;
  // For `labels.cold`, the list item to look for. Empty means the value itself.
  std::string item;
  // The field has few distinct values over many rows, so it is good to group
  // by.
  bool categorical = false;
  // If true, absence is a value of its own; if false, it means zero or "".
  bool has_presence = false;
  bool is_double = false;

  // Whether it is deeper than `key` and a plain key inside that object.
  bool IsDeep() const {
    return type != FieldType::kSetting &&
           sub_key.find('.') != std::string::npos;
  }
};

// Looks up a field. NotFound, suggesting the nearest name, if there is no such
// field; InvalidArgument if it has no single value (a whole object, raw
// samples).
absl::StatusOr<Field> FindField(absl::string_view name);

// All names without a free part (`settings.NAME` has one), for suggestions.
const std::vector<std::string>& FieldNames();

// The value of `field` in `row`.
Value FieldOf(const Row& row, const Field& field);

// The value of `field`, given the JSON at its place; empty `json` means the key
// is missing. InvalidArgument if the JSON is not of the field's type.
absl::StatusOr<Value> FieldFromJson(absl::string_view json, const Field& field);

// Attempts at the same run. Everything that reads rows uses this one rule to
// decide which attempt counts.

// Fields that, besides job_id and run_index, distinguish runs: the same job on
// another machine or on other data is another run, and a duel runs its job once
// per side and pair. So does the library's version, but see Attempt::version.
const std::vector<std::string>& SameRunFields();

// Equal for attempts at the same run. Empty for a row without a job, which
// always counts because its other attempts are unknown.
std::string RunIdentity(const Row& row);

// A number that is larger for the later of two attempts: compares the attempt,
// then the minute of `started_at` (plain text or a JSON string).
uint32_t AttemptOrder(int64_t attempt, absl::string_view started_at);
// The attempt of that number, at most 63.
int AttemptNumber(uint32_t order);

struct Attempt {
  // See AttemptRank in lib/records/attempts.h.
  int rank = 0;
  uint32_t order = 0;
  double throughput = 0;
  // Hash of the library's version. 0 means the run failed before it reported
  // its version, so it may be an attempt with any version.
  uint64_t version = 0;
  // Hash of everything else, as the last tie breaker.
  uint64_t content = 0;
  // For the caller's use.
  size_t id = 0;
};
Attempt AttemptOf(const Row& row, size_t id);
uint64_t VersionHash(absl::string_view library_version, bool is_ok);

// Sorts attempts at one run, the one that counts first, and calls `replaced`
// for each that does not count. The cleanest attempt counts; among equally
// clean ones the latest; among equal attempts the one measured last; among
// those the slowest. `is_duplicate` is true if the replacing row is of the same
// attempt and equally clean. The result does not depend on the order of
// `attempts`.
void ForEachReplaced(
    absl::Span<Attempt> attempts,
    const std::function<void(size_t id, bool is_duplicate)>& replaced);

}  // namespace feedrate
