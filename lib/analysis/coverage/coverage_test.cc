#include "lib/analysis/coverage/coverage.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/analysis/testing/synthetic_rows.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// With rows for every required job, a profile is complete. Removing or breaking
// any row gives a finding for that row only.

std::string LineOf(const google::protobuf::Message& record) {
  std::string line;
  AppendRecord(record, &line);
  return line;
}

// Everything that a campaign wrote, as lines.
struct Campaign {
  std::string coverage;
  int num_runs = 0;
  std::vector<std::string> head;  // Environments and runs.
  std::vector<Row> rows;
};

Campaign MakeCampaign(const std::string& coverage, int num_runs,
                      uint64_t seed) {
  const auto catalogue = Catalogue::Load("configs");
  EXPECT_TRUE(catalogue.ok()) << catalogue.status();
  CoveragePlanOptions options;
  options.profile = *FindProfile(coverage, "configs");
  options.num_runs = num_runs;
  const auto jobs = LoadCoveragePlan(options, *catalogue);
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  SyntheticRowOptions synthetic;
  synthetic.seed = seed;
  const SyntheticRows maker(synthetic);
  Campaign campaign;
  campaign.coverage = coverage;
  campaign.num_runs = num_runs;
  for (const Env& env : maker.Envs()) campaign.head.push_back(LineOf(env));
  for (const Run& run : maker.Runs()) campaign.head.push_back(LineOf(run));
  for (int i = 0; i < jobs->size(); ++i) {
    for (Row& row : maker.MakeRows(jobs->Get(i))) {
      campaign.rows.push_back(std::move(row));
    }
  }
  return campaign;
}

std::vector<std::string> LinesOf(const Campaign& campaign) {
  std::vector<std::string> lines = campaign.head;
  for (const Row& row : campaign.rows) lines.push_back(LineOf(row));
  return lines;
}

// Number of findings by kind.
using Codes = std::map<std::string, int64_t>;

struct Answer {
  Coverage record;
  // Jobs and runs to repeat.
  std::vector<std::pair<std::string, int>> fixes;
  // Number of findings by kind, without few_runs, which a single run always
  // has.
  Codes codes;
};

// Writes `lines` evenly over `files` files and checks them.
Answer Check(const Campaign& campaign, const std::vector<std::string>& lines,
             int files = 1) {
  CoverageOptions options;
  options.coverage = campaign.coverage;
  options.num_runs = campaign.num_runs;
  options.configs_folder = "configs";
  for (int f = 0; f < files; ++f) {
    std::string content;
    for (size_t i = f; i < lines.size(); i += files) content += lines[i];
    options.paths.push_back(
        absl::StrCat(::testing::TempDir(), "/rows", f, ".jsonl"));
    EXPECT_TRUE(WriteFileAtomically(options.paths.back(), content).ok());
  }
  Answer answer;
  options.fix = [&](const Job& job) {
    for (const int32_t run : job.run_indexes()) {
      answer.fixes.emplace_back(job.job_id(), run);
    }
    return absl::OkStatus();
  };
  auto record = CheckCoverage(options);
  EXPECT_TRUE(record.ok()) << record.status();
  answer.record = *std::move(record);
  for (const CoverageCount& count : answer.record.counts()) {
    if (count.code() == "few_runs") continue;
    answer.codes[count.code()] = count.findings();
  }
  return answer;
}

// One way to break a row, and the findings expected for it.
struct Breakage {
  const char* name;
  // Whether the row can be broken in this way.
  bool (*applies)(const Row& row);
  void (*apply)(Row* row);
  Codes codes;
  // Additional findings if the job has more than one run.
  Codes more_codes;
};

bool IsOk(const Row& row) { return row.status() == "ok"; }

bool IsPlainImageMicro(const Row& row) {
  return IsOk(row) && row.mode() == "micro" && row.device() == "cpu" &&
         row.scenario() == "image-rgb" && row.transform() != "Resize" &&
         row.transform().find("Crop") == std::string::npos;
}

