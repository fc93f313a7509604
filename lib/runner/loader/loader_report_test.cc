#include "lib/runner/loader/loader_report.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/gpu.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/loader/loader_row.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Five rounds that differ by up to `spread` of the value.
LoaderTrials Trials(const std::string& name, double throughput,
                    double spread = 0.01) {
  LoaderTrials trials;
  trials.name = name;
  for (const double part : {-1.0, 0.5, 0.0, 1.0, -0.5}) {
    trials.throughputs.push_back(throughput * (1 + spread * part));
  }
  return trials;
}

// Next to a full epoch of 100 items per second; 0 means not measured.
std::vector<LoaderTrials> Ablations(double cached, double no_augment,
                                    double no_decode) {
  std::vector<LoaderTrials> trials = {Trials(kFullEpoch, 100)};
  if (cached > 0) trials.push_back(Trials(kCachedBatch, cached));
  if (no_augment > 0) trials.push_back(Trials("no_augment", no_augment));
  if (no_decode > 0) trials.push_back(Trials("no_decode", no_decode));
  return trials;
}

LoaderSpec SpecOf(const std::string& scope) {
  LoaderSpec spec;
  spec.set_scope(scope);
  return spec;
}

void AddStage(const std::string& name, double busy_s, LoaderStats* loader) {
  LoaderStage* const stage = loader->add_stages();
  stage->set_name(name);
  stage->set_busy_s(busy_s);
}

TEST(DiagnosisTest, TheMostExpensivePartIsTheVerdict) {
  // 10 ms per item: 8 for decoding and 1 for the transform.
  const LoaderDiagnosis diagnosis = Diagnose(
      SpecOf(kDecodeScope), Ablations(10000, 1000 / 9.0, 500), LoaderStats());
  EXPECT_EQ(diagnosis.verdict(), "decoding");
  EXPECT_NEAR(diagnosis.twice_as_fast_gain(), 1 / 0.6, 1e-9);
  EXPECT_THAT(diagnosis.explanation(), HasSubstr("takes 80% of the time"));
  ASSERT_EQ(diagnosis.ablations_size(), 4);
  const LoaderAblation& no_decode = diagnosis.ablations(3);
  EXPECT_EQ(no_decode.throughput(), 500);
  EXPECT_LT(no_decode.throughput_low(), 500);
  EXPECT_GT(no_decode.throughput_high(), 500);
  EXPECT_LE(no_decode.share_low(), 0.8);
  EXPECT_GE(no_decode.share_high(), 0.8);
}

// An epoch without a part that is slower than the whole used to count as a part
// that costs nothing, and a part within the noise could become the verdict.
TEST(DiagnosisTest, WhatCannotBeToldFromNothingIsNoise) {
  std::vector<LoaderTrials> trials = {Trials(kFullEpoch, 100),
                                      Trials("no_augment", 90),
                                      Trials("no_decode", 104, 0.2)};
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), trials, LoaderStats());
  ASSERT_EQ(diagnosis.ablations_size(), 3);
  EXPECT_TRUE(IsNoise(diagnosis.ablations(1)));
  EXPECT_LT(diagnosis.ablations(1).share(), 0);
  EXPECT_TRUE(IsNoise(diagnosis.ablations(2)));
  EXPECT_GT(diagnosis.ablations(2).share(), 0);
  EXPECT_EQ(diagnosis.verdict(), "");
  Row row;
  *row.mutable_loader()->mutable_diagnosis() = diagnosis;
  EXPECT_THAT(DiagnosisText(row),
              AllOf(HasSubstr("noise: slower without it"),
                    HasSubstr("noise: 0% is possible"),
                    HasSubstr("no part costs more than the noise")));
}

TEST(DiagnosisTest, AugmentingAndCollating) {
  EXPECT_EQ(
      Diagnose(SpecOf(kMemoryScope), Ablations(10000, 500, 0), LoaderStats())
          .verdict(),
      "augmenting");
  EXPECT_EQ(
      Diagnose(SpecOf(kMemoryScope), Ablations(110, 105, 0), LoaderStats())
          .verdict(),
      "collating");
}

TEST(DiagnosisTest, StagesTellReadingAndCopying) {
  LoaderStats loader;
  AddStage("read", 5, &loader);
  AddStage("decode", 1, &loader);
  AddStage("copy", 3, &loader);
  AddStage("collate", 1, &loader);
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), Ablations(10000, 110, 500), loader)
                .verdict(),
            "reading");
  EXPECT_EQ(
      Diagnose(SpecOf(kCopyScope), Ablations(110, 110, 110), loader).verdict(),
      "copying");
}

