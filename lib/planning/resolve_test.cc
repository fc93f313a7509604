#include "lib/planning/resolve.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/overrides.h"
#include "lib/config/text_proto.h"
#include "lib/planning/testing.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kMicro[] =
    "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" }\n";
constexpr char kLoader[] =
    "version: 1 selection { scenario: \"image-rgb\" mode: \"pipeline\" }\n";

std::string ErrorOf(const std::string& text) {
  const auto config = ResolveText(text);
  EXPECT_FALSE(config.ok()) << text;
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

// The error of `kMicro` or `kLoader` and one more line.
std::string MicroError(const std::string& more) {
  return ErrorOf(absl::StrCat(kMicro, more));
}
std::string LoaderError(const std::string& more) {
  return ErrorOf(absl::StrCat(kLoader, more));
}

TEST(ResolveTest, FillsInTheDefaultsOfMicro) {
  const auto config = ResolveText(kMicro);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->selection().transform_set(), "paper");
  EXPECT_EQ(config->selection().params_profile(), "paper");
  EXPECT_EQ(config->selection().env_set(), "paper");
  EXPECT_THAT(config->selection().transforms(), SizeIs(58));
  EXPECT_THAT(
      config->selection().libraries(),
      ElementsAre("albumentationsx", "torchvision", "kornia", "pillow"));
  EXPECT_EQ(config->data().dataset(), "synthetic:rgb");
  EXPECT_EQ(config->data().id(), "synthetic:rgb");
  EXPECT_EQ(config->data().num_items(), 1000);
  EXPECT_EQ(config->data().sample_ratio(), 1);
  EXPECT_EQ(config->execution().num_runs(), 5);
  EXPECT_FALSE(config->execution().has_batch_size());
  EXPECT_EQ(config->execution().workers(), 0);
  EXPECT_EQ(config->execution().min_time(), 0);
  EXPECT_EQ(config->execution().min_batches(), 1);
  EXPECT_EQ(config->execution().scope(), "augmentation_only");
  EXPECT_EQ(config->execution().device(), "cpu");
  EXPECT_EQ(config->execution().thread_policy(), "micro-single");
  EXPECT_EQ(config->execution().slow_threshold_s(), 0.05);
  EXPECT_EQ(config->execution().preflight_items(), 10);
  EXPECT_FALSE(config->execution().disable_slow_skip());
  EXPECT_EQ(config->output().path(), "-");
  EXPECT_FALSE(config->has_cloud());
}

TEST(ResolveTest, FillsInTheDefaultsOfLoaders) {
  const auto config = ResolveText(kLoader);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->data().has_num_items()) << "all of them";
  EXPECT_EQ(config->execution().batch_size(), 32);
  EXPECT_EQ(config->execution().scope(), "decode_dataloader_augment");
  EXPECT_EQ(config->execution().thread_policy(), "pipeline-default");
}

