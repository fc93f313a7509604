#include "lib/analysis/rows/row_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/attempts.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// For x86-64, and for arm64 with 4 KB pages.
constexpr size_t kHugePage = 2 << 20;

}  // namespace

void* MapZeroed(size_t bytes) {
  // Huge pages need an aligned start, which only newer kernels choose by
  // themselves.
  const bool huge = bytes >= kHugePage;
  const size_t mapped = bytes + (huge ? kHugePage : 0);
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PCHECK(memory != MAP_FAILED) << "no memory for " << bytes << " bytes";
  if (!huge) return memory;
  char* const start = static_cast<char*>(memory);
  const size_t before =
      (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  // Unmaps the unaligned parts before and after. The latter was never touched.
  if (before > 0) PCHECK(munmap(start, before) == 0);
  const size_t page = 4096;
  const size_t used = (bytes + page - 1) / page * page;
  const size_t behind = (mapped + page - 1) / page * page - before - used;
  if (behind > 0) PCHECK(munmap(start + before + used, behind) == 0);
  // Fails harmlessly on a kernel without huge pages.
  madvise(start + before, bytes, MADV_HUGEPAGE);
  return start + before;
}

void Unmap(void* memory, size_t bytes) {
  if (memory != nullptr) PCHECK(munmap(memory, bytes) == 0);
}

namespace {

bool SamePlaceAndItem(const Field& a, const Field& b) {
  return a.key == b.key && a.sub_key == b.sub_key && a.item == b.item;
}

// Adds `field` unless it is there, and returns its index.
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
    query->needs_messages |= field->IsDeep();
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
    // `dataset` stands for the two fields that identify a data set.
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
    const size_t index = Include(name, query);
    // A field of --by cannot differ within a group.
    if (index < query->by_count) continue;
    (mixed.contains(name) ? query->mixed : query->held).push_back(index);
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

namespace {

// What was done. Rows that differ here are different work.
const std::vector<std::string>& WorkFields() {
  static const auto* const kFields = new std::vector<std::string>{
      "scenario",   "mode",    "scope",         "library",        "transform",
      "device",     "workers", "thread_policy", "params_profile", "settings",
      "batch_size", "cold",    "exploratory"};
  return *kFields;
}

}  // namespace

const std::vector<std::string>& HeldFields() {
  static const auto* const kHeld = [] {
    auto* held = new std::vector<std::string>(WorkFields());
    held->insert(held->end(),
                 {"machine_profile", "usable_cpus", "library_version",
                  "dataset.id", "dataset.sha256", "pair.side", "pair.contest"});
    return held;
  }();
  return *kHeld;
}

bool IsWorkField(absl::string_view name) {
  return std::find(WorkFields().begin(), WorkFields().end(), name) !=
         WorkFields().end();
}

bool Query::Uses(absl::Span<const Value> values) const {
  std::vector<Value> wanted;
  for (const size_t index : filter_fields) wanted.push_back(values[index]);
  return filter.Matches(wanted);
}

absl::StatusOr<Query> MakeQuery(const std::vector<std::string>& by,
                                const std::string& where,
                                const std::vector<std::string>& mix,
                                const std::string& metric) {
  Query query;
  absl::StatusOr<Field> found = FindField(metric);
  if (!found.ok() || found->type != FieldType::kNumber) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metric: ",
        found.ok() ? absl::StrCat("field \"", metric,
                                  "\" is not a number; see docs/records.md")
                   : std::string(found.status().message())));
  }
  query.metric = *std::move(found);
  query.is_throughput = query.metric.key == "throughput";
  RETURN_IF_ERROR(IncludeBy(by, &query));
  RETURN_IF_ERROR(IncludeHeld(mix, &query));
  query.status = Include("status", &query);
  query.reason = Include("reason", &query);
  query.slow_threshold = Include("slow_threshold_s", &query);
  query.unit = Include("unit", &query);
  query.scenario = Include("scenario", &query);
  query.equivalence = Include("equivalence.label", &query);
  query.library_version = Include("library_version", &query);
  query.library = Include("library", &query);
  query.warnings = Include("warnings", &query);
  query.labels = Include("labels", &query);
  for (const std::string& name : SameRunFields()) {
    query.same_run.push_back(Include(name, &query));
  }
  ASSIGN_OR_RETURN(query.filter, Filter::Parse(where));
  const std::vector<Field>& wanted = query.filter.fields();
  query.filter_by_group = std::all_of(
      wanted.begin(), wanted.end(),
      [](const Field& field) { return field.categorical && !field.IsDeep(); });
  if (query.filter_by_group) {
    for (const Field& field : wanted) {
      query.filter_fields.push_back(Include(field, &query));
    }
  }
  query.needs_messages |= !query.filter_by_group || !query.is_throughput;
  AssignSlots(&query);
  return query;
}