// A loader of one's own, which cannot leave decoding out: "collating takes 27%
// of the time" where decoding was busy ten times as long.
TEST(DiagnosisTest, BlamesNoStageThatTheBusyTimesAcquit) {
  LoaderStats loader;
  AddStage("decode", 1.9, &loader);
  AddStage("collate", 0.2, &loader);
  std::vector<LoaderTrials> trials = Ablations(370, 0, 0);
  trials.push_back({"no_decode", {}});
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), trials, loader);
  EXPECT_EQ(diagnosis.verdict(), "decoding");
  EXPECT_THAT(diagnosis.explanation(),
              AllOf(HasSubstr("decoding was busy 1.90 s, collating 0.20 s"),
                    HasSubstr("could not be measured")));
  EXPECT_EQ(diagnosis.twice_as_fast_gain(), 0);
  EXPECT_THAT(diagnosis.not_measured(), ElementsAre("no_decode"));
  Row row;
  *row.mutable_loader()->mutable_diagnosis() = diagnosis;
  EXPECT_THAT(DiagnosisText(row), HasSubstr("not measured, because this loader "
                                            "cannot do it: no_decode\n"));
}

TEST(DiagnosisTest, WhatWasNotMeasuredMayBeTheBottleneck) {
  std::vector<LoaderTrials> trials = Ablations(370, 0, 0);
  trials.push_back({"no_decode", {}});
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), trials, LoaderStats());
  EXPECT_EQ(diagnosis.verdict(), "");
  Row row;
  *row.mutable_loader()->mutable_diagnosis() = diagnosis;
  EXPECT_THAT(
      DiagnosisText(row),
      HasSubstr("no verdict: collating takes 27% of the time, but reading and "
                "decoding could not be measured and may take 73%"));
  // What is left for it is less than what another part takes.
  trials = Ablations(125, 0, 0);
  trials.push_back({"no_decode", {}});
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), trials, LoaderStats()).verdict(),
            "collating");
}

TEST(DiagnosisTest, NoiseDoesNotAcquitABusyStage) {
  LoaderStats loader;
  AddStage("decode", 1.9, &loader);
  AddStage("collate", 0.2, &loader);
  std::vector<LoaderTrials> trials = Ablations(370, 0, 0);
  trials.push_back(Trials("no_decode", 150, 0.9));
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), trials, loader);
  ASSERT_TRUE(IsNoise(diagnosis.ablations(2)));
  EXPECT_EQ(diagnosis.verdict(), "decoding");
}

TEST(DiagnosisTest, ABusyAcceleratorIsNoLoadersFault) {
  LoaderStats loader;
  loader.set_consumer_utilisation(0.95);
  const auto verdict = [&] {
    return Diagnose(SpecOf(kDecodeScope), Ablations(10000, 120, 500), loader);
  };
  EXPECT_EQ(verdict().verdict(), "decoding") << "too few batches";
  loader.set_utilisation_mark(0.9);
  EXPECT_EQ(verdict().verdict(), "consumer");
  EXPECT_NEAR(verdict().twice_as_fast_gain(), 1 / 0.525, 1e-9);
}

TEST(DiagnosisTest, NothingMeasuredIsNoVerdict) {
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), {}, LoaderStats()).verdict(), "");
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), Ablations(0, 0, 0), LoaderStats())
                .verdict(),
            "");
}

Row SomeRow() {
  Row row;
  row.set_library("native");
  row.set_transform("Blur");
  return row;
}

TEST(LoaderReportTest, SaysWhereTheTimeWent) {
  Row row = SomeRow();
  EXPECT_EQ(DiagnosisText(row), "");
  LoaderStage* const stage = row.mutable_loader()->add_stages();
  stage->set_name("decode");
  stage->set_busy_s(1.5);
  stage->set_queue_fill(0.25);
  LoaderDiagnosis* const diagnosis = row.mutable_loader()->mutable_diagnosis();
  diagnosis->set_verdict("decoding");
  diagnosis->set_explanation("decoding takes 80% of the time");
  LoaderAblation* const ablation = diagnosis->add_ablations();
  ablation->set_name("no_decode");
  ablation->set_throughput(1234.4);
  ablation->set_throughput_low(1200);
  ablation->set_throughput_high(1300);
  ablation->set_share(0.8);
  ablation->set_share_low(0.75);
  ablation->set_share_high(0.82);
  EXPECT_THAT(
      DiagnosisText(row),
      AllOf(HasSubstr("native Blur"), HasSubstr("1.500"), HasSubstr("25%"),
            HasSubstr("1234 [1200, 1300]"), HasSubstr("80% [75, 82]"),
            HasSubstr("\nverdict: decoding takes 80%")));
}

