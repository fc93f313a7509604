#include "lib/analysis/filter.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
  ExpectError("\"a\" in library", "library is no list");
  ExpectError("dataset.idd == \"a\"", "did you mean \"dataset.id\"?");
  ExpectError("samples_s == 1", "a list of numbers");
  ExpectError("settings == 1", "settings.prefetch");
  ExpectError("cold ; cold", "column 6");
  ExpectError("batch_size == 1e999", "is no number");
  ExpectError(std::string(1000, '(') + "cold", "too many brackets");
  ExpectError(std::string(1000, '!') + "cold", "too many brackets");
}

TEST(FilterTest, NamesEachFieldOnce) {
  const auto filter = Filter::Parse("cold && status==\"a\" || status==\"b\"");
  ASSERT_TRUE(filter.ok());
  ASSERT_EQ(filter->fields().size(), 2u);
  EXPECT_EQ(filter->fields()[1].name, "status");
}

}  // namespace
}  // namespace feedrate