const std::vector<Breakage>& Breakages() {
  static const auto& breakages = *new std::vector<Breakage>{
      {"crash",
       IsOk,
       [](Row* row) {
         row->set_status("crashed");
         row->set_reason("signal 11");
       },
       {{"failed", 1}},
       {}},
      {"other machine",
       IsOk,
       [](Row* row) {
         const bool cpu = row->hardware_class() == "cpu";
         row->set_env_id("");
         row->set_machine_profile(cpu ? "l4x1_driver580_cuda13.0_sm89"
                                      : "xeon-8581c_16c_x86-64");
       },
       {{"wrong_hardware", 1}},
       {{"mixed", 1}}},
      {"no time",
       IsOk,
       [](Row* row) { row->set_elapsed_s(0); },
       {{"zero", 1}},
       {}},
      {"median of zero",
       IsOk,
       [](Row* row) { row->set_p50_s(0); },
       {{"zero", 1}},
       {}},
      {"noop",
       IsOk,
       [](Row* row) { row->add_warnings("noop"); },
       {{"noop", 1}},
       {}},
      {"noop by equivalence",
       IsOk,
       [](Row* row) { row->mutable_equivalence()->set_label("noop"); },
       {{"noop", 1}},
       {}},
      {"unsupported",
       IsOk,
       [](Row* row) { row->set_status("unsupported"); },
       {{"unsupported", 1}},
       {}},
      {"batch size",
       [](const Row& row) { return IsOk(row) && row.batch_size() > 0; },
       [](Row* row) { row->set_batch_size(row->batch_size() * 2); },
       {{"batch_size", 1}},
       {}},
      {"other seed",
       IsOk,
       [](Row* row) { row->set_seed(99); },
       {{"settings", 1}},
       {}},
      {"faster than copying",
       IsPlainImageMicro,
       [](Row* row) { row->set_throughput(1e6 + row->throughput()); },
       {{"above_copy", 1}},
       {}},
      {"above its limit",
       IsOk,
       [](Row* row) {
         row->mutable_limit()->set_throughput(row->throughput() / 2);
       },
       {{"above_limit", 1}},
       {}},
  };
  return breakages;
}

class CoveragePropertyTest
    : public ::testing::TestWithParam<std::pair<const char*, int>> {
 protected:
  CoveragePropertyTest()
      : campaign_(MakeCampaign(GetParam().first, GetParam().second, 7)) {}

  // A random row for which `applies` is true.
  size_t Pick(bool (*applies)(const Row&)) {
    std::uniform_int_distribution<size_t> at(0, campaign_.rows.size() - 1);
    for (;;) {
      const size_t i = at(random_);
      if (applies(campaign_.rows[i])) return i;
    }
  }

  void ExpectOnly(const Answer& answer, const Codes& codes, const Row& row,
                  const std::string& context) {
    EXPECT_EQ(answer.codes, codes) << context;
    EXPECT_THAT(answer.fixes,
                ElementsAre(std::make_pair(row.job_id(), row.run_index())))
        << context;
    EXPECT_EQ(answer.record.verdict(), "incomplete") << context;
    EXPECT_EQ(answer.record.jobs_complete(), answer.record.jobs() - 1);
  }

  Campaign campaign_;
  std::mt19937_64 random_{20260101};
};

TEST_P(CoveragePropertyTest, AllRowsAreComplete) {
  const Answer answer = Check(campaign_, LinesOf(campaign_));
  EXPECT_THAT(answer.codes, IsEmpty()) << answer.record.ShortDebugString();
  EXPECT_THAT(answer.fixes, IsEmpty());
  EXPECT_EQ(answer.record.verdict(), "complete");
  EXPECT_EQ(answer.record.jobs_complete(), answer.record.jobs());
  EXPECT_EQ(answer.record.rows(), campaign_.rows.size());
}

TEST_P(CoveragePropertyTest, AnyRowThatIsRemovedIsMissed) {
  const std::vector<std::string> lines = LinesOf(campaign_);
  for (int i = 0; i < 8; ++i) {
    const size_t row = Pick(IsOk);
    std::vector<std::string> rest = lines;
    rest.erase(rest.begin() + campaign_.head.size() + row);
    ExpectOnly(Check(campaign_, rest),
               {{campaign_.num_runs > 1 ? "too_few_runs" : "missing", 1}},
               campaign_.rows[row], "removed");
  }
}