TEST(LoaderReportTest, HoldsUtilizationAgainstTheMark) {
  Row row = SomeRow();
  EXPECT_EQ(UtilizationText(row), "");
  row.mutable_loader()->set_consumer_step_s(0.05);
  row.mutable_loader()->set_consumer_utilisation(0.899);
  row.mutable_loader()->set_batches(3);
  EXPECT_THAT(UtilizationText(row), HasSubstr("no verdict from 3 batches"));
  row.mutable_loader()->set_utilisation_mark(0.9);
  EXPECT_THAT(UtilizationText(row),
              AllOf(HasSubstr("89.9%"), HasSubstr("50.0 ms"),
                    HasSubstr("from 90% on: fail")));
  row.mutable_loader()->set_consumer_utilisation(0.9);
  EXPECT_THAT(UtilizationText(row), HasSubstr(": pass"));
}

TEST(LoaderReportTest, NamesTheFirstFault) {
  Row row = SomeRow();
  EXPECT_EQ(FaultsText(row), "");
  row.mutable_loader()->set_errors_total(2);
  LoaderFault* const fault = row.mutable_loader()->add_errors();
  fault->set_path("/data/x.jpg");
  fault->set_reason("ends too early");
  EXPECT_EQ(FaultsText(row),
            "native Blur: left out 2 items; the first: /data/x.jpg: ends too "
            "early\n");
}

Row RowOf(int workers, int prefetch, double throughput, int run_index = 0) {
  Row row;
  row.set_library("native");
  row.set_transform("HorizontalFlip");
  row.set_unit("image");
  row.set_status("ok");
  row.set_workers(workers);
  row.set_batch_size(256);
  (*row.mutable_settings())["prefetch"] = std::to_string(prefetch);
  row.set_throughput(throughput);
  row.set_run_index(run_index);
  return row;
}

// Three runs of each setting, a given share apart.
std::vector<Row> Swept(const std::vector<Row>& settings, double apart = 0.001) {
  std::vector<Row> rows;
  for (const Row& setting : settings) {
    for (int run = 0; run < 3; ++run) {
      rows.push_back(setting);
      rows.back().set_run_index(run);
      rows.back().set_throughput(setting.throughput() *
                                 (1 + apart * (run - 1)));
    }
  }
  return rows;
}

TEST(SweepSummaryTest, NamesTheBestAndTheSmallestThatWillDo) {
  const std::string text =
      SweepSummary(Swept({RowOf(1, 2, 500), RowOf(2, 2, 980), RowOf(4, 2, 1000),
                          RowOf(2, 4, 985)}));
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("highest median: workers=4, prefetch=2: 1000 images/s [99"),
          HasSubstr("smallest with a median within 3% of it: workers=2, "
                    "prefetch=2: 980"),
          HasSubstr("each worker adds: 1 to 2: +480, 2 to 4: +10"),
          HasSubstr("Use workers=2, prefetch=2: 98% of the highest"),
          Not(HasSubstr("batch_size"))));
}

TEST(SweepSummaryTest, TheBestMayBeTheSmallest) {
  EXPECT_THAT(SweepSummary(Swept({RowOf(1, 2, 500), RowOf(2, 2, 980)})),
              HasSubstr("Use workers=2: nothing smaller comes within 3%"));
}

TEST(SweepSummaryTest, NothingSmallerNeedsToBeMeasured) {
  EXPECT_THAT(SweepSummary(Swept({RowOf(1, 2, 980), RowOf(2, 2, 500)})),
              HasSubstr("Use workers=1: nothing smaller was measured"));
}

TEST(SweepSummaryTest, WithinThreePercentNeedsEvidenceToo) {
  const std::vector<Row> settings = {RowOf(1, 2, 975), RowOf(2, 2, 1000)};
  EXPECT_THAT(SweepSummary(Swept(settings)), HasSubstr("Use workers=1"));
  EXPECT_THAT(SweepSummary(Swept(settings, 0.02)),
              HasSubstr("No advice: workers=1 may be more than 3% slower"));
}

TEST(SweepSummaryTest, AdviceNeedsEvidence) {
  const std::vector<Row> settings = {RowOf(1, 2, 900), RowOf(2, 2, 980)};
  EXPECT_THAT(SweepSummary(settings),
              AllOf(HasSubstr("No advice: workers=1 (900 images/s) and the "
                              "highest: tied; 3 runs would show the spread"),
                    HasSubstr("1 to 2: not separate"), Not(HasSubstr("Use"))));
  EXPECT_THAT(
      SweepSummary(Swept(settings, 0.05)),
      AllOf(HasSubstr("runs should separate them"), Not(HasSubstr("Use"))));
  std::vector<Row> disturbed = Swept(settings);
  EXPECT_THAT(SweepSummary(disturbed), HasSubstr("Use workers=2"));
  for (Row& row : disturbed) row.add_warnings("contended");
  EXPECT_THAT(SweepSummary(disturbed),
              HasSubstr("disturbed runs are no evidence"));
}

