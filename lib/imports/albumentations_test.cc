#include "lib/imports/albumentations.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/row.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr char kFile[] = R"({
  "metadata": {
    "system_info": {"processor": "Intel Xeon 8481C", "cpu_count": "16",
                    "timestamp": "2026-01-02T03:04:05+00:00"},
    "library_versions": {"Kornia": "0.8.2", "numpy": "2.4.4"},
    "dataset": {"available": true, "path": "/data/imagenet-val/",
                "file_count": 2000, "total_bytes": 123456},
    "scenario": "image-rgb", "mode": "pipeline", "library": "kornia",
    "decoder": null,
    "benchmark_params": {"num_images": 2000, "num_runs": 5, "batch_size": 256,
                         "workers": 8,
                         "pipeline_scope": "memory_dataloader_augment",
                         "device": "none", "thread_policy": "pipeline-default"}
  },
  "results": {
    "Blur": {"status": "ok", "supported": true,
             "throughputs": [812.5, 790.25, 845.0, 801.75, 799.5],
             "median_throughput": 801.75},
    "Snow": {"status": "ok", "supported": true, "throughputs": [],
             "median_throughput": 4.5, "early_stopped": true,
             "early_stop_reason": "0.22 s per image",
             "slow_threshold_sec_per_item": 0.1},
    "Text": {"status": "unsupported", "supported": false,
             "reason": "no such op",
             "throughputs": [], "median_throughput": 0},
    "Fog": {"status": "error", "error": "bang", "throughputs": []},
    "Flip": {"status": "ok", "supported": true, "median_throughput": 12.5},
    "Odd": {"status": "ok", "supported": true, "throughputs": []}
  }
})";

std::vector<Row> Import(const std::string& content,
                        const std::string& name = "f.json") {
  std::vector<Row> rows;
  const absl::Status status =
      ImportAlbumentations(name, content, [&](const Row& row) {
        rows.push_back(row);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

TEST(ImportAlbumentationsTest, RowsHoldTheMediansOfTheFile) {
  const std::vector<Row> rows = Import(kFile);
  ASSERT_EQ(rows.size(), 10u);
  std::vector<double> throughputs;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rows[i].transform(), "Blur");
    EXPECT_EQ(rows[i].run_index(), i);
    EXPECT_EQ(rows[i].status(), "ok");
    throughputs.push_back(rows[i].throughput());
  }
  EXPECT_EQ(Median(throughputs), 801.75);
  EXPECT_EQ(rows[8].throughput(), 12.5);
}

TEST(ImportAlbumentationsTest, WhatTheFileKnowsIsInTheRow) {
  const Row row = Import(kFile)[0];
  EXPECT_EQ(row.scenario(), "image-rgb");
  EXPECT_EQ(row.mode(), "pipeline");
  EXPECT_EQ(row.scope(), "memory_dataloader_augment");
  EXPECT_EQ(row.device(), "cpu");
  EXPECT_EQ(row.batch_size(), 256);
  EXPECT_EQ(row.workers(), 8);
  EXPECT_EQ(row.num_items(), 2000);
  EXPECT_EQ(row.library_version(), "0.8.2");
  EXPECT_EQ(row.machine_profile(), "public:intel-xeon-8481c_16c");
  EXPECT_EQ(row.dataset().id(), "imagenet-val");
  EXPECT_EQ(row.unit(), "image");
  EXPECT_EQ(row.job_id().size(), 16u);
  EXPECT_NEAR(row.elapsed_s(), 2000 / 812.5, 1e-12);
}

TEST(ImportAlbumentationsTest, WhatWasNotMeasuredKeepsItsReason) {
  const std::vector<Row> rows = Import(kFile);
  EXPECT_EQ(rows[5].status(), "early_stopped");
  EXPECT_EQ(rows[5].reason(), "0.22 s per image");
  EXPECT_EQ(rows[5].slow_threshold_s(), 0.1);
  EXPECT_EQ(rows[6].status(), "unsupported");
  EXPECT_EQ(rows[6].reason(), "no such op");
  EXPECT_EQ(rows[7].status(), "failed");
  EXPECT_EQ(rows[7].reason(), "bang");
  EXPECT_EQ(rows[9].status(), "failed");
}

// A result file of the public benchmark from before it had scenarios.
constexpr char kOldFile[] = R"({
  "metadata": {"system_info": {"processor": "arm"},
               "benchmark_params": {"num_images": 2000%s}},
  "results": {"Blur": {"supported": true, "throughputs": [2, 1, 3]}}})";

