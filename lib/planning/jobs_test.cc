#include "lib/planning/jobs.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/load.h"
#include "lib/config/overrides.h"
#include "lib/planning/resolve.h"
#include "lib/planning/testing.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kTwoTransforms[] =
    "version: 1 selection { scenario: \"image-rgb\" mode: \"pipeline\" "
    "libraries: \"torchvision\" transforms: [\"Resize\", \"Rotate\"] } "
    "execution { batch_size: 256 scope: \"memory_dataloader_augment\" } ";

std::map<std::string, int> CountsOf(const Planned& planned) {
  std::map<std::string, int> counts;
  for (const Job& job : planned.jobs) ++counts[job.library()];
  return counts;
}

std::vector<std::string> IdsOf(const std::vector<Job>& jobs) {
  std::vector<std::string> ids;
  for (const Job& job : jobs) ids.push_back(job.job_id());
  return ids;
}

TEST(PaperJobsTest, CountsAreThePapers) {
  const auto counts = [](const char* name) {
    const Planned planned = PlanFile(PaperConfig(name));
    EXPECT_TRUE(planned.status.ok()) << planned.status;
    return CountsOf(planned);
  };
  EXPECT_THAT(counts("prod_c4_rgb_micro_cpu"),
              ElementsAre(Pair("albumentationsx", 58), Pair("kornia", 52),
                          Pair("pillow", 24), Pair("torchvision", 27)));
  EXPECT_THAT(counts("prod_c4_9ch_micro_cpu"),
              ElementsAre(Pair("albumentationsx", 42), Pair("kornia", 41),
                          Pair("torchvision", 23)));
  EXPECT_THAT(counts("prod_c4_rgb_dataloader_cpu"),
              ElementsAre(Pair("albumentationsx", 58), Pair("kornia", 52),
                          Pair("pillow", 27), Pair("torchvision", 27)));
  EXPECT_THAT(counts("prod_c4_9ch_dataloader_cpu"),
              ElementsAre(Pair("albumentationsx", 42), Pair("kornia", 41),
                          Pair("torchvision", 23)));
  EXPECT_THAT(counts("prod_g2_rgb_micro_gpu"),
              ElementsAre(Pair("kornia", 51), Pair("torchvision", 26)));
  EXPECT_THAT(counts("prod_g2_9ch_micro_gpu"),
              ElementsAre(Pair("kornia", 39), Pair("torchvision", 22)));
}

TEST(PaperJobsTest, EveryCheckedInConfigPlans) {
  for (const std::string& path : CheckedInConfigs()) {
    const Planned planned = PlanFile(path);
    ASSERT_TRUE(planned.status.ok()) << planned.status;
    EXPECT_FALSE(planned.jobs.empty()) << path;
    std::set<std::string> ids;
    for (const Job& job : planned.jobs) {
      EXPECT_TRUE(ids.insert(job.job_id()).second)
          << path << ": " << job.library() << " " << job.transform();
      EXPECT_EQ(job.job_id().size(), 16u);
      EXPECT_EQ(job.run_indexes_size(), planned.config.execution().num_runs());
      EXPECT_FALSE(job.output().empty());
      EXPECT_GE(job.cost_s(), 0);
      EXPECT_FALSE(absl::StrContains(job.dataset(), '/')) << job.dataset();
    }
  }
}

// CPU rows come from CPU machines, GPU rows from GPU machines. What has no GPU
// code runs on the CPU of the GPU machine, and says so.
TEST(PaperJobsTest, HardwareClassFollowsTheDevice) {
  for (const std::string& path : CheckedInConfigs()) {
    const Planned planned = PlanFile(path);
    const bool gpu = planned.config.execution().device() == "cuda";
    for (const Job& job : planned.jobs) {
      if (gpu && job.device() == "cpu") {
        EXPECT_EQ(job.library(), "albumentationsx") << path;
        EXPECT_EQ(job.hardware_class(), "host_cpu") << path;
        EXPECT_THAT(job.labels(), Contains("host_cpu")) << path;
        continue;
      }
      EXPECT_EQ(job.hardware_class(), gpu ? "gpu" : "cpu") << path;
      EXPECT_EQ(job.device(), gpu ? "cuda" : "cpu") << path;
    }
  }
}