TEST(SweepSummaryTest, RunsCountByTheirMedian) {
  const std::string text = SweepSummary(
      {RowOf(1, 2, 100, 0), RowOf(1, 2, 900, 1), RowOf(1, 2, 110, 2),
       RowOf(2, 2, 200, 0), RowOf(2, 2, 10, 0)});
  EXPECT_THAT(text, HasSubstr("highest median: workers=1: 110 images/s"))
      << "the last attempt of workers=2 counts";
  Row noisy = RowOf(2, 2, 5, 0);
  noisy.add_warnings("noisy");
  EXPECT_THAT(SweepSummary({RowOf(1, 2, 100), RowOf(2, 2, 200), noisy}),
              HasSubstr("highest median: workers=2: 200 images/s"))
      << "the cleanest attempt counts";
}

TEST(SweepSummaryTest, WithoutASweepThereIsNothingToSay) {
  EXPECT_EQ(SweepSummary({}), "");
  EXPECT_EQ(SweepSummary({RowOf(1, 2, 500), RowOf(1, 2, 600, 1)}), "");
  Row failed = RowOf(2, 2, 0);
  failed.set_status("failed");
  EXPECT_EQ(SweepSummary({RowOf(1, 2, 500), failed}), "");
}

Row RowOn(const std::string& container, const std::string& library,
          double throughput, int run_index) {
  Row row = RowOf(2, 2, throughput, run_index);
  row.set_library(library);
  (*row.mutable_settings())["container"] = container;
  row.set_rss_peak_bytes(100000000 + run_index);
  row.mutable_dataset()->set_bytes(50000000);
  row.mutable_loader()->set_epochs(2);
  row.mutable_loader()->set_bytes_in(104000000);
  row.mutable_loader()->set_first_batch_s(0.25);
  return row;
}

TEST(ContainersTextTest, ComparesWithNativeOnFilesRunByRun) {
  std::vector<Row> rows;
  for (int run = 0; run < 3; ++run) {
    rows.push_back(RowOn("tfrecord", "tfdata", 500 + 100 * run, run));
    rows.push_back(RowOn("files", "native", 1000 + 200 * run, run));
    rows[rows.size() - 1].mutable_loader()->set_random_item_s(0.0015);
  }
  for (const char* container : {"files", "parquet"}) {
    Row row = RowOn(container, "webdataset", 0, 0);
    row.set_status("unsupported");
    row.set_reason("reads only shards here");
    rows.push_back(row);
  }
  const std::string text = ContainersText(rows);
  EXPECT_THAT(text, HasSubstr("HorizontalFlip, workers=2, batch_size=256"));
  EXPECT_THAT(text, ContainsRegex("files +native +1,200 \\[.*\\] +1\\.00 "
                                  "\\[1\\.00, 1\\.00\\] +0\\.250 +100 +50\\.0 "
                                  "+52\\.0 +1\\.50\n"));
  EXPECT_THAT(text, ContainsRegex("tfrecord +tfdata +600 \\[.*\\] +0\\.500 "
                                  "\\[0\\.500, 0\\.500\\] .* no\n"));
  EXPECT_LT(text.find("files "), text.find("tfrecord "));
  EXPECT_THAT(text, HasSubstr("not measured: webdataset on files, parquet: "
                              "reads only shards here\n"));
  EXPECT_EQ(ContainersText({RowOf(1, 2, 500)}), "");
  // Two runs, or three next to other load, do not show a ratio.
  rows[0].add_warnings("contended");
  EXPECT_THAT(ContainersText(rows), ContainsRegex("tfrecord .* disturbed "));
  rows.resize(4);
  rows[0].clear_warnings();
  EXPECT_THAT(ContainersText(rows), ContainsRegex("tfrecord .* few runs "));
}

TEST(RandomItemTest, IsTheMedianWithoutTheWarmUp) {
  int64_t calls = 0;
  const auto seconds = RandomItemSeconds(
      10, 7, [&](const EpochCommand& command) -> absl::StatusOr<EpochReply> {
        EXPECT_GE(command.first(), 1);
        EXPECT_LT(command.first(), 10);
        EXPECT_EQ(command.count(), 1);
        EpochReply reply;
        reply.set_first_batch_s(++calls <= 16 ? 100 : calls);
        return reply;
      });
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, (24 + 25) / 2.0);
  EXPECT_EQ(RandomItemSeconds(10, 7,
                              [](const EpochCommand&) {
                                return absl::StatusOr<EpochReply>(
                                    absl::UnknownError("no"));
                              })
                .status(),
            absl::UnknownError("no"));
}

}  // namespace
}  // namespace feedrate
