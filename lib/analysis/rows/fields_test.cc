#include "lib/analysis/rows/fields.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/rows/filter.h"
#include "lib/records/attempts.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(ParseValueTest, EachKindOfJson) {
  EXPECT_EQ(ParseValue("\"kornia\"")->text, "kornia");
  EXPECT_EQ(ParseValue(R"("a\"bé")")->text, "a\"bé");
  EXPECT_EQ(ParseValue("256")->number, 256);
  EXPECT_EQ(ParseValue("-1.5e3")->number, -1500);
  EXPECT_EQ(ParseValue("true")->kind, Value::Kind::kTruth);
  EXPECT_TRUE(ParseValue("true")->truth);
  EXPECT_FALSE(ParseValue("false")->truth);
  EXPECT_THAT(ParseValue(R"(["cold","noisy"])")->list,
              ElementsAre("cold", "noisy"));
  EXPECT_EQ(ParseValue("[]")->kind, Value::Kind::kList);
}

TEST(ParseValueTest, NothingAndNullAreAbsent) {
  EXPECT_EQ(ParseValue("")->kind, Value::Kind::kAbsent);
  EXPECT_EQ(ParseValue("null")->kind, Value::Kind::kAbsent);
}

TEST(ParseValueTest, RefusesTheRestAndShowsIt) {
  for (const char* json :
       {"{}", "[1,2]", "[[\"a\"]]", "01x", "\"open", "nul"}) {
    const auto value = ParseValue(json);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument)
        << json;
    EXPECT_THAT(std::string(value.status().message()), HasSubstr(json));
  }
}

TEST(ValueTextTest, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(ValueText(NumberValue(256)), "256");
  EXPECT_EQ(ValueText(NumberValue(-3)), "-3");
  EXPECT_EQ(ValueText(NumberValue(0.1)), "0.1");
  EXPECT_EQ(ValueText(NumberValue(123456789012.0)), "123456789012");
}

TEST(ValueTextTest, AbsenceAndEmptyTextAreADash) {
  EXPECT_EQ(ValueText(Value()), "-");
  EXPECT_EQ(ValueText(TextValue("")), "-");
}

TEST(ValueTextTest, ListsAndTruth) {
  EXPECT_EQ(ValueText(*ParseValue(R"(["a","b"])")), "a,b");
  EXPECT_EQ(ValueText(TruthValue(true)), "true");
}

TEST(ValueLessTest, AbsentThenNumbersBySizeThenText) {
  const std::vector<Value> ascending = {
      Value(), NumberValue(2), NumberValue(10), TextValue("1"), TextValue("b")};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ValueLess(ascending[i], ascending[j]), i < j) << i << " " << j;
    }
  }
}

Row Example() {
  Row row;
  row.set_library("kornia");
  row.set_batch_size(256);
  row.set_throughput(12.5);
  row.add_labels("cold");
  row.mutable_dataset()->set_id("images");
  row.mutable_equivalence()->set_label("exact");
  row.mutable_loader()->mutable_gpu()->set_busy(0.5);
  (*row.mutable_settings())["prefetch"] = "4";
  (*row.mutable_counters())["B_per_op"] = 536;
  return row;
}

std::string TextOf(const Row& row, const std::string& name) {
  const auto field = FindField(name);
  EXPECT_TRUE(field.ok()) << field.status();
  return ValueText(FieldOf(row, *field));
}

TEST(FieldOfTest, FieldsPartsSettingsAndItems) {
  const Row row = Example();
  EXPECT_EQ(TextOf(row, "library"), "kornia");
  EXPECT_EQ(TextOf(row, "batch_size"), "256");
  EXPECT_EQ(TextOf(row, "throughput"), "12.5");
  EXPECT_EQ(TextOf(row, "equivalence.label"), "exact");
  EXPECT_EQ(TextOf(row, "settings.prefetch"), "4");
  EXPECT_EQ(TextOf(row, "loader.gpu.busy"), "0.5");
  EXPECT_EQ(TextOf(Row(), "loader.gpu.busy"), "-");
  EXPECT_EQ(TextOf(row, "counters.B_per_op"), "536");
  EXPECT_EQ(TextOf(row, "counters.other"), "-");
  EXPECT_EQ(TextOf(row, "labels"), "cold");
  EXPECT_EQ(TextOf(row, "labels.cold"), "true");
  EXPECT_EQ(TextOf(row, "warnings.noisy"), "false");
}

TEST(FieldOfTest, ShortForms) {
  EXPECT_EQ(TextOf(Example(), "cold"), "true");
  EXPECT_EQ(TextOf(Example(), "exploratory"), "false");
  EXPECT_EQ(TextOf(Example(), "dataset"), "images");
}

TEST(FieldOfTest, WhatIsNotThereIsAbsentOrZero) {
  EXPECT_EQ(TextOf(Row(), "workers"), "0");
  EXPECT_EQ(TextOf(Row(), "library"), "-");
  EXPECT_EQ(FieldOf(Row(), *FindField("equivalence.label")).kind,
            Value::Kind::kAbsent);
  EXPECT_EQ(FieldOf(Row(), *FindField("settings.prefetch")).kind,
            Value::Kind::kAbsent);
  EXPECT_EQ(FieldOf(Row(), *FindField("rss_peak_bytes")).kind,
            Value::Kind::kAbsent);
}

