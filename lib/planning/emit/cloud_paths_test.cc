#include "lib/planning/emit/cloud_paths.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

CloudRun SomeRun() {
  CloudRun run;
  run.bucket = "gs://bucket";
  run.campaign_id = "feedrate-0123456789ab";
  run.task = "w01-cpu-00001";
  run.machine_type = "c4-standard-16";
  run.archive = "imagenet/val.tar";
  run.bundle_sha256 = std::string(64, 'b');
  run.env_key = std::string(64, 'e');
  run.image_family = "ubuntu-2404-lts-amd64";
  return run;
}

TEST(CloudPathsTest, FollowThePublicPattern) {
  const CloudPaths paths = PathsOfRun(SomeRun());
  ASSERT_EQ(paths.run_id.size(), 32u);
  EXPECT_EQ(paths.run_id.find_first_not_of("0123456789abcdef"),
            std::string::npos);
  EXPECT_EQ(paths.folder,
            "gs://bucket/augmentation-results/" + paths.run_id + "/");
  EXPECT_EQ(paths.instance,
            "benchmark-c4-standard-16-" + paths.run_id.substr(0, 12));
  EXPECT_EQ(paths.rows, paths.folder + "results/w01-cpu-00001.jsonl");
  EXPECT_EQ(paths.exit_code, paths.folder + "exit_code.txt");
  EXPECT_EQ(paths.done, paths.folder + "DONE");
  EXPECT_EQ(paths.archive, "gs://bucket/imagenet/val.tar");
  EXPECT_EQ(paths.env_cache,
            "gs://bucket/augmentation-cache/"
            "venvs-ubuntu-2404-lts-amd64-eeeeeeeeeeeeeeee.tar.gz");
}

TEST(CloudPathsTest, SameRunHasTheSameNames) {
  EXPECT_EQ(PathsOfRun(SomeRun()).folder, PathsOfRun(SomeRun()).folder);
  CloudRun other = SomeRun();
  other.task = "w01-cpu-00002";
  EXPECT_NE(PathsOfRun(SomeRun()).folder, PathsOfRun(other).folder);
  EXPECT_NE(PathsOfRun(SomeRun()).instance, PathsOfRun(other).instance);
}

TEST(CloudPathsTest, InstanceNamesAreShortEnough) {
  CloudRun run = SomeRun();
  run.machine_type = std::string(80, 'm');
  EXPECT_LE(PathsOfRun(run).instance.size(), 63u);
}

}  // namespace
}  // namespace feedrate
