#include "lib/analysis/run_identity.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/analysis/field.h"
#include "lib/analysis/fingerprint.h"
#include "lib/analysis/value.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr int kMinuteBits = 26;
constexpr int64_t kMostAttempts = (1 << (32 - kMinuteBits)) - 1;

std::vector<Field> FindSameRunFields() {
  std::vector<Field> fields;
  for (const std::string& name : SameRunFields()) {
    const absl::StatusOr<Field> field = FindField(name);
    CHECK(field.ok()) << field.status();
    fields.push_back(*field);
  }
  return fields;
}

// "2026-11-15T02:57:46Z" as minutes of months of 31 days since 2020; 0 for
// anything else. Only later or not matters, and 26 bits last until 2140.
uint32_t Minutes(absl::string_view at) {
  if (!at.empty() && at[0] == '"') at.remove_prefix(1);
  if (at.size() < 16) return 0;
  const auto two = [&](size_t i) {
    return static_cast<uint32_t>((at[i] - '0') * 10 + (at[i + 1] - '0'));
  };
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15}) {
    if (at[i] < '0' || at[i] > '9') return 0;
  }
  const uint32_t year = two(0) * 100 + two(2);
  if (year < 2020) return 0;
  const uint32_t days = ((year - 2020) * 12 + two(5)) * 31 + two(8);
  const uint32_t minutes = days * 1440 + two(11) * 60 + two(14);
  return std::min<uint32_t>(minutes, (1u << kMinuteBits) - 1);
}

}  // namespace

const std::vector<std::string>& SameRunFields() {
  static const auto* const kFields = new std::vector<std::string>{
      "machine_profile", "dataset.sha256", "pair.side", "pair.index"};
  return *kFields;
}

std::string RunIdentity(const Row& row) {
  static const auto* const kFields =
      new std::vector<Field>(FindSameRunFields());
  if (row.job_id().empty()) return "";
  std::string identity = absl::StrCat(row.job_id(), "\x1F", row.run_index());
  for (const Field& field : *kFields) {
    absl::StrAppend(&identity, "\x1F", ValueText(FieldOf(row, field)));
  }
  return identity;
}

uint32_t AttemptOrder(int64_t attempt, absl::string_view started_at) {
  const int64_t capped =
      std::max<int64_t>(0, std::min<int64_t>(attempt, kMostAttempts));
  return static_cast<uint32_t>(capped) << kMinuteBits | Minutes(started_at);
}

uint64_t VersionHash(absl::string_view library_version, bool is_ok) {
  if (library_version.empty() && !is_ok) return 0;
  return Fingerprint().Add(library_version).value() | 1;
}

Attempt AttemptOf(const Row& row, size_t id) {
  return {AttemptOrder(row.attempt(), row.started_at()), row.throughput(),
          VersionHash(row.library_version(), row.status() == "ok"),
          Fingerprint().Add(row.ShortDebugString()).value(), id};
}

void ForEachReplaced(
    absl::Span<Attempt> attempts,
    const std::function<void(size_t id, bool is_duplicate)>& replaced) {
  const auto key = [](const Attempt& attempt) {
    return std::make_tuple(~attempt.order, attempt.throughput, attempt.version,
                           attempt.content);
  };
  // What counts comes first.
  std::sort(
      attempts.begin(), attempts.end(),
      [&](const Attempt& a, const Attempt& b) { return key(a) < key(b); });
  // Which attempt was seen last of each version, and of any.
  absl::flat_hash_map<uint64_t, uint32_t> seen;
  for (size_t i = 0; i < attempts.size(); ++i) {
    const Attempt& attempt = attempts[i];
    const uint32_t number = attempt.order >> kMinuteBits;
    // A version of 0 agrees with all.
    const auto same = seen.find(attempt.version);
    const auto unknown = seen.find(0);
    const bool is_replaced = attempt.version == 0
                                 ? i > 0
                                 : same != seen.end() || unknown != seen.end();
    const bool is_duplicate =
        attempt.version == 0
            ? i > 0 && attempts[i - 1].order >> kMinuteBits == number
            : (same != seen.end() && same->second == number) ||
                  (unknown != seen.end() && unknown->second == number);
    if (is_replaced) replaced(attempt.id, is_duplicate);
    seen[attempt.version] = number;
  }
}

}  // namespace feedrate