TEST(ResolveTest, DefaultLibrariesAreThoseOfTheDevice) {
  const auto config =
      ResolveText(absl::StrCat(kMicro, "execution { device: \"cuda\" }"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->selection().libraries(),
              ElementsAre("torchvision", "kornia"));
}

TEST(ResolveTest, FillsInTheDefaultsOfTheCloud) {
  const auto config =
      ResolveText(absl::StrCat(kMicro, "cloud { machine_type: \"x\" }"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->cloud().zone(), "us-central1-a");
  EXPECT_EQ(config->cloud().disk_size_gb(), 100);
  EXPECT_FALSE(config->cloud().has_timeout_hours());
}

TEST(ResolveTest, NoneIsCpu) {
  const auto config =
      ResolveText(absl::StrCat(kMicro, "execution { device: \"none\" }"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->execution().device(), "cpu");
}

TEST(ResolveTest, EveryCheckedInConfigResolvesToItself) {
  EXPECT_GE(CheckedInConfigs().size(), 25u);
  for (const std::string& path : CheckedInConfigs()) {
    auto loaded = LoadConfig(path, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto once = Resolve(*loaded, CheckedInCatalogue());
    ASSERT_TRUE(once.ok()) << once.status();
    // Through its text, as people would feed it back.
    const std::string text = PrintTextProto(*once);
    const auto twice = ResolveText(text);
    ASSERT_TRUE(twice.ok()) << path << ": " << twice.status();
    EXPECT_EQ(PrintTextProto(*twice), text) << path;
  }
}

TEST(ResolveTest, VersionErrors) {
  EXPECT_EQ(ErrorOf(""), "f: version: is missing; write 1");
  EXPECT_EQ(ErrorOf("label: \"x\"\nversion: 2"),
            "f:2:1: version: 2 is unknown; this program reads 1");
}

TEST(ResolveTest, ScenarioAndModeErrors) {
  EXPECT_EQ(ErrorOf("version: 1"),
            "f: selection.scenario: is missing; use one of image-rgb, "
            "image-9ch, video-16f, video-decode-16f, episodes, train");
  EXPECT_EQ(ErrorOf("version: 1 selection {\n  scenario: \"image-rbg\" }"),
            "f:2:3: selection.scenario: \"image-rbg\" is unknown; did you mean "
            "\"image-rgb\"?");
  EXPECT_EQ(ErrorOf("version: 1\nselection { scenario: \"image-rgb\" }"),
            "f:2:1: selection.mode: is missing; use one of micro, pipeline");
  EXPECT_EQ(ErrorOf("version: 1 selection { scenario: \"image-rgb\"\n"
                    "mode: \"decode\" }"),
            "f:2:1: selection.mode: \"decode\" is unknown; use one of micro, "
            "pipeline");
}

TEST(ResolveTest, SelectionErrors) {
  const std::string start =
      "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\"\n";
  const auto error = [&](const std::string& more) {
    return ErrorOf(absl::StrCat(start, more, " }"));
  };
  EXPECT_EQ(error("libraries: [\"opencv\", \"openvc\"]"),
            "f:2:23: selection.libraries[1]: \"openvc\" is unknown; did you "
            "mean \"opencv\"?");
  EXPECT_EQ(error("libraries: \"kornia\" libraries: \"kornia\""),
            "f:2:21: selection.libraries[1]: \"kornia\" is listed twice");
  EXPECT_EQ(error("transforms: \"Rezise\""),
            "f:2:1: selection.transforms[0]: \"Rezise\" is not in the set of "
            "image-rgb; did you mean \"Resize\"?");
  EXPECT_THAT(error("transforms: \"Normalize\""),
              HasSubstr("f:2:1: selection.transforms[0]: \"Normalize\" is not "
                        "in the set of image-rgb: Every loader recipe"));
  EXPECT_THAT(error("transforms: \"Colorize\""),
              HasSubstr("\"Colorize\" is not in the set of image-rgb: Works "
                        "on gray images"));
  EXPECT_THAT(error("transforms: [\"Resize\", \"Resize\"]"),
              HasSubstr("selection.transforms[1]: \"Resize\" is listed twice"));
  EXPECT_EQ(error("transform_set: \"all\""),
            "f:2:1: selection.transform_set: \"all\" is unknown; use one of "
            "paper, training");
  EXPECT_EQ(error("params_profile: \"papr\""),
            "f:2:1: selection.params_profile: \"papr\" is unknown; did you "
            "mean \"paper\"?");
  EXPECT_EQ(error("env_set: \"newest\""),
            "f:2:1: selection.env_set: \"newest\" is unknown; use one of "
            "paper, current");
}

TEST(ResolveTest, CandidatesOfOneLibraryAreNoMembers) {
  EXPECT_THAT(
      ErrorOf("version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" "
              "transforms: \"ToSepia\" }"),
      HasSubstr("is not in the set of image-rgb: fewer than two"));
}

TEST(ResolveTest, DecodeHasNoTransforms) {
  EXPECT_EQ(ErrorOf("version: 1 selection { scenario: \"video-decode-16f\"\n"
                    "mode: \"decode\"\n transforms: \"Resize\" }"),
            "f:3:2: selection.transforms: scenario video-decode-16f has no "
            "transforms; leave them out");
}

TEST(ResolveTest, ExecutionErrors) {
  EXPECT_EQ(MicroError("execution { workers: 2 }"),
            "f:2:13: execution.workers: 2 is not possible: mode micro has no "
            "loader; use 0");
  EXPECT_EQ(MicroError("execution { batch_size: 1 }"),
            "f:2:13: execution.batch_size: 1 is not possible: mode micro takes "
            "items one by one; leave it out");
  EXPECT_EQ(LoaderError("execution { batch_size: 0 }"),
            "f:2:13: execution.batch_size: 0 is not possible; use at least 1");
  EXPECT_EQ(LoaderError("execution { workers: -1 }"),
            "f:2:13: execution.workers: -1 is not possible; use at least 0");
  EXPECT_EQ(MicroError("execution { num_runs: 0 }"),
            "f:2:13: execution.num_runs: 0 is not possible; use at least 1");
  EXPECT_EQ(MicroError("execution { num_runs: 2147483647 }"),
            "f:2:13: execution.num_runs: 2147483647 is not possible; use at "
            "most 10000");
  EXPECT_EQ(MicroError("execution { min_time: -1 }"),
            "f:2:13: execution.min_time: -1 is not possible; use at least 0");
  EXPECT_EQ(MicroError("execution { min_time: 1e300 }"),
            "f:2:13: execution.min_time: 1e+300 is not possible; use at most "
            "86400");
  EXPECT_EQ(MicroError("execution { min_time: nan }"),
            "f:2:13: execution.min_time: nan is not possible; use at least 0");
  EXPECT_EQ(MicroError("execution { min_batches: 0 }"),
            "f:2:13: execution.min_batches: 0 is not possible; use at least 1");
  EXPECT_EQ(MicroError("execution { slow_threshold_s: 0 }"),
            "f:2:13: execution.slow_threshold_s: 0 is not possible; use a "
            "number above 0");
  EXPECT_EQ(MicroError("execution { preflight_items: 0 }"),
            "f:2:13: execution.preflight_items: 0 is not possible; use at "
            "least 1");
  EXPECT_EQ(MicroError("execution { device: \"gpu\" }"),
            "f:2:13: execution.device: \"gpu\" is unknown; did you mean "
            "\"cpu\"?");
  EXPECT_EQ(MicroError("execution { scope: \"decode_only\" }"),
            "f:2:13: execution.scope: \"decode_only\" is unknown; use one of "
            "augmentation_only");
  EXPECT_EQ(MicroError("execution { thread_policy: \"default\" }"),
            "f:2:13: execution.thread_policy: \"default\" is unknown; use one "
            "of micro-single");
}

TEST(ResolveTest, DataErrors) {
  EXPECT_EQ(MicroError("data { num_items: 0 }"),
            "f:2:8: data.num_items: 0 is not possible; use at least 1");
  EXPECT_EQ(MicroError("data { num_items: -9223372036854775808 }"),
            "f:2:8: data.num_items: -9223372036854775808 is not possible; use "
            "at least 1");
  for (const char* ratio : {"0", "2", "-1", "nan", "inf"}) {
    EXPECT_EQ(MicroError(absl::StrCat("data { sample_ratio: ", ratio, " }")),
              absl::StrCat("f:2:8: data.sample_ratio: ", ratio,
                           " is not possible; use a share above 0 and at most "
                           "1"));
  }
  for (const char* id : {"a/b", ".", ".."}) {
    EXPECT_EQ(MicroError(absl::StrCat("data { id: \"", id, "\" }")),
              absl::StrCat("f:2:8: data.id: \"", id,
                           "\" is not possible; use a short name that is not "
                           "a path"));
  }
  EXPECT_EQ(MicroError("data { archive_bytes: 0 }"),
            "f:2:8: data.archive_bytes: 0 is not possible; use at least 1");
  EXPECT_EQ(MicroError("data { dataset: \"/\" }"),
            "f:2:8: data.dataset: \"\" has no name to put into job ids; set "
            "data.id");
}

TEST(ResolveTest, OtherErrors) {
  EXPECT_EQ(MicroError("output { path: \"\" }"),
            "f:2:10: output.path: is empty; name a file or folder, or -");
  EXPECT_EQ(MicroError("row_labels: [\"cold\", \"colt\"]"),
            "f:2:22: row_labels[1]: \"colt\" is unknown; did you mean "
            "\"cold\"?");
}

TEST(ResolveTest, CloudErrors) {
  EXPECT_EQ(MicroError("cloud { }"),
            "f:2:1: cloud.machine_type: is missing; name one of the quota "
            "file, such as n1-standard-8");
  const auto error = [](const std::string& more) {
    return MicroError(
        absl::StrCat("cloud { machine_type: \"c4\"\n", more, " }"));
  };
  for (const char* zone : {"", "x", "us-central1", "us-central1-", "-a-b"}) {
    EXPECT_EQ(error(absl::StrCat("zone: \"", zone, "\"")),
              absl::StrCat("f:3:1: cloud.zone: \"", zone,
                           "\" is not a zone; write it as us-central1-a"));
  }
  EXPECT_EQ(error("disk_size_gb: 19"),
            "f:3:1: cloud.disk_size_gb: 19 is not possible; use at least 20");
  EXPECT_EQ(error("timeout_hours: 0"),
            "f:3:1: cloud.timeout_hours: 0 is not possible; use a number above "
            "0");
}

TEST(ResolveTest, SweepErrors) {
  EXPECT_EQ(LoaderError("sweep { name: \"worker\" values: \"1\" }"),
            "f:2:9: sweep[0].name: \"worker\" is unknown; did you mean "
            "\"workers\"?");
  EXPECT_THAT(LoaderError("sweep { values: \"1\" }"),
              HasSubstr("f:2:1: sweep[0].name: is missing; use one of"));
  EXPECT_EQ(LoaderError("sweep { name: \"workers\" }"),
            "f:2:1: sweep[0].values: is empty; give at least one value");
  EXPECT_EQ(LoaderError("sweep { name: \"workers\" values: [\"1\", \"x\"] }"),
            "f:2:39: sweep[0].values[1]: workers: \"x\" is not a whole number");
  EXPECT_EQ(LoaderError("sweep { name: \"workers\" values: [\"1\", \"-1\"] }"),
            "f:2:39: execution.workers: -1 is not possible; use at least 0");
  EXPECT_EQ(LoaderError("sweep { name: \"device\" values: \"gpu\" }"),
            "f:2:24: execution.device: \"gpu\" is unknown; did you mean "
            "\"cpu\"?");
  EXPECT_EQ(LoaderError("sweep { name: \"prefetch\" values: [\"1\", \"\"] }"),
            "f:2:40: sweep[0].values[1]: is empty; write a value");
  EXPECT_EQ(LoaderError("sweep { name: \"seed\" values: \"1\" }\n"
                        "sweep { name: \"seed\" values: \"2\" }"),
            "f:3:9: sweep[1].name: \"seed\" is swept twice");
  EXPECT_EQ(MicroError("sweep { name: \"workers\" values: [\"0\", \"2\"] }"),
            "f:2:39: execution.workers: 2 is not possible: mode micro has no "
            "loader; use 0");
  EXPECT_THAT(MicroError("sweep { name: \"prefetch\" values: \"1\" }"),
              HasSubstr("\"prefetch\" is unknown"));
}

// Different spellings of one value would make jobs with the same id.
TEST(ResolveTest, SweptValuesAreDistinctByMeaning) {
  EXPECT_EQ(LoaderError("sweep { name: \"workers\" values: [\"1\", \"01\"] }"),
            "f:2:39: sweep[0].values[1]: \"01\" is listed twice");
  EXPECT_EQ(
      LoaderError("sweep { name: \"device\" values: [\"cpu\",\"none\"] }"),
      "f:2:39: sweep[0].values[1]: \"none\" is listed twice");
}

// Places were copied for each value, which took minutes.
TEST(ResolveTest, LongSweepsAreQuick) {
  std::string text = absl::StrCat(kMicro, "sweep { name: \"seed\"\n");
  for (int i = 0; i < 20000; ++i)
    absl::StrAppend(&text, "values: \"", i, "\"\n");
  EXPECT_TRUE(ResolveText(absl::StrCat(text, "}")).ok());
}

TEST(ResolveTest, ErrorsOfFlagsNameTheFlag) {
  const auto error = [](const char* start, const Overrides& overrides) {
    LoadedConfig loaded = LoadText(start);
    EXPECT_TRUE(ApplyOverrides(overrides, &loaded).ok());
    return std::string(
        Resolve(loaded, CheckedInCatalogue()).status().message());
  };
  Overrides overrides;
  overrides.Set("batch_size", "0");
  EXPECT_EQ(error(kLoader, overrides),
            "--batch_size: 0 is not possible; use at least 1");
  overrides = {};
  overrides.Set("libraries", "kornai");
  EXPECT_EQ(error(kMicro, overrides),
            "--libraries: \"kornai\" is unknown; did you mean \"kornia\"?");
  overrides.Set("libraries", "");
  EXPECT_EQ(error(kMicro, overrides),
            "--libraries: names none; leave it out for all");
  overrides = {};
  overrides.Set("transforms", "");
  EXPECT_EQ(error(kMicro, overrides),
            "--transforms: names none; leave it out for all");
  overrides = {};
  overrides.Set("sweep", "workers=0,-1");
  EXPECT_EQ(error(kLoader, overrides),
            "--sweep: workers: -1 is not possible; use at least 0");
}

}  // namespace
}  // namespace feedrate
