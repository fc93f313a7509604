#include "lib/analysis/report/make_report.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/speed_ups.h"
#include "lib/analysis/testing/rows.h"
#include "lib/base/files.h"
#include "lib/base/tool/exit_code.h"
#include "lib/records/env.pb.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

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

// A `/` in the name of a swept setting used to be a folder that is not there.
TEST_F(MakeReportTest, NamesOfFiguresAreNamesOfFiles) {
  std::string text;
  for (const std::string& transform :
       {std::string("../Blur"), std::string("Blur\x1B"), std::string("日本"),
        std::string(1000, 'x')}) {
    for (const char* value : {"1", "2", "nan", "1e400"}) {
      Row row = MakeRow("kornia", transform, 100);
      (*row.mutable_settings())["a/b"] = value;
      row.set_job_id(absl::StrCat(transform, value));
      AppendRecord(row, &text);
    }
  }
  request_.paths = {Written("swept.jsonl", text)};
  request_.svg_folder = Path("swept");
  EXPECT_EQ(Make(), ExitCode::kDone);
  int curves = 0;
  const std::vector<std::string> files =
      *ListFiles(request_.svg_folder, ".svg", /*recursive=*/true);
  for (const std::string& file : files) {
    const std::string name = file.substr(file.rfind('/') + 1);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."),
              std::string::npos)
        << name;
    curves +=
        absl::StrContains(name, "-by-a-b") && !absl::StrContains(name, "-log");
  }
  EXPECT_EQ(curves, 4);
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

TEST_F(MakeReportTest, HistoryIsPlottedWithItsChanges) {
  std::string text;
  for (int i = 0; i < 24; ++i) {
    Env env;
    env.set_env_id("e");
    env.mutable_git()->set_revision(absl::StrCat("revision", i));
    AppendRecord(env, &text);
    // Twice as fast from the 13th on; a little noise makes a t test possible.
    AppendRecord(MakeRow("a", "Blur", (i < 12 ? 100 : 200) + 0.1 * (i % 3)),
                 &text);
    AppendRecord(MakeRow("b", "Blur", 100 + 0.1 * (i % 3)), &text);
  }
  request_.history = Written("history.jsonl", text);
  request_.svg_folder = Path("history");
  request_.markdown = true;
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("speed-ups that are still there: **1**"));
  EXPECT_THAT(out_.str(), HasSubstr("by -50.0% after revision11, at the "
                                    "latest in revision12"));
  EXPECT_THAT(*ReadFile(Path("history/history-a-blur.svg")),
              HasSubstr("class=\"ref\""));
  EXPECT_THAT(*ReadFile(Path("history/history-b-blur.svg")),
              Not(HasSubstr("class=\"ref\"")));
}

TEST_F(MakeReportTest, AHistoryAloneIsAReport) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    Env env;
    env.mutable_git()->set_revision(absl::StrCat("revision", i));
    AppendRecord(env, &text);
    AppendRecord(MakeRow("a", "Blur", 100), &text);
  }
  request_.history = Written("history.jsonl", text);
  request_.paths = {};
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("id=\"history\""));
  EXPECT_THAT(out_.str(), Not(HasSubstr("id=\"summary\"")));
  request_.commit_url = "ftp://{commit}";
  EXPECT_FALSE(MakeReport(request_, out_).ok());
}

TEST_F(MakeReportTest, AProfileShowsWhereTimeChanged) {
  Profile profile;
  profile.set_profiler("perf");
  profile.set_pairs(5);
  ProfilePart* part = profile.add_parts();
  part->set_name("slow<script>");
  part->set_change_s(0.01);
  part->set_share_percent(97);
  for (const char* name : {"all", "slow<script>"}) {
    ProfileFrame* frame = profile.add_frames();
    frame->set_parent(profile.frames_size() - 2);
    frame->set_name(name);
    frame->set_a_s(0.1);
    frame->set_b_s(0.11);
  }
  std::string text;
  AppendRecord(profile, &text);
  request_.paths = {Written("profile.jsonl", text)};
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("id=\"where\""));
  EXPECT_THAT(out_.str(), HasSubstr("id=\"flame-graph\""));
  EXPECT_THAT(out_.str(), HasSubstr("slow&lt;script&gt;"));
  EXPECT_THAT(out_.str(), HasSubstr("97%"));
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

TEST_F(MakeReportTest, NoRowsIsInvalid) {
  request_.paths = {Written("empty.jsonl", "")};
  EXPECT_EQ(Make(), ExitCode::kInvalid);
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