namespace {

constexpr size_t kFirstTableSize = 1024;
// REQUIRES: kTokenPadding bytes after the token are readable.
inline uint64_t HashToken(absl::string_view token, uint64_t seed) {
  return HashBytes(token.data(), token.size(), seed);
}

// Marks rows that the filter dropped, in the extra token after the slots. Such
// rows are kept, because one may be the attempt that counts.
absl::string_view DroppedMark() {
  static constexpr char kMark[] = "?\0\0\0\0\0\0\0";
  return absl::string_view(kMark, 1);
}

// Marks rows without a value of the metric, in the same place.
absl::string_view NoValueMark() {
  static constexpr char kMark[] = "-\0\0\0\0\0\0\0";
  return absl::string_view(kMark, 1);
}

uint64_t HashText(absl::string_view text, uint64_t seed) {
  std::string padded =
      absl::StrCat(text, std::string(RowLog::kTokenPadding, 0));
  return HashToken(absl::string_view(padded).substr(0, text.size()), seed);
}

// Appends the value as the record writer would print it.
void AppendToken(const Value& value, std::string* out) {
  switch (value.kind) {
    case Value::Kind::kAbsent:
      if (std::isnan(value.number)) absl::StrAppend(out, "null");
      return;
    case Value::Kind::kNumber:
      absl::StrAppend(out, ValueText(value));
      return;
    case Value::Kind::kText:
      AppendJsonString(value.text, out);
      return;
    case Value::Kind::kTruth:
      absl::StrAppend(out, value.truth ? "true" : "false");
      return;
    case Value::Kind::kList:
      out->push_back('[');
      for (size_t i = 0; i < value.list.size(); ++i) {
        if (i > 0) out->push_back(',');
        AppendJsonString(value.list[i], out);
      }
      out->push_back(']');
      return;
  }
}

}  // namespace

RowLog::RowLog(const Query* query) : query_(query), table_(kFirstTableSize) {
  for (const Slot& slot : query->slots) {
    places_.emplace_back();
    places_.back().key = slot.key;
    places_.back().sub_key = slot.sub_key;
  }
}

absl::Status RowLog::Add(absl::Span<const absl::string_view> tokens,
                         uint64_t hash, const RowNumbers& numbers,
                         uint32_t* group) {
  ASSIGN_OR_RETURN(const uint32_t found, GroupOf(tokens, hash));
  if (group != nullptr) *group = found;
  return AddTo(found, numbers);
}

absl::Status RowLog::AddTo(uint32_t group, const RowNumbers& numbers) {
  if (query_->is_throughput && heads_[group].is_ok &&
      !(numbers.value > 0 && std::isfinite(numbers.value))) {
    return absl::InvalidArgumentError(
        "field \"throughput\" is not a number above 0, but the status is ok");
  }
  Log(numbers, group);
  return absl::OkStatus();
}

absl::Status RowLog::Add(const Row& row) {
  // Each slot has one value, even if several fields share it.
  std::vector<size_t> ends;
  scratch_.clear();
  ends.reserve(places_.size());
  for (const Field& place : places_) {
    AppendToken(FieldOf(row, place), &scratch_);
    ends.push_back(scratch_.size());
  }
  scratch_.append(kTokenPadding, '\0');
  std::vector<absl::string_view> tokens;
  tokens.reserve(ends.size() + 1);
  size_t start = 0;
  for (const size_t end : ends) {
    tokens.push_back(absl::string_view(scratch_).substr(start, end - start));
    start = end;
  }
  const bool dropped = !query_->filter_by_group && !query_->filter.Matches(row);
  const Value value = FieldOf(row, query_->metric);
  const bool has_value =
      value.kind == Value::Kind::kNumber && std::isfinite(value.number);
  tokens.push_back(dropped                              ? DroppedMark()
                   : has_value || query_->is_throughput ? absl::string_view()
                                                        : NoValueMark());
  std::string names;
  AppendJsonString(row.job_id(), &names);
  const size_t job_id_size = names.size();
  absl::StrAppend(&names, row.run_index());
  const size_t names_size = names.size();
  names.append(kTokenPadding, '\0');
  const absl::string_view both = names;
  RowNumbers numbers;
  numbers.job_id = both.substr(0, job_id_size);
  numbers.run_index = both.substr(job_id_size, names_size - job_id_size);
  numbers.started_at = row.started_at();
  numbers.attempt = row.attempt();
  numbers.value = value.number;
  numbers.samples_s = absl::MakeConstSpan(
      row.samples_s().data(), static_cast<size_t>(row.samples_s_size()));
  uint64_t hash = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].empty()) hash += TokenHash(i, tokens[i]);
  }
  return Add(tokens, hash, numbers);
}

