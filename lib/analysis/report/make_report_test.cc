#include "lib/analysis/report/make_report.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/base/exit_code.h"
#include "lib/base/files.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MakeReportTest : public ::testing::Test {
 protected:
  MakeReportTest() {
    std::string text;
    for (const char* library : {"a", "b"}) {
      for (int run = 0; run < 3; ++run) {
        const double speed = *library == 'a' ? 100 : 200;
        AppendRecord(MakeRow(library, "Blur", speed + run, run), &text);
      }
    }
    request_.paths = {Written("rows.jsonl", text)};
    request_.warn = [this](const std::string& text) {
      warnings_.push_back(text);
    };
  }

  static std::string Path(const std::string& name) {
    return JoinPath(::testing::TempDir(), name);
  }
  static std::string Written(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(Path(name), text).ok());
    return Path(name);
  }
  ExitCode Make() {
    out_.str("");
    const auto code = MakeReport(request_, out_);
    EXPECT_TRUE(code.ok()) << code.status();
    return code.value_or(ExitCode::kRunFailed);
  }

  ReportRequest request_;
  std::ostringstream out_;
  std::vector<std::string> warnings_;
};

TEST_F(MakeReportTest, APageGoesToStandardOutput) {
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MakeReportTest, APageGoesToAFile) {
  request_.output = Path("page.html");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(*ReadFile(request_.output), StartsWith("<!DOCTYPE html>"));
}

TEST_F(MakeReportTest, MarkdownInstead) {
  request_.markdown = true;
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), StartsWith("# "));
  EXPECT_THAT(out_.str(), Not(HasSubstr("<html")));
}

TEST_F(MakeReportTest, FiguresAloneWriteNoPage) {
  request_.svg_folder = Path("figures");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_EQ(out_.str(), "");
  const auto files = ListFiles(request_.svg_folder, ".svg", false);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(*files, Not(IsEmpty()));
  EXPECT_THAT(*ReadFile((*files)[0]), HasSubstr("<svg"));
}

TEST_F(MakeReportTest, AFontThatIsNoneIsNamed) {
  request_.svg_folder = Path("figures");
  request_.svg_font = Written("font.ttf", "no font");
  const auto code = MakeReport(request_, out_);
  EXPECT_EQ(code.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(code.status().message()), HasSubstr("font.ttf"));
}

TEST_F(MakeReportTest, ClaimsThatFollowAndThatDoNot) {
  const std::string claim =
      "x <!-- rows: ratio(throughput, library==\"b\", library==\"a\") -->\n";
  request_.claims = Written("good.md", "It is 2.0" + claim);
  EXPECT_EQ(Make(), ExitCode::kDone);
  request_.claims = Written("bad.md", "It is 2.4" + claim);
  EXPECT_EQ(Make(), ExitCode::kCheckSaidNo);
  EXPECT_THAT(out_.str(), HasSubstr("bad.md:1: 2.4"));
  request_.claims = Written("none.md", "No numbers.\n");
  EXPECT_EQ(Make(), ExitCode::kInvalid);
}

TEST_F(MakeReportTest, ClaimsAndAPageDoNotShareStandardOutput) {
  request_.claims = Written("claims.md", "1\n");
  request_.output = "-";
  EXPECT_EQ(MakeReport(request_, out_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MakeReportTest, TargetsDecideTheExitCode) {
  const auto target = [](const std::string& expression, const char* bound) {
    return "targets { name: \"t\" value: '" + expression + "' " + bound +
           " remedy: \"r\" needs: \"n\" }\n";
  };
  request_.targets =
      Written("met.textproto", target("median(throughput)", "min: 1"));
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("✓"));
  request_.targets =
      Written("missed.textproto", target("median(throughput)", "min: 1e9"));
  EXPECT_EQ(Make(), ExitCode::kCheckSaidNo);
  EXPECT_THAT(out_.str(), HasSubstr("✗"));
  request_.targets =
      Written("unknown.textproto",
              target("median(throughput, mode == \"train\")", "min: 1"));
  EXPECT_EQ(Make(), ExitCode::kCannotTell);
}

TEST_F(MakeReportTest, ABaselineWithNothingInCommonIsInvalid) {
  std::string text;
  AppendRecord(MakeRow("other", "Flip", 1), &text);
  request_.baseline = Written("baseline.jsonl", text);
  EXPECT_EQ(Make(), ExitCode::kInvalid);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("nothing is comparable")));
  request_.baseline = request_.paths[0];
  EXPECT_EQ(Make(), ExitCode::kDone);
}

TEST_F(MakeReportTest, VerdictsAloneAreAReport) {
  Verdict verdict;
  verdict.set_scope("suite");
  verdict.set_verdict("same");
  std::string text;
  AppendRecord(verdict, &text);
  request_.paths = {Written("verdicts.jsonl", text)};
  request_.markdown = true;
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("All jobs: same."));
}

TEST_F(MakeReportTest, NoRowsIsInvalidNoPathAMistake) {
  request_.paths = {Written("empty.jsonl", "")};
  EXPECT_EQ(Make(), ExitCode::kInvalid);
  request_.paths = {};
  EXPECT_EQ(MakeReport(request_, out_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MakeReportTest, MixturesGetFiguresAndASummary) {
  std::string text;
  AppendRecord(MakeMixtureRow({{"a", 0.5}, {"b", 0.5}}), &text);
  for (int i = 0; i < 20; ++i) {
    AppendRecord(MakeBatch(i, {{"a", 5}, {"b", 3}}), &text);
  }
  request_.paths = {Written("mixture.jsonl", text)};
  request_.svg_folder = Path("mixture");
  EXPECT_EQ(Make(), ExitCode::kDone);
  for (const char* name :
       {"mixture_over_time.svg", "mixture_windows_every_stride.svg"}) {
    const auto svg = ReadFile(JoinPath(request_.svg_folder, name));
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_THAT(*svg, HasSubstr("batch 3, a: 62.5%"));
  }
  const auto summary =
      ReadFile(JoinPath(request_.svg_folder, "mixture_summary.txt"));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(*summary, HasSubstr("640 samples/s"));
}

TEST_F(MakeReportTest, BatchesAloneAreSomethingToLookAt) {
  std::string text;
  AppendRecord(MakeBatch(0, {{"a", 5}, {"b", 3}}), &text);
  request_.paths = {Written("batches.jsonl", text)};
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("How mixtures mix"));
}

TEST_F(MakeReportTest, WithoutBatchesThereIsNoSummary) {
  request_.svg_folder = Path("no_mixture");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_FALSE(
      ReadFile(JoinPath(request_.svg_folder, "mixture_summary.txt")).ok());
}

}  // namespace
}  // namespace feedrate
