#include "lib/analysis/field.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/value.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Row Example() {
  Row row;
  row.set_library("kornia");
  row.set_batch_size(256);
  row.set_throughput(12.5);
  row.add_labels("cold");
  row.mutable_dataset()->set_id("images");
  row.mutable_equivalence()->set_label("exact");
  (*row.mutable_settings())["prefetch"] = "4";
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
  for (const char* name : {"equivalence", "settings", "samples_s"}) {
    EXPECT_EQ(FindField(name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_THAT(std::string(FindField("settings").status().message()),
              HasSubstr("settings.prefetch"));
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

// Both ways to a value must agree, or tables would depend on the reader.
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
}

TEST(FieldFromJsonTest, RefusesAnotherType) {
  EXPECT_EQ(FieldFromJson("3", *FindField("library")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldFromJson("\"3\"", *FindField("workers")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldFromJson("\"cold\"", *FindField("cold")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedrate
