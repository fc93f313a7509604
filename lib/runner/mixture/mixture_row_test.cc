#include "lib/runner/mixture/mixture_row.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/variants.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::vector<MixtureSource>& Sources() {
  static const auto& sources =
      *new std::vector<MixtureSource>{{"a", 2, {}}, {"b", 1, {}}, {"c", 1, {}}};
  return sources;
}

// One batch of warm-up and four that count.
EpochReply SomeReply() {
  EpochReply reply;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(batches: 5
         items: 20
         startup_s: 0.5
         first_batch_s: 1
         times_s: [ 1, 1.5, 2.5, 3, 5 ]
         samples_s: [ 1, 0.25, 0.75, 0.125, 2 ]
         counts { list: [ 0, 4 ] }
         counts { list: [ 0, 2, 1, 2 ] }
         counts { list: [ 1, 4 ] }
         counts { list: [ 2, 3, 0, 1 ] }
         counts { list: [ 2, 4 ] })",
      &reply));
  return reply;
}

MixtureSettingsOfJob SomeSettings() {
  MixtureSettingsOfJob settings;
  settings.steps = 4;
  settings.warmup = 1;
  settings.spec.batch_size = 4;
  return settings;
}

std::vector<BatchCounts> Counted(const std::vector<int64_t>& samples) {
  std::vector<BatchCounts> batches(1);
  for (size_t i = 0; i < samples.size(); ++i) {
    batches[0].add_list(static_cast<int64_t>(i));
    batches[0].add_list(samples[i]);
  }
  return batches;
}

TEST(MixtureAuditTest, WeightsAreTestedByBlock) {
  // Weights 2, 1 and 1: 100, 50 and 50 blocks of 4 samples would be exact.
  const AuditWeights kept =
      WeightsOf("x", Counted({420, 180, 200}), Sources(), {}, 4);
  EXPECT_EQ(kept.draws(), 200);
  EXPECT_NEAR(kept.chi_square(), 0.25 + 0.5, 1e-9);
  EXPECT_NEAR(kept.p_value(), 0.687, 0.01);
  EXPECT_NEAR(kept.mixture_error(), 0.025, 1e-9);
  // The same samples, drawn one by one, would be less of an accident.
  EXPECT_LT(
      WeightsOf("x", Counted({420, 180, 200}), Sources(), {}, 1).p_value(),
      kept.p_value());
  EXPECT_LT(
      WeightsOf("x", Counted({200, 300, 300}), Sources(), {}, 4).p_value(),
      1e-6);
}

TEST(MixtureAuditTest, TooFewDrawsAreNoPass) {
  EXPECT_EQ(WeightsOf("x", Counted({0, 0, 16}), Sources(), {}, 4).reason(),
            "too few draws to tell, 4; use more of them: --sweep=steps=N");
  EXPECT_EQ(
      WeightsOf("x", Counted({16, 0, 0}), Sources(), {"b", "c"}, 4).reason(),
      "");
}

TEST(MixtureAuditTest, WhatIsLeftOutHasNoWeight) {
  const AuditWeights found =
      WeightsOf("x", Counted({400, 200, 0}), Sources(), {"c"}, 4);
  EXPECT_NEAR(found.chi_square(), 0, 1e-9);
  EXPECT_GT(
      WeightsOf("x", Counted({400, 200, 0}), Sources(), {}, 4).chi_square(),
      30);
  EXPECT_EQ(WeightsOf("x", {}, Sources(), {}, 4).draws(), 0);
}

TEST(MixtureRowTest, BatchesSayWhatTheyHold) {
  const std::vector<Batch> batches = BatchesOf(SomeReply(), Sources(), 1);
  ASSERT_EQ(batches.size(), 5);
  EXPECT_TRUE(batches[0].warmup());
  EXPECT_FALSE(batches[1].warmup());
  EXPECT_EQ(batches[1].items(), 4);
  EXPECT_EQ(batches[1].time_s(), 1.5);
  EXPECT_EQ(batches[1].wait_s(), 0.25);
  EXPECT_EQ(batches[1].dominant(), "a") << "of equals the earlier one";
  EXPECT_THAT(batches[1].first_seen(), ElementsAre("b"));
  EXPECT_THAT(batches[2].first_seen(), IsEmpty());
  // In the order of the mixture, not of the counts.
  ASSERT_EQ(batches[3].counts_size(), 2);
  EXPECT_EQ(batches[3].counts(0).dataset(), "a");
  EXPECT_EQ(batches[3].counts(1).samples(), 3);
  EXPECT_EQ(batches[3].dominant(), "c");
}

TEST(MixtureRowTest, NumbersAreOverMeasuredBatches) {
  const EpochReply reply = SomeReply();
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 1), Sources(), SomeSettings(),
             &row);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.unit(), "sample");
  EXPECT_EQ(row.items(), 16);
  EXPECT_EQ(row.elapsed_s(), 4);
  EXPECT_EQ(row.throughput(), 4);
  EXPECT_THAT(row.samples_s(), ElementsAre(0.5, 1, 0.5, 2));
  EXPECT_THAT(row.labels(), ElementsAre("indicative"));
  const Mixture& mixture = row.mixture();
  EXPECT_EQ(mixture.batches(), 4);
  EXPECT_EQ(mixture.warmup_batches(), 1);
  EXPECT_EQ(mixture.batches_per_s(), 1);
  EXPECT_EQ(mixture.first_batch_s(), 1);
  EXPECT_EQ(mixture.unique_dominant(), 3);
  // a, b, c, c.
  EXPECT_DOUBLE_EQ(mixture.dominant_switch_rate(), 2.0 / 3);
  // 3, 6 and 7 of 16, against 8, 4 and 4.
  EXPECT_DOUBLE_EQ(mixture.mixture_error(), 5.0 / 16);
  ASSERT_EQ(mixture.shares_size(), 3);
  EXPECT_DOUBLE_EQ(mixture.shares(0).weight_share(), 0.5);
  EXPECT_DOUBLE_EQ(mixture.shares(1).sample_share(), 6.0 / 16);
  EXPECT_EQ(mixture.shares(2).stall_s(), 2.125);
  EXPECT_EQ(mixture.shares(2).dominated(), 2);
}

TEST(MixtureRowTest, WithoutWarmUpTheStartCounts) {
  const EpochReply reply = SomeReply();
  MixtureSettingsOfJob settings = SomeSettings();
  settings.warmup = 0;
  settings.steps = 5;
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 0), Sources(), settings, &row);
  EXPECT_EQ(row.elapsed_s(), 5);
  EXPECT_EQ(row.items(), 20);
}

TEST(MixtureRowTest, WhatWasLeftOutHasNoShare) {
  EpochReply reply = SomeReply();
  reply.clear_counts();
  for (const int dataset : {0, 0, 1, 0, 0}) {
    BatchCounts* const counts = reply.add_counts();
    counts->add_list(dataset);
    counts->add_list(4);
  }
  reply.add_left_out("c");
  reply.set_errors_total(1);
  LoaderError* const error = reply.add_errors();
  error->set_item(2);
  error->set_path("c");
  error->set_reason("has no episode");
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 1), Sources(), SomeSettings(),
             &row);
  EXPECT_EQ(row.mixture().datasets(), 2);
  EXPECT_DOUBLE_EQ(row.mixture().shares(1).weight_share(), 1.0 / 3);
  EXPECT_THAT(MixtureText(row), HasSubstr("left out: c"));
  EXPECT_THAT(MixtureText(row),
              HasSubstr("1 skipped over all passes, the first: c: has no"));
}

TEST(MixtureRowTest, LongRunsAreMoreThanAnIndication) {
  EpochReply reply;
  for (int i = 0; i < 168; ++i) {
    reply.add_times_s(i + 1);
    reply.add_samples_s(1);
    BatchCounts* const counts = reply.add_counts();
    counts->add_list(0);
    counts->add_list(1);
  }
  MixtureSettingsOfJob settings;
  settings.steps = 160;
  settings.warmup = 8;
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 8), Sources(), settings, &row);
  EXPECT_THAT(row.labels(), IsEmpty());
  EXPECT_EQ(row.mixture().dominant_switch_rate(), 0);
  EXPECT_DOUBLE_EQ(row.mixture().mixture_error(), 0.5);
}

TEST(MixtureRowTest, CountsThatCannotBeAreRefused) {
  EpochReply reply = SomeReply();
  EXPECT_TRUE(CheckCounts(reply, 3).ok());
  EXPECT_EQ(CheckCounts(reply, 2).code(), absl::StatusCode::kDataLoss);
  reply.set_items(19);
  EXPECT_EQ(CheckCounts(reply, 3).code(), absl::StatusCode::kDataLoss);
  reply = SomeReply();
  reply.mutable_counts(2)->Clear();
  EXPECT_EQ(CheckCounts(reply, 3).code(), absl::StatusCode::kDataLoss);
}

