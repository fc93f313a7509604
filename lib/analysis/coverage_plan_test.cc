#include "lib/analysis/coverage_plan.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Catalogue& TheCatalogue() {
  static const auto& catalogue = *new Catalogue(*Catalogue::Load("configs"));
  return catalogue;
}

CoveragePlanOptions Options(const std::string& profile) {
  CoveragePlanOptions options;
  const auto path = FindProfile(profile, "configs");
  EXPECT_TRUE(path.ok()) << path.status();
  options.profile = *path;
  return options;
}

std::vector<Job> JobsOf(const CoveragePlanOptions& options) {
  const auto jobs = LoadCoveragePlan(options, TheCatalogue());
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  std::vector<Job> all;
  for (int i = 0; i < jobs->size(); ++i) all.push_back(jobs->Get(i));
  return all;
}

std::string ErrorOf(const CoveragePlanOptions& options) {
  return std::string(
      LoadCoveragePlan(options, TheCatalogue()).status().message());
}

std::string Write(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  return path;
}

TEST(CoveragePlanTest, RamReducedHasNeitherVideoNorDecoding) {
  std::set<std::string> scenarios;
  std::set<std::string> scopes;
  for (const Job& job : JobsOf(Options("ram-reduced"))) {
    scenarios.insert(job.scenario());
    scopes.insert(job.scope());
  }
  EXPECT_THAT(scenarios, ElementsAre("image-9ch", "image-rgb"));
  EXPECT_THAT(scopes,
              ElementsAre("augmentation_only", "memory_dataloader_augment"));
}

TEST(CoveragePlanTest, FullPaperHasBothScopesOnTheCpu) {
  // Scenario to scopes, of loaders.
  std::map<std::string, std::set<std::string>> cpu;
  std::map<std::string, std::set<std::string>> cuda;
  std::set<std::string> libraries;
  for (const Job& job : JobsOf(Options("full-paper"))) {
    libraries.insert(job.library());
    if (job.mode() != "pipeline") continue;
    (job.device() == "cpu" ? cpu : cuda)[job.scenario()].insert(job.scope());
  }
  for (const char* scenario : {"image-rgb", "image-9ch", "video-16f"}) {
    EXPECT_THAT(cpu[scenario], ElementsAre("decode_dataloader_augment",
                                           "memory_dataloader_augment"));
    EXPECT_THAT(cuda[scenario], ElementsAre("memory_dataloader_augment"));
  }
  EXPECT_THAT(libraries, ElementsAre("albumentationsx", "kornia", "pillow",
                                     "torchvision"));
}

TEST(CoveragePlanTest, DaliIsOwedOnlyWhenAskedForAndOnlyDecoding) {
  CoveragePlanOptions options = Options("full-paper");
  options.require_optional_libraries = true;
  std::set<std::string> scopes;
  int running = 0;
  for (const Job& job : JobsOf(options)) {
    if (job.library() != "dali") continue;
    scopes.insert(job.scenario() + " " + job.scope());
    running += !job.has_unsupported_reason();
  }
  EXPECT_THAT(scopes, ElementsAre("video-16f decode_dataloader_augment"));
  // The matrix: seven are mapped, of which five build.
  EXPECT_EQ(running, 5);

  std::vector<std::string> warnings;
  options = Options("ram-reduced");
  options.require_optional_libraries = true;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  JobsOf(options);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("nothing of optional")));
}

TEST(CoveragePlanTest, RunsCanBeAskedFor) {
  CoveragePlanOptions options = Options("ram-reduced");
  EXPECT_THAT(JobsOf(options)[0].run_indexes(), ElementsAre(0));
  options.num_runs = 3;
  EXPECT_THAT(JobsOf(options)[0].run_indexes(), ElementsAre(0, 1, 2));
}

TEST(CoveragePlanTest, NamesAreSpelledWithHyphensOrUnderscores) {
  EXPECT_EQ(*FindProfile("full-paper", "configs"),
            "configs/coverage/full_paper.textproto");
  EXPECT_EQ(*FindProfile("full_paper", "configs"),
            "configs/coverage/full_paper.textproto");
  EXPECT_EQ(*FindProfile("mine.textproto", "configs"), "mine.textproto");
  EXPECT_THAT(FindProfile("full-papre", "configs").status().message(),
              HasSubstr("did you mean \"full-paper\"?"));
}

TEST(CoveragePlanTest, MistakesNameThePlace) {
  CoveragePlanOptions options;
  options.profile = Write("a.textproto", "description: \"x\"\nentries {}\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("a.textproto:2:1: entries[0]: has"));
  options.profile = Write("b.textproto", "entrys {}\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("did you mean \"entries\""));
  options.profile = Write("c.textproto", "description: \"x\"\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("there are none"));
  options.profile =
      Write("d.textproto",
            "description: \"x\"\nentries { config: \"no_such.textproto\" }\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("no_such.textproto"));
}

std::string PlanOf(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) AppendRecord(job, &text);
  return text;
}

TEST(CoveragePlanTest, APlanIsReadBack) {
  std::vector<Job> jobs = JobsOf(Options("ram-reduced"));
  jobs.resize(5);
  CoveragePlanOptions options;
  options.plan = Write("jobs.jsonl", PlanOf(jobs));
  const std::vector<Job> back = JobsOf(options);
  ASSERT_EQ(back.size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(back[i].ShortDebugString(), jobs[i].ShortDebugString());
  }
}

// A job that cannot be read would not be missed.
TEST(CoveragePlanTest, ABrokenPlanIsAnError) {
  std::vector<Job> jobs = JobsOf(Options("ram-reduced"));
  jobs.resize(2);
  const std::string text = PlanOf(jobs);
  CoveragePlanOptions options;
  options.plan = Write("torn.jsonl", text.substr(0, text.size() - 9));
  EXPECT_THAT(ErrorOf(options), HasSubstr("torn.jsonl:2: skipped the torn"));
  jobs[0].set_batch_size(7);
  options.plan = Write("forged.jsonl", PlanOf(jobs));
  EXPECT_THAT(ErrorOf(options), HasSubstr("forged.jsonl:1: job_id"));
  options.plan = Write("empty.jsonl", "");
  EXPECT_THAT(ErrorOf(options), HasSubstr("no job in this plan"));
}

}  // namespace
}  // namespace feedrate
