#include "lib/analysis/report/claims.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{MakeRow("a", "Blur", 1234.4),
                                                  MakeRow("b", "Blur", 500)};
  return rows;
}

// "✓" and "✗" for the claims of a text.
std::string Marks(const std::string& text) {
  const auto claims = FindClaims(text, "f.md");
  EXPECT_TRUE(claims.ok()) << claims.status();
  if (!claims.ok()) return "?";
  const auto results = CheckClaims(*claims, "f.md", Rows());
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return "?";
  std::string marks;
  for (const ClaimResult& result : *results) marks += result.holds ? "+" : "-";
  return marks;
}

TEST(ClaimsTest, HoldsTheTextToItsDigits) {
  const std::string max = " <!-- rows: max(throughput) -->";
  EXPECT_EQ(Marks("1234" + max), "+");
  EXPECT_EQ(Marks("about 1,234 images" + max), "+");
  EXPECT_EQ(Marks("1234.4" + max), "+");
  EXPECT_EQ(Marks("1234.5" + max), "-");
  EXPECT_EQ(Marks("1235" + max), "-");
  EXPECT_EQ(Marks("1.2k" + max), "+");
  EXPECT_EQ(Marks("1.3k" + max), "-");
  EXPECT_EQ(Marks("**1234** img/s" + max), "+");
}

TEST(ClaimsTest, KnowsRatiosPercentagesAndSigns) {
  EXPECT_EQ(Marks("2.5x <!-- rows: ratio(throughput, library==\"a\", "
                  "library==\"b\") -->"),
            "+");
  EXPECT_EQ(Marks("up by 147% <!-- rows: percent(throughput, library==\"a\", "
                  "library==\"b\") -->"),
            "+");
  const std::string loss =
      " <!-- rows: percent(throughput, library==\"b\", library==\"a\") -->";
  EXPECT_EQ(Marks("-59%" + loss), "+");
  EXPECT_EQ(Marks("\u221259%" + loss), "+");
  EXPECT_EQ(Marks("59%" + loss), "-");
}

TEST(ClaimsTest, EachReferenceHasItsOwnNumber) {
  EXPECT_EQ(Marks("| 2 <!-- rows: count() --> | 3 <!-- rows: count() --> |"),
            "+-");
  EXPECT_EQ(Marks("2 <!-- rows: count() -->\nno claim 77\n"), "+");
}

TEST(ClaimsTest, MayAllowMore) {
  EXPECT_EQ(Marks("1200 <!-- rows: max(throughput) within 5% -->"), "+");
  EXPECT_EQ(Marks("1100 <!-- rows: max(throughput) within 5% -->"), "-");
}

TEST(ClaimsTest, PassesOverFencedCode) {
  EXPECT_EQ(
      Marks("```\n9 <!-- rows: count() -->\n```\n2 <!-- rows: count() -->"),
      "+");
}

TEST(ClaimsTest, WhatRowsCannotAnswerDoesNotHold) {
  EXPECT_EQ(Marks("0.45 <!-- rows: median(train.mfu) -->"), "-");
}

TEST(ClaimsTest, NamesTheLine) {
  const auto no_number = FindClaims("one\n<!-- rows: count() -->", "f.md");
  EXPECT_TRUE(absl::IsInvalidArgument(no_number.status()));
  EXPECT_THAT(std::string(no_number.status().message()), HasSubstr("f.md:2:"));
  EXPECT_FALSE(FindClaims("1 <!-- rows: count()", "f.md").ok());
  EXPECT_FALSE(FindClaims("1 <!-- rows: count() within 2 -->", "f.md").ok());
  const auto claims = FindClaims("\n\n1 <!-- rows: nosuch() -->", "f.md");
  ASSERT_TRUE(claims.ok());
  EXPECT_THAT(
      std::string(CheckClaims(*claims, "f.md", Rows()).status().message()),
      HasSubstr("f.md:3:"));
}

TEST(ClaimsTest, SaysWhatIsExpected) {
  const auto claims = FindClaims("\n3 <!-- rows: count() -->", "f.md");
  ASSERT_TRUE(claims.ok());
  const auto results = CheckClaims(*claims, "f.md", Rows());
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(ClaimsText(*results, "f.md"),
            "✗ f.md:2: 3, but rows say 2  [count()]\n"
            "0 of 1 claims follow from the rows\n");
}

}  // namespace
}  // namespace feedrate