absl::StatusOr<uint32_t> RowLog::GroupOf(
    absl::Span<const absl::string_view> tokens, uint64_t hash) {
  const size_t mask = table_.size() - 1;
  size_t at = hash & mask;
  for (; table_[at].group != 0; at = (at + 1) & mask) {
    const uint32_t group = table_[at].group - 1;
    if (table_[at].hash == hash && HasTokens(group, tokens)) return group;
  }
  ASSIGN_OR_RETURN(const uint32_t group, NewGroup(tokens));
  table_[at] = {hash, group + 1};
  if (groups_.size() * 2 > table_.size()) GrowTable();
  return group;
}

bool RowLog::HasTokens(uint32_t group,
                       absl::Span<const absl::string_view> tokens) const {
  const size_t* end = &ends_[group * tokens.size()];
  size_t start = group == 0 ? 0 : end[-1];
  for (const absl::string_view token : tokens) {
    if (token.size() != *end - start ||
        !SameBytes(token.data(), tokens_.data() + start, token.size())) {
      return false;
    }
    start = *end++;
  }
  return true;
}

absl::StatusOr<uint32_t> RowLog::NewGroup(
    absl::Span<const absl::string_view> tokens) {
  RawGroup group;
  for (size_t i = 0; i < query_->fields.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, FieldFromJson(tokens[query_->slot_of[i]],
                                                query_->fields[i]));
    group.values.push_back(std::move(value));
  }
  group.is_ok = group.values[query_->status].text == "ok";
  group.has_value = tokens.back() != NoValueMark();
  group.rank = AttemptRank(group.values[query_->status].text,
                           group.values[query_->warnings].list);
  group.used = query_->filter_by_group ? query_->Uses(group.values)
                                       : tokens.back() != DroppedMark();
  group.same_run = kOdd2;
  for (const size_t index : query_->same_run) {
    group.same_run = HashText(ValueText(group.values[index]), group.same_run);
  }
  group.content = kOdd1;
  for (const Value& value : group.values) {
    group.content = HashText(ValueText(value), group.content);
  }
  group.version =
      VersionHash(group.values[query_->library_version].text, group.is_ok);
  // The padding always follows the last token.
  if (!tokens_.empty()) tokens_.resize(tokens_.size() - kTokenPadding);
  for (const absl::string_view token : tokens) {
    absl::StrAppend(&tokens_, token);
    ends_.push_back(tokens_.size());
  }
  tokens_.append(kTokenPadding, '\0');
  heads_.push_back({group.same_run, 0, group.is_ok, group.used});
  groups_.push_back(std::move(group));
  return static_cast<uint32_t>(groups_.size() - 1);
}

void RowLog::Log(const RowNumbers& numbers, uint32_t group_index) {
  Head& head = heads_[group_index];
  if (pieces_.empty() || pieces_.back().size == kPieceRows) {
    pieces_.push_back({BigArray<LoggedRow>(kPieceRows), 0});
  }
  Piece& piece = pieces_.back();
  LoggedRow& row = piece.rows[piece.size++];
  // Two quotes are an empty text.
  row.run = numbers.job_id.size() <= 2
                ? 0
                : HashToken(numbers.run_index,
                            HashToken(numbers.job_id, head.same_run)) |
                      1;
  row.value = numbers.value;
  row.group = group_index;
  row.order = AttemptOrder(numbers.attempt, numbers.started_at);
  if (head.is_ok && head.used && !numbers.samples_s.empty()) {
    sampled_rows_.push_back({size_, samples_.size(), numbers.samples_s.size()});
    samples_.insert(samples_.end(), numbers.samples_s.begin(),
                    numbers.samples_s.end());
  }
  ++head.rows;
  ++size_;
}

void RowLog::GrowTable() {
  std::vector<Place> larger(table_.size() * 4);
  const size_t mask = larger.size() - 1;
  for (const Place& place : table_) {
    if (place.group == 0) continue;
    size_t at = place.hash & mask;
    while (larger[at].group != 0) at = (at + 1) & mask;
    larger[at] = place;
  }
  table_ = std::move(larger);
}

}  // namespace feedrate
