#include "lib/analysis/query.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/analysis/field.h"
#include "lib/analysis/filter.h"
#include "lib/analysis/run_identity.h"
#include "lib/analysis/value.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

bool SamePlaceAndItem(const Field& a, const Field& b) {
  return a.key == b.key && a.sub_key == b.sub_key && a.item == b.item;
}

// Index of `field`, which is added unless it is there.
size_t Include(const Field& field, Query* query) {
  const auto known = std::find_if(
      query->fields.begin(), query->fields.end(),
      [&](const Field& other) { return SamePlaceAndItem(field, other); });
  if (known != query->fields.end()) return known - query->fields.begin();
  query->fields.push_back(field);
  return query->fields.size() - 1;
}

size_t Include(absl::string_view name, Query* query) {
  const absl::StatusOr<Field> field = FindField(name);
  CHECK(field.ok()) << field.status();
  return Include(*field, query);
}

absl::Status IncludeBy(const std::vector<std::string>& by, Query* query) {
  for (const std::string& name : by) {
    const absl::StatusOr<Field> field = FindField(name);
    if (!field.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--by: ", field.status().message()));
    }
    const size_t before = query->fields.size();
    if (Include(*field, query) < before) {
      return absl::InvalidArgumentError(
          absl::StrCat("--by: \"", name, "\" stands there twice"));
    }
  }
  query->by_count = query->fields.size();
  return absl::OkStatus();
}

absl::Status IncludeHeld(const std::vector<std::string>& mix, Query* query) {
  absl::flat_hash_set<std::string> mixed;
  for (const std::string& name : mix) {
    // The two halves of what a data set is.
    if (name == "dataset") {
      mixed.insert({"dataset.id", "dataset.sha256"});
      continue;
    }
    if (std::find(HeldFields().begin(), HeldFields().end(), name) ==
        HeldFields().end()) {
      std::vector<std::string> names = HeldFields();
      names.push_back("dataset");
      return absl::InvalidArgumentError(
          absl::StrCat("--mix: \"", name, "\" is not kept apart anyway",
                       DidYouMean(name, names)));
    }
    mixed.insert(name);
  }
  for (const std::string& name : HeldFields()) {
    if (mixed.contains(name)) continue;
    const size_t index = Include(name, query);
    // What tells groups apart cannot be mixed in one.
    if (index >= query->by_count) query->held.push_back(index);
  }
  return absl::OkStatus();
}

void AssignSlots(Query* query) {
  for (const Field& field : query->fields) {
    const auto known = std::find_if(
        query->slots.begin(), query->slots.end(), [&](const Slot& slot) {
          return slot.key == field.key && slot.sub_key == field.sub_key;
        });
    query->slot_of.push_back(known - query->slots.begin());
    if (known == query->slots.end()) {
      query->slots.push_back({field.key, field.sub_key});
    }
  }
}

}  // namespace

const std::vector<std::string>& HeldFields() {
  static const auto* const kHeld = new std::vector<std::string>{
      "machine_profile", "batch_size",      "params_profile", "cold",
      "exploratory",     "library_version", "dataset.id",     "dataset.sha256",
      "pair.side"};
  return *kHeld;
}

bool Query::Uses(absl::Span<const Value> values) const {
  std::vector<Value> wanted;
  for (const size_t index : filter_fields) wanted.push_back(values[index]);
  return filter.Matches(wanted);
}

absl::StatusOr<Query> MakeQuery(const std::vector<std::string>& by,
                                const std::string& where,
                                const std::vector<std::string>& mix) {
  Query query;
  RETURN_IF_ERROR(IncludeBy(by, &query));
  RETURN_IF_ERROR(IncludeHeld(mix, &query));
  query.status = Include("status", &query);
  query.reason = Include("reason", &query);
  query.unit = Include("unit", &query);
  query.scenario = Include("scenario", &query);
  query.equivalence = Include("equivalence.label", &query);
  query.library_version = Include("library_version", &query);
  for (const std::string& name : SameRunFields()) {
    query.same_run.push_back(Include(name, &query));
  }
  ASSIGN_OR_RETURN(query.filter, Filter::Parse(where));
  const std::vector<Field>& wanted = query.filter.fields();
  query.filter_by_group =
      std::all_of(wanted.begin(), wanted.end(),
                  [](const Field& field) { return field.categorical; });
  if (query.filter_by_group) {
    for (const Field& field : wanted) {
      query.filter_fields.push_back(Include(field, &query));
    }
  }
  AssignSlots(&query);
  return query;
}

}  // namespace feedrate
