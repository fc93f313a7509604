// The fields of a row by name, as --by, --where and --mix spell them.
#ifndef FEEDRATE_LIB_ANALYSIS_FIELD_H_
#define FEEDRATE_LIB_ANALYSIS_FIELD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/value.h"
#include "lib/records/records.pb.h"

namespace feedrate {

enum class FieldType {
  kText,
  kNumber,
  kTruth,
  kList,
  // Settings: text that may be compared with numbers.
  kSetting,
};

// Names:
//   library, batch_size, throughput   a field of the row
//   equivalence.label, dataset.id     a field of a part of the row
//   settings.prefetch                 a setting; any name
//   labels, warnings                  lists
//   labels.cold, warnings.noisy       whether the list has the item
//   cold, exploratory                 short for labels.…
//   dataset                           short for dataset.id
struct Field {
  std::string name;
  FieldType type = FieldType::kText;
  // Where it stands in a row's JSON: a key and, unless empty, one inside it.
  std::string key;
  std::string sub_key;
  // Item of a list that is asked for. Empty: the value itself.
  std::string item;
  // A field with few values over many rows: good to group by.
  bool categorical = false;
  // True: absence is a value of its own. False: it means zero or "".
  bool has_presence = false;
};

// NotFound with the nearest name when there is no such field; InvalidArgument
// when it has no single value (a part as a whole, raw samples).
absl::StatusOr<Field> FindField(absl::string_view name);

// All names that do not end in a free one, for suggestions.
const std::vector<std::string>& FieldNames();

// The value in `row`.
Value FieldOf(const Row& row, const Field& field);

// The value that `json` at the field's place stands for; empty: not there.
// InvalidArgument when its type is not the field's.
absl::StatusOr<Value> FieldFromJson(absl::string_view json, const Field& field);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_FIELD_H_