TEST_P(CoveragePropertyTest, AnyLineThatIsTornOrBrokenIsMissed) {
  const std::vector<std::string> lines = LinesOf(campaign_);
  const std::string gone = campaign_.num_runs > 1 ? "too_few_runs" : "missing";
  for (int i = 0; i < 4; ++i) {
    const size_t row = Pick(IsOk);
    std::vector<std::string> broken = lines;
    std::string& line = broken[campaign_.head.size() + row];
    line = line.substr(0, line.size() / 2) + "\n";
    ExpectOnly(Check(campaign_, broken), {{"broken_line", 1}, {gone, 1}},
               campaign_.rows[row], "broken");
    line.pop_back();
    std::rotate(broken.begin() + campaign_.head.size() + row,
                broken.begin() + campaign_.head.size() + row + 1, broken.end());
    ExpectOnly(Check(campaign_, broken), {{"torn_line", 1}, {gone, 1}},
               campaign_.rows[row], "torn");
  }
}

TEST_P(CoveragePropertyTest, AnyRowThatIsBrokenIsFoundAlone) {
  for (const Breakage& breakage : Breakages()) {
    for (int i = 0; i < 3; ++i) {
      const size_t at = Pick(breakage.applies);
      Campaign broken = campaign_;
      breakage.apply(&broken.rows[at]);
      Codes codes = breakage.codes;
      if (campaign_.num_runs > 1) {
        codes.insert(breakage.more_codes.begin(), breakage.more_codes.end());
      }
      ExpectOnly(Check(campaign_, LinesOf(broken)), codes, campaign_.rows[at],
                 absl::StrCat(breakage.name, ": ",
                              broken.rows[at].ShortDebugString()));
    }
  }
}

TEST_P(CoveragePropertyTest, CopiedNumbersBlameBothRows) {
  for (int i = 0; i < 4; ++i) {
    const size_t a = Pick(IsOk);
    const size_t b = Pick(IsOk);
    if (campaign_.rows[a].job_id() == campaign_.rows[b].job_id()) continue;
    Campaign copied = campaign_;
    copied.rows[a].set_throughput(copied.rows[b].throughput());
    const Answer answer = Check(campaign_, LinesOf(copied));
    // The copied number may also be implausible for its new cell.
    EXPECT_EQ(answer.codes.at("identical"), 2);
    EXPECT_THAT(
        answer.fixes,
        UnorderedElementsAre(std::make_pair(campaign_.rows[a].job_id(),
                                            campaign_.rows[a].run_index()),
                             std::make_pair(campaign_.rows[b].job_id(),
                                            campaign_.rows[b].run_index())));
  }
}

// A failed attempt with a later successful one is not a finding.
TEST_P(CoveragePropertyTest, TheLastAttemptCounts) {
  const size_t at = Pick(IsOk);
  Campaign retried = campaign_;
  retried.rows[at].set_attempt(1);
  Row first = campaign_.rows[at];
  first.set_status("oom");
  retried.rows.push_back(first);
  const Answer answer = Check(campaign_, LinesOf(retried));
  EXPECT_THAT(answer.codes, IsEmpty());
  EXPECT_EQ(answer.record.replaced_rows(), 1);
}

Coverage WithoutPlaces(Coverage record) {
  record.set_files(0);
  for (CoverageFinding& finding : *record.mutable_findings()) {
    finding.set_place("");
  }
  return record;
}