TEST(PaperJobsTest, NineChannelsOnTheGpuAreMemoryLimited) {
  const Planned planned = PlanFile(PaperConfig("prod_g2_9ch_micro_gpu"));
  for (const Job& job : planned.jobs) {
    EXPECT_THAT(job.labels(), Contains("memory_limited"));
    EXPECT_EQ(job.num_items(), 1000);
  }
  for (const Job& job : PlanFile(PaperConfig("prod_g2_rgb_micro_gpu")).jobs) {
    EXPECT_THAT(job.labels(), Not(Contains("memory_limited")));
  }
}

TEST(PaperJobsTest, MainTablesAreNotExploratoryAndOthersAre) {
  for (const char* name :
       {"prod_c4_rgb_dataloader_cpu", "prod_c4_9ch_dataloader_cpu",
        "prod_g2_rgb_dataloader_gpu", "prod_g2_9ch_dataloader_gpu",
        "prod_c4_video_dataloader_cpu", "prod_g2_video_dataloader_gpu"}) {
    for (const Job& job : PlanFile(PaperConfig(name)).jobs) {
      EXPECT_THAT(job.labels(), Not(Contains("exploratory"))) << name;
    }
    Overrides overrides;
    overrides.Set("batch_size", "33");
    for (const Job& job : PlanFile(PaperConfig(name), overrides).jobs) {
      EXPECT_THAT(job.labels(), Contains("exploratory")) << name;
    }
  }
}

TEST(PaperJobsTest, VideoOfAlbumentationsXRunsOnTheHostOfAGpuMachine) {
  Overrides overrides;
  overrides.Set("libraries", "albumentationsx");
  const Planned planned =
      PlanFile(PaperConfig("prod_g2_video_micro_gpu"), overrides);
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  EXPECT_THAT(planned.jobs, SizeIs(52));
  for (const Job& job : planned.jobs) {
    EXPECT_EQ(job.device(), "cpu");
    EXPECT_EQ(job.hardware_class(), "host_cpu");
    EXPECT_THAT(job.labels(), ElementsAre("host_cpu"));
  }
}

TEST(ForEachJobTest, UnsupportedJobsHaveAReasonAndCostNothing) {
  const Planned planned = PlanFile(PaperConfig("prod_g2_rgb_micro_gpu"));
  const Job* job = planned.Find("kornia", "Affine");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->unsupported_reason(),
            "Kornia leaves the parameters on the CPU.");
  EXPECT_EQ(job->cost_s(), 0);
  const Job* other = planned.Find("torchvision", "Affine");
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(other->has_unsupported_reason());
  EXPECT_GT(other->cost_s(), 0);
}

