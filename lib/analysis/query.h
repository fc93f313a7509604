// What has to be read of a row to answer a question about groups.
#ifndef FEEDRATE_LIB_ANALYSIS_QUERY_H_
#define FEEDRATE_LIB_ANALYSIS_QUERY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/analysis/field.h"
#include "lib/analysis/filter.h"
#include "lib/analysis/value.h"

namespace feedrate {

// A place in a row's JSON; several fields may share one.
struct Slot {
  std::string key;
  std::string sub_key;
};

// Rows that agree in all fields of a query are one raw group. The groups that a
// user asked for are unions of them.
struct Query {
  // First those of --by, in their order.
  std::vector<Field> fields;
  size_t by_count = 0;
  // Indexes into `fields` of what a group must not mix.
  std::vector<size_t> held;
  size_t status = 0;
  size_t reason = 0;
  size_t unit = 0;
  size_t scenario = 0;
  size_t equivalence = 0;
  size_t library_version = 0;
  // Indexes of SameRunFields.
  std::vector<size_t> same_run;

  std::vector<Slot> slots;
  // For each field its place.
  std::vector<size_t> slot_of;

  Filter filter;
  // True: every field of the filter is in `fields`, so it holds for all of a
  // raw group or for none. False: it has to be asked for each row.
  bool filter_by_group = true;
  // For each field of the filter its index in `fields`.
  std::vector<size_t> filter_fields;

  // REQUIRES: filter_by_group, a value for each of `fields`.
  bool Uses(absl::Span<const Value> values) const;
};

// The fields that a group must not mix: see docs/aggregate.md.
const std::vector<std::string>& HeldFields();

// InvalidArgument, naming the flag, for fields that do not exist.
absl::StatusOr<Query> MakeQuery(const std::vector<std::string>& by,
                                const std::string& where,
                                const std::vector<std::string>& mix);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_QUERY_H_