TEST(MixtureRowTest, AKilledTeardownIsTold) {
  Row row;
  row.set_library("native");
  row.mutable_mixture()->set_teardown_killed(true);
  row.mutable_mixture()->set_teardown_s(10);
  EXPECT_THAT(MixtureText(row), HasSubstr("within 10 s and was killed"));
  EXPECT_EQ(MixtureText(Row()), "");
}

TEST(MixtureRowTest, WhatWasSkippedIsToldOnceWithItsPlace) {
  Row row;
  row.set_library("native");
  Mixture* const mixture = row.mutable_mixture();
  mixture->set_skipped(2);
  LoaderFault* const fault = mixture->add_faults();
  fault->set_path("a.tfrecord");
  fault->set_reason("record 3: cut off");
  EXPECT_EQ(MixtureText(row),
            "native, run 0: 2 skipped over all passes, the first: "
            "a.tfrecord: record 3: cut off\n");
  fault->set_reason("a.tfrecord: record 3: cut off");
  EXPECT_THAT(MixtureText(row),
              HasSubstr("the first: a.tfrecord: record 3: cut off\n"));
}

TEST(MixtureRowTest, WhyARunFailedIsTold) {
  Row row;
  row.set_library("native");
  row.set_run_index(1);
  row.set_status("failed");
  row.set_reason("data set \"x\": has no episode");
  EXPECT_EQ(MixtureText(row),
            "native, run 1: failed: data set \"x\": has no episode\n");
}

Row RowOf(const std::string& metadata, int run_index, double throughput) {
  Row row;
  row.set_job_id(metadata);
  row.set_library("native");
  row.set_status("ok");
  row.set_batch_size(64);
  row.set_run_index(run_index);
  row.set_throughput(throughput);
  (*row.mutable_settings())["metadata"] = metadata;
  (*row.mutable_settings())["queue_depth"] = "4";
  row.mutable_mixture();
  return row;
}

const std::vector<std::string> kNoneFirst = {"none", "full"};

TEST(MixtureSummaryTest, ComparesRunByRun) {
  std::vector<Row> rows;
  // The machine gets slower; the ratio stays.
  for (int i = 0; i < 8; ++i) {
    rows.push_back(RowOf("none", i, 1000 - 100 * i));
    rows.push_back(RowOf("full", i, 0.9 * (1000 - 100 * i) + i % 2));
  }
  const std::string text = MixtureSummary(rows, kNoneFirst);
  EXPECT_THAT(text, HasSubstr("native metadata=none: 650 samples/s\n"));
  EXPECT_THAT(text, HasSubstr("native metadata=full"));
  EXPECT_THAT(text, HasSubstr("0.90 [0.90, 0.90] of the first\n"));
  EXPECT_THAT(text, Not(HasSubstr("queue_depth")));
}

TEST(MixtureSummaryTest, SaysWhenNothingIsShown) {
  std::vector<Row> rows;
  for (int i = 0; i < 8; ++i) {
    rows.push_back(RowOf("none", i, 1000));
    rows.push_back(RowOf("full", i, i % 2 == 0 ? 1100 : 950));
  }
  EXPECT_THAT(MixtureSummary(rows, kNoneFirst),
              HasSubstr("no difference shown"));
  EXPECT_THAT(MixtureSummary({rows[0], rows[1]}, kNoneFirst),
              HasSubstr("in 1 runs: too few to tell"));
  EXPECT_EQ(MixtureSummary({rows[0], rows[2]}, kNoneFirst), "");
}

TEST(MixtureSummaryTest, TheFirstIsThatOfTheSweepAndNotOfTheRows) {
  // As runs are shuffled, either may come first.
  const std::vector<Row> rows = {RowOf("full", 0, 900), RowOf("none", 0, 1000)};
  EXPECT_EQ(MixtureSummary(rows, kNoneFirst),
            "native metadata=none: 1000 samples/s\n"
            "native metadata=full: 900 samples/s, 0.90 of the first in 1 runs: "
            "too few to tell\n");
  EXPECT_EQ(MixtureSummary(rows, {"full", "none"}),
            "native metadata=full: 900 samples/s\n"
            "native metadata=none: 1000 samples/s, 1.11 of the first in 1 "
            "runs: too few to tell\n");
}

TEST(MixtureSummaryTest, NoOtherTakesThePlaceOfAFirstThatFailed) {
  std::vector<Row> rows = {RowOf("full", 0, 900), RowOf("none", 0, 0)};
  rows[1].set_status("failed");
  rows[1].clear_mixture();
  EXPECT_EQ(MixtureSummary(rows, kNoneFirst),
            "native metadata=none: no run is ok; its rows say why\n"
            "native metadata=full: 900 samples/s, no run in common with the "
            "first\n");
}