TEST(ForEachJobTest, IdsDoNotDependOnTheNumberOfRuns) {
  const std::string path = PaperConfig("prod_c4_9ch_micro_cpu");
  Overrides overrides;
  overrides.Set("num_runs", "5");
  const Planned one = PlanFile(path), five = PlanFile(path, overrides);
  EXPECT_EQ(IdsOf(one.jobs), IdsOf(five.jobs));
  EXPECT_THAT(five.jobs[0].run_indexes(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(ForEachJobTest, IdsDependOnTheWork) {
  std::set<std::string> ids;
  for (const char* more :
       {"", "data { num_items: 7 }", "data { id: \"x\" }",
        "data { sample_ratio: 0.5 }", "sweep { name: \"seed\" values: \"7\" }",
        "sweep { name: \"prefetch\" values: \"7\" }",
        "sweep { name: \"workers\" values: \"7\" }"}) {
    const Planned planned = PlanText(absl::StrCat(kTwoTransforms, more));
    ASSERT_TRUE(planned.status.ok()) << planned.status;
    for (const Job& job : planned.jobs) {
      EXPECT_TRUE(ids.insert(job.job_id()).second) << more;
    }
  }
  // What is measured does not depend on these.
  for (const char* more :
       {"label: \"x\"", "note: \"x\"", "output { path: \"x\" }",
        "cloud { machine_type: \"x\" }", "row_labels: \"cold\""}) {
    EXPECT_EQ(IdsOf(PlanText(absl::StrCat(kTwoTransforms, more)).jobs),
              IdsOf(PlanText(kTwoTransforms).jobs))
        << more;
  }
}

TEST(ForEachJobTest, NoneIsCpuByItsIdToo) {
  const std::string start =
      "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" } ";
  const Planned none =
      PlanText(absl::StrCat(start, "execution { device: \"none\" }"));
  ASSERT_TRUE(none.status.ok()) << none.status;
  EXPECT_EQ(none.jobs[0].device(), "cpu");
  EXPECT_EQ(IdsOf(none.jobs), IdsOf(PlanText(start).jobs));
}

TEST(ForEachJobTest, ContainersAreForLoadersThatReadThem) {
  const Planned planned = PlanText(
      "version: 1 selection { scenario: \"image-rgb\" mode: \"pipeline\" "
      "env_set: \"current\" transforms: \"HorizontalFlip\" "
      "libraries: [\"native\", \"webdataset\", \"spdl\"] } "
      "sweep { name: \"container\" values: [\"files\", \"shards\"] }");
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  std::map<std::string, std::string> reasons;
  for (const Job& job : planned.jobs) {
    reasons[absl::StrCat(job.library(), " ", job.settings().at("container"))] =
        job.unsupported_reason();
  }
  EXPECT_THAT(
      reasons,
      ElementsAre(Pair("native files", ""), Pair("native shards", ""),
                  Pair("spdl files", ""),
                  Pair("spdl shards", "reads only files here"),
                  Pair("webdataset files", "reads only shards, http here"),
                  Pair("webdataset shards", "")));
}

TEST(ForEachJobTest, SweepsMultiply) {
  const Planned planned = PlanText(
      absl::StrCat(kTwoTransforms,
                   "sweep { name: \"workers\" values: [\"0\", \"2\", \"4\"] } "
                   "sweep { name: \"prefetch\" values: [\"1\", \"2\"] }"));
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  EXPECT_THAT(planned.jobs, SizeIs(2 * 3 * 2));
  std::vector<std::string> order;
  for (const Job& job : planned.jobs) {
    order.push_back(absl::StrCat(job.workers(), "/",
                                 job.settings().at("prefetch"), "/",
                                 job.transform()));
  }
  EXPECT_EQ(order[0], "0/1/Resize");
  EXPECT_EQ(order[1], "0/1/Rotate");
  EXPECT_EQ(order[2], "0/2/Resize");
  EXPECT_EQ(order[11], "4/2/Rotate");
  const std::vector<std::string> ids = IdsOf(planned.jobs);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 12u);
}

TEST(ForEachJobTest, SweptDevicesHaveTheirOwnCells) {
  const Planned planned = PlanText(
      "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" "
      "libraries: \"kornia\" transforms: [\"Shear\", \"Rotate\"] } "
      "sweep { name: \"device\" values: [\"cuda\", \"none\"] }");
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  std::vector<std::string> seen;
  for (const Job& job : planned.jobs) {
    seen.push_back(absl::StrCat(job.device(), " ", job.hardware_class(), " ",
                                job.transform()));
  }
  EXPECT_THAT(
      seen, ElementsAre("cuda gpu Rotate", "cpu cpu Shear", "cpu cpu Rotate"));
}

// On `cuda` AlbumentationsX would run on the CPU: the job the sweep has.
TEST(ForEachJobTest, TheHostIsNotSweptTwice) {
  const Planned planned = PlanText(
      "version: 1 selection { scenario: \"video-16f\" mode: \"micro\" "
      "libraries: [\"albumentationsx\", \"torchvision\"] "
      "transforms: \"Resize\" } "
      "sweep { name: \"device\" values: [\"cpu\", \"cuda\"] }");
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  EXPECT_THAT(planned.jobs, SizeIs(3));
  EXPECT_EQ(planned.Count("albumentationsx"), 1);
  EXPECT_TRUE(planned.IsExcluded("albumentationsx", "Resize"));
}

// The mistake is at the last point; nothing may be written before.
TEST(ForEachJobTest, MistakesComeBeforeTheFirstJob) {
  // Nothing of clips is matched.
  for (const char* text :
       {"scenario: \"image-rgb\" libraries: \"pillow\" mode: \"micro\" } "
        "sweep { name: \"device\" values: [\"cpu\", \"cuda\"]",
        "scenario: \"video-16f\" libraries: \"kornia\" mode: \"micro\" } "
        "sweep { name: \"params_profile\" values: [\"paper\", \"matched\"]"}) {
    const Planned planned = PlanText(absl::StrCat(
        "version: 1 sweep { name: \"seed\" values: [\"1\", \"2\"] } "
        "selection { ",
        text, " }"));
    EXPECT_EQ(planned.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(planned.jobs, IsEmpty());
  }
}

TEST(ForEachJobTest, WhatIsDoneIsNotPlannedAgain) {
  Overrides overrides;
  overrides.Set("num_runs", "3");
  LoadedConfig loaded = LoadText(kTwoTransforms);
  ASSERT_TRUE(ApplyOverrides(overrides, &loaded).ok());
  const Planned all = PlanLoaded(loaded);
  ASSERT_THAT(all.jobs, SizeIs(2));
  ExistingRuns existing("");
  Row row;
  row.set_status("ok");
  row.set_throughput(1);
  row.set_job_id(all.jobs[0].job_id());
  row.set_run_index(1);
  existing.Add(row);
  for (int run = 0; run < 3; ++run) {
    row.set_job_id(all.jobs[1].job_id());
    row.set_run_index(run);
    existing.Add(row);
  }
  const Planned rest = PlanLoaded(loaded, &existing);
  ASSERT_THAT(rest.jobs, SizeIs(1));
  EXPECT_EQ(rest.jobs[0].job_id(), all.jobs[0].job_id());
  EXPECT_THAT(rest.jobs[0].run_indexes(), ElementsAre(0, 2));
  EXPECT_LT(rest.jobs[0].cost_s(), all.jobs[0].cost_s());
  EXPECT_THAT(IdsOf(rest.done), ElementsAre(all.jobs[1].job_id()));
}

TEST(ForEachJobTest, AnErrorOfTheCallbackEndsThePlanning) {
  const LoadedConfig loaded = LoadText(kTwoTransforms);
  const auto config = ResolveText(kTwoTransforms);
  ASSERT_TRUE(config.ok());
  int jobs = 0;
  PlanOutput output;
  output.job = [&](const Job&) {
    ++jobs;
    return absl::UnavailableError("disk full");
  };
  EXPECT_EQ(ForEachJob({*config, loaded.places, CheckedInCatalogue(),
                        CheckedInCost(), nullptr},
                       output)
                .message(),
            "disk full");
  EXPECT_EQ(jobs, 1);
}

TEST(CheckJobsTest, SaysWhatPlanningWould) {
  const auto check = [](const std::string& library) {
    const LoadedConfig loaded = LoadText(absl::StrCat(
        "version: 1 selection { scenario: \"image-9ch\" mode: \"micro\" "
        "libraries: \"",
        library, "\" }"));
    const auto config = Resolve(loaded, CheckedInCatalogue());
    return CheckJobs({*config, loaded.places, CheckedInCatalogue(),
                      CheckedInCost(), nullptr});
  };
  EXPECT_TRUE(check("kornia").ok());
  EXPECT_THAT(std::string(check("pillow").message()),
              HasSubstr("at most four channels"));
}

// What a describer would find, without Python.
SubjectDescriber Describes(const SubjectDescription& description) {
  return [description](const Selection&, const std::string&)
             -> absl::StatusOr<SubjectDescription> { return description; };
}

Planned PlanSubject(const std::string& text,
                    const SubjectDescription& description) {
  const LoadedConfig loaded = LoadText(text);
  Planned planned;
  const auto config =
      Resolve(loaded, CheckedInCatalogue(), Describes(description));
  planned.status = config.status();
  if (!config.ok()) return planned;
  // A resolved config says everything: nobody needs to be asked again.
  LoadedConfig again = loaded;
  again.config = *config;
  const Planned second = PlanLoaded(again);
  EXPECT_EQ(second.config.DebugString(), config->DebugString());
  return second;
}

TEST(SubjectTest, ItsTransformsAreJobsBesideThoseOfLibraries) {
  const Planned planned = PlanSubject(
      "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" "
      "libraries: \"pillow\" subjects { name: \"aug:mine\" } }",
      {{"HorizontalFlip", "mine"}, false});
  ASSERT_TRUE(planned.status.ok()) << planned.status;
  EXPECT_THAT(planned.jobs, SizeIs(3));
  EXPECT_NE(planned.Find("pillow", "HorizontalFlip"), nullptr);
  const Job* const job = planned.Find("aug:mine", "mine");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->env_group(), "");
  EXPECT_EQ(job->params_sha256(), "");
  EXPECT_THAT(job->labels(), ElementsAre("optional"));
  EXPECT_TRUE(planned.IsExcluded("pillow", "mine"));
}

TEST(SubjectTest, ALoaderHasOneTransformUnlessItTakesThem) {
  const std::string text =
      "version: 1 selection { scenario: \"image-rgb\" mode: \"pipeline\" "
      "libraries: [ \"native\", \"data:make\" ] "
      "transforms: [ \"Blur\", \"Rotate\" ] }";
  const Planned one = PlanSubject(text, {});
  ASSERT_TRUE(one.status.ok()) << one.status;
  EXPECT_NE(one.Find("data:make", "Blur"), nullptr);
  EXPECT_TRUE(one.IsExcluded("data:make", "Rotate"));
  EXPECT_EQ(one.Count("native"), 2);
  const Planned both = PlanSubject(text, {{}, true});
  EXPECT_EQ(both.Count("data:make"), 2);
}

TEST(SubjectTest, Errors) {
  const auto error = [](const std::string& selection) {
    const LoadedConfig loaded = LoadText(absl::StrCat(
        "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" ",
        selection, " }"));
    return std::string(
        Resolve(loaded, CheckedInCatalogue(),
                [](const Selection&,
                   const std::string&) -> absl::StatusOr<SubjectDescription> {
                  return absl::InvalidArgumentError("no module aug; add it");
                })
            .status()
            .message());
  };
  EXPECT_THAT(error("subjects { name: \"aug\" }"),
              HasSubstr("\"aug\" is not a subject; write MODULE:NAME"));
  EXPECT_THAT(error("subjects { name: \"aug:a;b\" }"),
              HasSubstr("is not a subject"));
  EXPECT_THAT(error("subjects { name: \"aug:a\" }"),
              HasSubstr("no module aug; add it"));
  EXPECT_THAT(error("libraries: \"subject\""), HasSubstr("is unknown"));
  EXPECT_THAT(error("reference: \"pillow\""),
              HasSubstr("is for subjects; name one with --subject"));
  EXPECT_THAT(error("subjects { name: \"a:b\" transforms: \"x\" } "
                    "reference: \"pilow\""),
              HasSubstr("did you mean \"pillow\""));
  EXPECT_THAT(
      std::string(ResolveText("version: 1 selection { scenario: \"image-rgb\" "
                              "mode: \"micro\" libraries: \"a:b\" }")
                      .status()
                      .message()),
      HasSubstr("its transforms are not known here; list them"));
}

}  // namespace
}  // namespace feedrate
