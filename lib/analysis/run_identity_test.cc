#include "lib/analysis/run_identity.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::UnorderedElementsAre;

Row BaseRow() {
  Row row;
  row.set_job_id("0011223344556677");
  row.set_run_index(1);
  row.set_status("ok");
  row.set_machine_profile("m");
  row.set_library_version("1.0");
  row.set_throughput(100);
  return row;
}

TEST(RunIdentityTest, AttemptsAtOneRunAreTheSame) {
  Row other = BaseRow();
  other.set_attempt(2);
  other.set_status("failed");
  other.set_throughput(0);
  other.set_started_at("2026-11-15T02:00:00Z");
  other.clear_library_version();
  EXPECT_EQ(RunIdentity(other), RunIdentity(BaseRow()));
}

TEST(RunIdentityTest, WhatTellsRunsApart) {
  std::set<std::string> identities = {RunIdentity(BaseRow())};
  Row row = BaseRow();
  row.set_job_id("0011223344556678");
  identities.insert(RunIdentity(row));
  row = BaseRow();
  row.set_run_index(2);
  identities.insert(RunIdentity(row));
  row = BaseRow();
  row.set_machine_profile("other");
  identities.insert(RunIdentity(row));
  row = BaseRow();
  row.mutable_dataset()->set_sha256("abc");
  identities.insert(RunIdentity(row));
  for (const char* side : {"a", "b"}) {
    for (const int index : {0, 1}) {
      row = BaseRow();
      row.mutable_pair()->set_side(side);
      row.mutable_pair()->set_index(index);
      identities.insert(RunIdentity(row));
    }
  }
  EXPECT_EQ(identities.size(), 9u);
}

TEST(RunIdentityTest, RowsWithoutAJobHaveNone) {
  Row row = BaseRow();
  row.clear_job_id();
  EXPECT_EQ(RunIdentity(row), "");
}

TEST(AttemptOrderTest, AttemptThenMinute) {
  const std::vector<uint32_t> ascending = {
      AttemptOrder(0, ""),
      AttemptOrder(0, "2026-11-15T02:57:46Z"),
      AttemptOrder(0, "\"2026-11-15T02:58:00Z\""),
      AttemptOrder(0, "2026-12-01T00:00:00Z"),
      AttemptOrder(0, "2027-01-01T00:00:00Z"),
      AttemptOrder(1, ""),
      AttemptOrder(63, "2026-11-15T02:57:46Z")};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_EQ(std::set<uint32_t>(ascending.begin(), ascending.end()).size(), 7u);
  EXPECT_EQ(AttemptOrder(-1, "yesterday, at tea time"), AttemptOrder(0, ""));
  EXPECT_EQ(AttemptOrder(1000, ""), AttemptOrder(63, ""));
}

struct Replaced {
  std::vector<size_t> retried;
  std::vector<size_t> duplicates;
};

// In every order of the attempts, which must not matter.
Replaced Resolve(std::vector<Attempt> attempts) {
  for (size_t i = 0; i < attempts.size(); ++i) attempts[i].id = i;
  std::vector<Replaced> answers;
  std::vector<size_t> order(attempts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<Attempt> shuffled;
    for (const size_t i : order) shuffled.push_back(attempts[i]);
    Replaced& answer = answers.emplace_back();
    ForEachReplaced(absl::MakeSpan(shuffled), [&](size_t id, bool duplicate) {
      (duplicate ? answer.duplicates : answer.retried).push_back(id);
    });
    std::sort(answer.retried.begin(), answer.retried.end());
    std::sort(answer.duplicates.begin(), answer.duplicates.end());
    EXPECT_EQ(answer.retried, answers[0].retried);
    EXPECT_EQ(answer.duplicates, answers[0].duplicates);
  } while (std::next_permutation(order.begin(), order.end()));
  return answers[0];
}

Attempt Make(int attempt, const char* started_at, double throughput,
             uint64_t version) {
  Attempt made;
  made.order = AttemptOrder(attempt, started_at);
  made.throughput = throughput;
  made.version = version;
  return made;
}

TEST(ForEachReplacedTest, OneAttemptCounts) {
  const Replaced replaced = Resolve({Make(0, "", 1, 7)});
  EXPECT_TRUE(replaced.retried.empty());
  EXPECT_TRUE(replaced.duplicates.empty());
}

TEST(ForEachReplacedTest, TheLastAttemptCounts) {
  const Replaced replaced =
      Resolve({Make(0, "", 1, 7), Make(2, "", 2, 7), Make(1, "", 9, 7)});
  EXPECT_THAT(replaced.retried, UnorderedElementsAre(0, 2));
  EXPECT_TRUE(replaced.duplicates.empty());
}

TEST(ForEachReplacedTest, OfEqualAttemptsTheLaterThenTheSlower) {
  const Replaced replaced = Resolve({Make(0, "2026-11-15T02:00:00Z", 1, 7),
                                     Make(0, "2026-11-15T02:01:00Z", 3, 7),
                                     Make(0, "2026-11-15T02:01:00Z", 2, 7)});
  EXPECT_TRUE(replaced.retried.empty());
  EXPECT_THAT(replaced.duplicates, UnorderedElementsAre(0, 1));
}

TEST(ForEachReplacedTest, VersionsStandBesideEachOther) {
  const Replaced replaced = Resolve({Make(0, "", 1, 7), Make(1, "", 2, 9)});
  EXPECT_TRUE(replaced.retried.empty());
}

// It crashed before it told its version; the next attempt was fine.
TEST(ForEachReplacedTest, AFailedRunOfUnknownVersionIsReplaced) {
  EXPECT_THAT(Resolve({Make(0, "", 0, 0), Make(1, "", 2, 9)}).retried,
              UnorderedElementsAre(0));
  EXPECT_THAT(Resolve({Make(1, "", 0, 0), Make(0, "", 2, 9)}).retried,
              UnorderedElementsAre(1));
}

TEST(VersionHashTest, OnlyAFailedRunHasNone) {
  EXPECT_EQ(VersionHash("", /*is_ok=*/false), 0u);
  EXPECT_NE(VersionHash("", /*is_ok=*/true), 0u);
  EXPECT_EQ(VersionHash("1.0", true), VersionHash("1.0", false));
  EXPECT_NE(VersionHash("1.0", true), VersionHash("1.1", true));
}

TEST(AttemptOfTest, TakesWhatARowSays) {
  Row row = BaseRow();
  row.set_attempt(3);
  const Attempt attempt = AttemptOf(row, 5);
  EXPECT_EQ(attempt.order, AttemptOrder(3, ""));
  EXPECT_EQ(attempt.throughput, 100);
  EXPECT_EQ(attempt.version, VersionHash("1.0", true));
  EXPECT_EQ(attempt.id, 5u);
}

}  // namespace
}  // namespace feedrate