std::string OldFile(const std::string& params = "") {
  return absl::StrReplaceAll(kOldFile, {{"%s", params}});
}

TEST(ImportAlbumentationsTest, TheNameSaysWhatTheFileDoesNot) {
  struct Case {
    const char* name;
    const char* library;
    const char* scenario;
    const char* device;
  };
  for (const Case& expected :
       {Case{"a_b/kornia_micro_results.json", "kornia", "image-rgb", "cpu"},
        {"albumentations_mit_results.json", "albumentations_mit", "image-rgb",
         "cpu"},
        {"torchvision_video_results.json", "torchvision", "video-16f", "cpu"},
        {"kornia_micro_dev-cuda_results.json", "kornia", "image-rgb", "cuda"},
        {"pillow_memory_dataloader_augment_n10000_r2_w8_b256_results.json",
         "pillow", "image-rgb", "cpu"},
        {"dali_decode_dataloader_augment_nall_r1_w8_b16_dev-cuda_results.json",
         "dali", "image-rgb", "cuda"}}) {
    const std::vector<Row> rows = Import(OldFile(), expected.name);
    ASSERT_EQ(rows.size(), 3u) << expected.name;
    EXPECT_EQ(rows[0].library(), expected.library) << expected.name;
    EXPECT_EQ(rows[0].scenario(), expected.scenario) << expected.name;
    EXPECT_EQ(rows[0].device(), expected.device) << expected.name;
    EXPECT_EQ(rows[0].mode(), "micro") << expected.name;
  }
  const std::string nine = OldFile(", \"num_channels\": 9");
  EXPECT_EQ(Import(nine, "kornia_results.json")[0].scenario(), "image-9ch");
  EXPECT_EQ(Import(kFile, "pillow_micro_results.json")[0].library(), "kornia")
      << "the file knows better than its name";
}

// Without a library, rows of several look like retries of the same job.
TEST(ImportAlbumentationsTest, AFileOfNoLibraryIsRefused) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  for (const char* name : {"f.json", "results.json", "_results.json",
                           "video_results.json", "dev-cuda_results.json"}) {
    const absl::Status status = ImportAlbumentations(name, OldFile(), ignore);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("it names no library; add \"metadata.library\""))
        << name;
  }
}

TEST(ImportAlbumentationsTest, AbsurdNumbersAreRefused) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  const auto message = [&](const std::string& content) {
    return std::string(
        ImportAlbumentations("kornia_results.json", content, ignore).message());
  };
  EXPECT_THAT(message(OldFile(", \"batch_size\": 1e300")),
              HasSubstr("\"batch_size\" is 1e+300, which is not a count"));
  EXPECT_THAT(message(OldFile(", \"batch_size\": 2.5")),
              HasSubstr("\"batch_size\" is 2.5, which is not a count"));
  EXPECT_THAT(message(OldFile(", \"batch_size\": \"64\"")),
              HasSubstr("\"batch_size\" is \"64\", which is not a count"));
  EXPECT_THAT(message(OldFile(", \"workers\": -1")),
              HasSubstr("\"workers\" is -1, which is not a count"));
  EXPECT_THAT(message(absl::StrReplaceAll(OldFile(), {{"[2,", "[-2,"}})),
              HasSubstr("Blur: a throughput is not a number above 0"));
}

TEST(ImportAlbumentationsTest, OtherFilesAreNamed) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  for (const char* content : {"", "[]", "{}", "{\"metadata\":{}}",
                              "{\"metadata\":{},\"results\":{\"a\":3}}"}) {
    const absl::Status status = ImportAlbumentations("f.json", content, ignore);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("f.json: not a result file"))
        << content;
  }
  EXPECT_TRUE(IsAlbumentationsResult("a/kornia_micro_results.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/kornia.pyperf.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/manifest.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/run_meta.json"));
}

}  // namespace
}  // namespace feedrate
