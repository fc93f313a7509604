#include "lib/analysis/report/history_section.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUrl[] = "https://example.org/c/{commit}?x=1&y=2";

HistorySeries SeriesOf(const std::string& label, int points, int step_at) {
  HistorySeries series;
  series.job_id = label;
  series.label = label;
  series.machine_profile = "m";
  for (int i = 0; i < points; ++i) {
    series.revisions.push_back(absl::StrCat("r", i));
    series.logs.push_back(
        std::log(step_at > 0 && i >= step_at ? 0.0012 : 0.001));
    series.started_at.push_back(absl::StrCat("2026-01-", 10 + i));
  }
  if (step_at > 0) {
    Step step;
    step.before = step_at - 1;
    step.index = step_at;
    step.shift = std::log(1.2);
    series.steps.push_back(step);
  }
  return series;
}

std::string HtmlOf(std::vector<HistorySeries> all, const std::string& url) {
  Document document;
  auto section = HistorySection(std::move(all), url);
  EXPECT_TRUE(section.has_value());
  document.sections.push_back(*section);
  const std::string html = ToHtml(document);
  return html.substr(html.find("<main>"),
                     html.find("</main>") - html.find("<main>"));
}

TEST(HistorySectionTest, EveryJobHasItsLineItsTimeAndItsLastChange) {
  const std::string html =
      HtmlOf({SeriesOf("steady", 20, 0), SeriesOf("slower", 20, 12)}, kUrl);
  EXPECT_THAT(html, HasSubstr("data-marks=\"12\""));
  EXPECT_THAT(html, HasSubstr("data-x=\"0 1 2"));
  EXPECT_THAT(html, HasSubstr("1.2 ms"));
  EXPECT_THAT(html, HasSubstr("<li data-detail=\"2026-01-22\">r12</li>"));
  EXPECT_THAT(html, HasSubstr("<dd>1</dd>"));
  // Jobs with changes first.
  EXPECT_LT(html.find(">slower"), html.find(">steady"));
  EXPECT_THAT(html, HasSubstr("id=\"history-slower\""));
  EXPECT_THAT(html, HasSubstr("href=\"#history-slower\""));
}

TEST(HistorySectionTest, RevisionsLinkToTheirCommits) {
  HistorySeries series = SeriesOf("a", 20, 12);
  series.revisions[12] = "a/b\"><script>";
  const std::string html = HtmlOf({series}, kUrl);
  EXPECT_THAT(html,
              HasSubstr("href=\"https://example.org/c/r11?x=1&amp;y=2\""));
  EXPECT_THAT(html, HasSubstr("/c/a%2Fb%22%3E%3Cscript%3E?x=1"));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, HasSubstr("data-link=\"https://example.org/c/{commit}"));
  EXPECT_THAT(HtmlOf({series}, ""), Not(HasSubstr("example.org")));
}

TEST(HistorySectionTest, JobsThatLackRevisionsShareTheOrder) {
  HistorySeries part = SeriesOf("part", 3, 0);
  part.revisions = {"r3", "extra", "r4"};
  const std::string html = HtmlOf({part, SeriesOf("whole", 6, 0)}, "");
  EXPECT_THAT(html, HasSubstr("data-x=\"3 4 5\""));
  EXPECT_THAT(html, HasSubstr("data-x=\"0 1 2 3 5 6\""));
}

TEST(HistorySectionTest, NoneWithoutTwoPoints) {
  EXPECT_FALSE(HistorySection({SeriesOf("a", 1, 0)}, "").has_value());
  EXPECT_FALSE(HistorySection({}, "").has_value());
}

TEST(CheckCommitUrlTest, OnlyWebAddressesWithAPlaceForTheCommit) {
  EXPECT_TRUE(CheckCommitUrl("").ok());
  EXPECT_TRUE(CheckCommitUrl(kUrl).ok());
  EXPECT_FALSE(CheckCommitUrl("https://example.org/").ok());
  EXPECT_FALSE(CheckCommitUrl("javascript:alert({commit})").ok());
}

}  // namespace
}  // namespace feedrate