TEST_P(CoveragePropertyTest, OrderAndFilesChangeNothing) {
  Campaign mixed = campaign_;
  for (const Breakage& breakage : Breakages()) {
    breakage.apply(&mixed.rows[Pick(breakage.applies)]);
  }
  // Adds copies, other settings and other attempts of existing rows.
  for (int i = 0; i < 12; ++i) {
    Row again = mixed.rows[Pick(IsOk)];
    if (i % 4 == 1) again.set_library_version(absl::StrCat("9.", i));
    if (i % 4 == 2) again.set_throughput(again.throughput() * 1.5);
    if (i % 4 == 3) again.set_attempt(i);
    mixed.rows.push_back(again);
  }
  std::vector<std::string> lines = LinesOf(mixed);
  lines.erase(lines.begin() + lines.size() / 2);
  const Answer first = Check(campaign_, lines);
  EXPECT_GT(first.codes.size(), 8) << first.record.counts_size();
  for (const int files : {1, 3, 7}) {
    std::shuffle(lines.begin(), lines.end(), random_);
    const Answer other = Check(campaign_, lines, files);
    EXPECT_EQ(WithoutPlaces(other.record).DebugString(),
              WithoutPlaces(first.record).DebugString());
    EXPECT_EQ(other.fixes, first.fixes);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, CoveragePropertyTest,
                         ::testing::Values(std::make_pair("full-paper", 1),
                                           std::make_pair("ram-reduced", 3)),
                         [](const auto& info) {
                           return absl::StrCat("Runs", info.param.second);
                         });

Coverage Example() {
  Coverage coverage;
  coverage.set_coverage("full-paper");
  coverage.set_verdict("incomplete");
  coverage.set_jobs(5);
  coverage.set_jobs_complete(2);
  coverage.set_runs(15);
  coverage.set_runs_complete(6);
  coverage.set_rows(1);
  coverage.set_files(1);
  coverage.set_unplanned_rows(4);
  CoverageGroup& group = *coverage.add_groups();
  group.set_scenario("image-rgb");
  group.set_library("kornia");
  group.set_jobs(5);
  group.set_complete(2);
  group.set_missing(3);
  CoverageCount& missing = *coverage.add_counts();
  missing.set_code("missing");
  missing.set_severity("error");
  missing.set_findings(3);
  CoverageCount& few = *coverage.add_counts();
  few.set_code("few_runs");
  few.set_severity("warning");
  few.set_findings(1);
  for (int i = 0; i < 3; ++i) {
    CoverageFinding& finding = *coverage.add_findings();
    finding.set_subject(absl::StrCat("job", i));
    finding.add_run_indexes(0);
    finding.add_run_indexes(2);
    finding.set_what("no row");
    finding.set_remedy("measure it");
  }
  CoverageFinding& finding = *coverage.add_findings();
  finding.set_place("rows.jsonl:7");
  finding.set_what("only 2 runs");
  finding.set_remedy("top up");
  return coverage;
}

TEST(CoverageSummaryTest, IsOneLine) {
  EXPECT_EQ(CoverageSummary(Example()),
            "full-paper: incomplete: 2 of 5 jobs, 6 of 15 runs; 1 row in 1 "
            "file, 4 not owed; 3 errors, 1 warning; no run noisy");
}

TEST(CoverageSummaryTest, CountsNoiseAndSaysHowToMeasureAgain) {
  Coverage coverage = Example();
  coverage.set_disturbed_runs(75);
  (*coverage.mutable_disturbances())["noisy"] = 70;
  (*coverage.mutable_disturbances())["contended"] = 60;
  coverage.add_rerun_commands("$ check_coverage --fix=noisy x | micro >> x");
  EXPECT_THAT(CoverageSummary(coverage),
              HasSubstr("; 75 runs disturbed (60 contended, 70 noisy)"));
  EXPECT_THAT(CoverageText(coverage, 1),
              HasSubstr("\nmeasure the noisy runs again: $ check_coverage "
                        "--fix=noisy x | micro >> x\n"));
}

TEST(CoverageSummaryTest, SaysWhenThereAreNoRows) {
  Coverage coverage;
  coverage.set_coverage("x");
  coverage.set_verdict("nothing");
  EXPECT_THAT(CoverageSummary(coverage), HasSubstr("x: no rows: 0 of 0 jobs"));
}

TEST(CoverageTextTest, FindingsStandUnderTheirKind) {
  const std::string text = CoverageText(Example(), 0);
  EXPECT_THAT(text, HasSubstr("error: missing (3): measure it\n"
                              "  job0 run 0,2: no row\n"
                              "  job1 run 0,2: no row\n"
                              "  job2 run 0,2: no row\n"));
  EXPECT_THAT(text, HasSubstr("warning: few_runs (1): top up\n"
                              "  rows.jsonl:7: only 2 runs\n"));
}

TEST(CoverageTextTest, LimitCutsEachKindAndSaysSo) {
  const std::string text = CoverageText(Example(), 2);
  EXPECT_THAT(text, HasSubstr("  and 1 more; --limit=0 shows all\n"));
  EXPECT_THAT(text, Not(HasSubstr("job2")));
  // The next kind still starts at its own first finding.
  EXPECT_THAT(text, HasSubstr("only 2 runs"));
}

TEST(CoverageTextTest, ZeroesOfTheTableAreEmpty) {
  const std::string text = CoverageText(Example(), 1);
  const size_t at = text.find("kornia");
  ASSERT_NE(at, std::string::npos);
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_THAT(line, HasSubstr("5"));
  EXPECT_THAT(line, HasSubstr("3"));
  EXPECT_THAT(line, Not(HasSubstr("0")));
}

}  // namespace
}  // namespace feedrate