TEST(FindFieldTest, UnknownNamesComeWithTheNearest) {
  const auto field = FindField("librray");
  EXPECT_EQ(field.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(field.status().message()), HasSubstr("library"));
  EXPECT_EQ(FindField("equivalence.lable").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FindField("library.x").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(FindFieldTest, WhatHasNoSingleValueIsRefused) {
  for (const char* name :
       {"equivalence", "samples_s", "loader.gpu", "train.losses"}) {
    EXPECT_EQ(FindField(name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_THAT(std::string(FindField("loader.gpu").status().message()),
              HasSubstr("name one, such as loader.gpu."));
  EXPECT_THAT(std::string(FindField("loader.stages.busy_s").status().message()),
              HasSubstr("\"loader.stages.busy_s\" is inside the list stages"));
}

TEST(FieldOfTest, AllSettingsAreOneTextWhateverTheirOrder) {
  const Field settings = *FindField("settings");
  Row row;
  EXPECT_EQ(ValueText(FieldOf(row, settings)), "-");
  EXPECT_EQ(ValueText(*FieldFromJson("{}", settings)), "-");
  (*row.mutable_settings())["prefetch"] = "4";
  (*row.mutable_settings())["chunk"] = "a\"b";
  EXPECT_EQ(FieldOf(row, settings).text, "chunk=a\"b, prefetch=4");
  EXPECT_EQ(
      FieldFromJson(R"({"prefetch": "4", "chunk": "a\"b"})", settings)->text,
      "chunk=a\"b, prefetch=4");
  EXPECT_FALSE(FieldFromJson(R"({"prefetch": 4})", settings).ok());
  EXPECT_FALSE(FieldFromJson(R"({"a": "1", "a": "2"})", settings).ok());
  // One setting is other work than the two that it looks like.
  EXPECT_EQ(FieldFromJson(R"({"a": "1, b=2"})", settings)->text,
            "a=\"1, b=2\"");
  EXPECT_EQ(FieldFromJson(R"({"a=1, b": "2"})", settings)->text,
            "\"a=1, b\"=2");
  EXPECT_FALSE(FieldFromJson("{}", *FindField("library")).ok());
}

TEST(FindFieldTest, KnowsWhatIsGoodToGroupBy) {
  for (const char* name :
       {"library", "batch_size", "settings.x", "labels", "cold"}) {
    EXPECT_TRUE(FindField(name)->categorical) << name;
  }
  for (const char* name :
       {"job_id", "run_index", "throughput", "started_at", "pair.index"}) {
    EXPECT_FALSE(FindField(name)->categorical) << name;
  }
}

TEST(FieldNamesTest, HasNoNamesThatCannotBeAskedFor) {
  for (const std::string& name : FieldNames()) {
    EXPECT_TRUE(FindField(name).ok() || FindField(name).status().code() ==
                                            absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_THAT(FieldNames(), Contains("dataset.sha256"));
  EXPECT_THAT(FieldNames(), Not(Contains("samples_s")));
}

// Both ways to get a value must agree, or tables would depend on the reader.
TEST(FieldFromJsonTest, AgreesWithTheMessage) {
  EXPECT_EQ(ValueText(*FieldFromJson("\"kornia\"", *FindField("library"))),
            "kornia");
  EXPECT_EQ(ValueText(*FieldFromJson("[\"cold\"]", *FindField("cold"))),
            "true");
  EXPECT_EQ(ValueText(*FieldFromJson("", *FindField("cold"))),
            TextOf(Row(), "cold"));
  EXPECT_EQ(ValueText(*FieldFromJson("", *FindField("workers"))),
            TextOf(Row(), "workers"));
  EXPECT_EQ(FieldFromJson("", *FindField("dataset.id"))->kind,
            Value::Kind::kAbsent);
  // `null` is a number that JSON does not have; a whole number may be missing.
  Row row;
  row.set_elapsed_s(std::nan(""));
  EXPECT_EQ(TextOf(row, "elapsed_s"), "-");
  EXPECT_EQ(ValueText(*FieldFromJson("null", *FindField("elapsed_s"))), "-");
  EXPECT_EQ(ValueText(*FieldFromJson("", *FindField("elapsed_s"))), "0");
  EXPECT_EQ(ValueText(*FieldFromJson("null", *FindField("workers"))), "0");
}

TEST(FieldFromJsonTest, RefusesAnotherType) {
  EXPECT_EQ(FieldFromJson("3", *FindField("library")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldFromJson("\"3\"", *FindField("workers")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldFromJson("\"cold\"", *FindField("cold")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

Row TheRow() {
  Row row;
  row.set_library("kornia");
  row.set_status("ok");
  row.set_device("cpu");
  row.set_batch_size(256);
  row.set_throughput(123.5);
  row.add_warnings("noisy");
  row.add_labels("cold");
  (*row.mutable_settings())["prefetch"] = "4";
  row.mutable_equivalence()->set_label("exact");
  return row;
}

bool Matches(const std::string& text) {
  const auto filter = Filter::Parse(text);
  EXPECT_TRUE(filter.ok()) << filter.status();
  return filter.ok() && filter->Matches(TheRow());
}

TEST(FilterTest, Holds) {
  for (const char* text :
       {"",
        "  ",
        "status == \"ok\"",
        "status=='ok' && device==\"cpu\"",
        "library != \"opencv\"",
        "batch_size >= 256",
        "batch_size<257",
        "throughput > 1.2e2 && throughput <= 123.5",
        "library in [\"opencv\", \"kornia\"]",
        "batch_size in (1, 256)",
        "\"noisy\" in warnings",
        "warnings.noisy",
        "cold",
        "labels.cold",
        "!exploratory",
        "!(status == \"failed\" || device == \"cuda\")",
        "settings.prefetch == 4",
        "settings.prefetch == \"4\"",
        "settings.prefetch < 10",
        "settings.none != \"x\"",
        "equivalence.label == \"exact\"",
        "cold == true",
        "status == \"x\" || status == \"ok\" && batch_size == 256",
        "library > \"abc\"",
        "pair.side != \"a\""}) {
    EXPECT_TRUE(Matches(text)) << text;
  }
}

TEST(FilterTest, DoesNotHold) {
  for (const char* text :
       {"status == \"failed\"", "status == \"ok\" && device == \"cuda\"",
        "batch_size > 256", "!cold", "exploratory", "\"migrated\" in warnings",
        "library in [\"opencv\"]", "settings.none == \"x\"",
        "settings.none < 3", "pair.index >= 0", "pair.side == \"a\"",
        "of_limit < 1",
        "(status == \"x\" || status == \"ok\") && cold == false"}) {
    EXPECT_FALSE(Matches(text)) << text;
  }
}

void ExpectError(const std::string& text, const std::string& part) {
  const auto filter = Filter::Parse(text);
  ASSERT_FALSE(filter.ok()) << text;
  EXPECT_THAT(std::string(filter.status().message()), HasSubstr(part)) << text;
}

TEST(FilterTest, ErrorsNameTheColumnAndTheRemedy) {
  ExpectError("librray == \"a\"",
              "--where: column 1: unknown field \"librray\"; did you mean "
              "\"library\"?");
  ExpectError("status == ok", "column 11: text stands in quotes: \"ok\"");
  ExpectError("status = \"ok\"", "column 8: a single \"=\"");
  ExpectError("status == \"ok", "column 11: this text has no closing quote");
  ExpectError("batch_size == \"a\"", "column 15: batch_size is a number");
  ExpectError("library == 3", "column 12: library is text");
  ExpectError("library", "column 1: library is text and must be compared");
  ExpectError("labels == \"cold\"", "write \"…\" in labels");
  ExpectError("status == \"ok\" and cold",
              "column 16: expected && or ||, "
              "found \"and\"; use &&");
  ExpectError("(cold", "column 6: expected \")\", found the end");
  ExpectError("cold &&", "column 8: expected a field, found the end");
  ExpectError("library in \"a\"", "column 12: expected \"[\"");
  ExpectError("\"a\" in library", "library is not a list");
  ExpectError("dataset.idd == \"a\"", "did you mean \"dataset.id\"?");
  ExpectError("samples_s == 1", "a list of numbers");
  ExpectError("settings == 1", "settings is text");
  ExpectError("loader.gpu == 1", "name one, such as loader.gpu.");
  ExpectError("cold ; cold", "column 6");
  ExpectError("batch_size == 1e999", "is not a number");
  ExpectError(std::string(1000, '(') + "cold", "too many brackets");
  ExpectError(std::string(1000, '!') + "cold", "too many brackets");
}

TEST(FilterTest, NamesEachFieldOnce) {
  const auto filter = Filter::Parse("cold && status==\"a\" || status==\"b\"");
  ASSERT_TRUE(filter.ok());
  ASSERT_EQ(filter->fields().size(), 2u);
  EXPECT_EQ(filter->fields()[1].name, "status");
}

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

// Resolves the attempts in every order, and checks that it does not matter.
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

TEST(ForEachReplacedTest, TheCleanestAttemptCountsAndIsNoDuplicate) {
  std::vector<Attempt> attempts = {Make(0, "", 1, 7), Make(1, "", 2, 7),
                                   Make(0, "", 3, 7)};
  attempts[1].rank = 8;
  attempts[2].rank = 2;
  const Replaced replaced = Resolve(attempts);
  EXPECT_THAT(replaced.retried, UnorderedElementsAre(1, 2));
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

// The run crashed before it reported its version; the next attempt was fine.
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
  EXPECT_EQ(AttemptOf(row, 5).rank, AttemptRank(row));
  const Attempt attempt = AttemptOf(row, 5);
  EXPECT_EQ(attempt.order, AttemptOrder(3, ""));
  EXPECT_EQ(attempt.throughput, 100);
  EXPECT_EQ(attempt.version, VersionHash("1.0", true));
  EXPECT_EQ(attempt.id, 5u);
}

}  // namespace
}  // namespace feedrate