Job SomeJob() {
  MixtureConfig config;
  config.set_read_interleave(3);
  config.set_decode_parallelism(0);
  config.set_pipeline_interleave(2);
  config.set_mix_block_length(4);
  config.set_shuffle_buffer(16);
  config.set_queue_depth(4);
  config.set_samples_per_episode(0);
  config.set_pair_offset(2);
  config.set_metadata("full");
  config.set_prime_each_dataset_samples(1);
  config.set_frame_size(128);
  config.set_steps(20);
  config.set_warmup(2);
  DatasetWeight* const weight = config.add_weights();
  weight->set_dataset("a");
  weight->set_weight(-0.5);
  Job job;
  job.set_job_id("7");
  job.set_batch_size(32);
  for (const auto& [name, value] : MixtureSettings(config)) {
    (*job.mutable_settings())[name] = value;
  }
  return job;
}

std::string Error(const std::string& name, const std::string& value) {
  Job job = SomeJob();
  (*job.mutable_settings())[name] = value;
  return std::string(ParseMixtureSettings(job).status().message());
}

TEST(MixtureSettingsTest, ReadsWhatPlanningWrote) {
  const auto settings = ParseMixtureSettings(SomeJob());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->spec.read_interleave, 3);
  EXPECT_EQ(settings->spec.samples_per_episode, 0);
  EXPECT_EQ(settings->spec.pair_offset, 2);
  EXPECT_EQ(settings->spec.metadata, "full");
  EXPECT_EQ(settings->spec.frame_height, 128);
  EXPECT_EQ(settings->spec.frame_width, 128);
  EXPECT_EQ(settings->samples(), 22 * 32);
  EXPECT_EQ(settings->spec.action_chunk, 1);
  Job chunks = SomeJob();
  (*chunks.mutable_settings())["action_chunk"] = "8";
  EXPECT_EQ(ParseMixtureSettings(chunks)->spec.action_chunk, 8);
  EXPECT_EQ(settings->weights.at("a"), -0.5);
}

TEST(MixtureSettingsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error("steps", "0"), HasSubstr("setting steps: \"0\""));
  EXPECT_THAT(Error("queue_depth", "many"), HasSubstr("queue_depth"));
  EXPECT_THAT(Error("queue_depth", "0"), HasSubstr("queue_depth is 0"));
  EXPECT_THAT(Error("metadata", "some"), HasSubstr("metadata \"some\""));
  EXPECT_THAT(Error("weights", "a=1,b"), HasSubstr("NAME=WEIGHT"));
  Job job = SomeJob();
  job.mutable_settings()->erase("pair_offset");
  EXPECT_THAT(std::string(ParseMixtureSettings(job).status().message()),
              HasSubstr("pair_offset is missing"));
}

MixtureInput TwoSets(double first, double second) {
  MixtureInput input;
  input.sources = {{"bridge", first, {}}, {"droid", second, {}}};
  return input;
}

TEST(ApplyWeightsTest, ReplacesThoseThatAreNamed) {
  MixtureInput input = TwoSets(1, 2);
  ASSERT_TRUE(ApplyWeights({{"droid", 5}}, "fail", &input).ok());
  EXPECT_EQ(input.sources[0].weight, 1);
  EXPECT_EQ(input.sources[1].weight, 5);
  EXPECT_THAT(
      std::string(ApplyWeights({{"drod", 5}}, "fail", &input).message()),
      AllOf(HasSubstr("no data set \"drod\""), HasSubstr("droid")));
}

TEST(ApplyWeightsTest, AWeightNotAboveZeroIsAnErrorOrASkip) {
  for (const double weight : {0.0, -2.0}) {
    MixtureInput input = TwoSets(1, weight);
    EXPECT_THAT(std::string(ApplyWeights({}, "fail", &input).message()),
                AllOf(HasSubstr("data set \"droid\": weight"),
                      HasSubstr("--on_error=skip")));
    input = TwoSets(1, weight);
    ASSERT_TRUE(ApplyWeights({}, "skip", &input).ok());
    EXPECT_THAT(input.sources, SizeIs(1));
    EXPECT_THAT(input.left_out, ElementsAre("droid"));
    EXPECT_THAT(input.left_out_reasons, SizeIs(1));
  }
}

TEST(ApplyWeightsTest, SomethingMustBeLeft) {
  MixtureInput input = TwoSets(0, 0);
  EXPECT_THAT(std::string(ApplyWeights({}, "skip", &input).message()),
              HasSubstr("no data set has one above 0"));
}

}  // namespace
}  // namespace feedrate
