#include "lib/planning/variants.h"

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/planning/resolve.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kHead[] =
    "version: 1 selection { scenario: \"episodes\" mode: \"mixture\" } ";

const Catalogue& TheCatalogue() {
  static const auto& catalogue =
      *new Catalogue(Catalogue::Load("configs").value());
  return catalogue;
}

absl::StatusOr<std::vector<Job>> Plan(const std::string& text) {
  LoadedConfig loaded;
  const absl::Status parsed =
      ParseTextProto(text, "x", &loaded.config, &loaded.places);
  if (!parsed.ok()) return parsed;
  const absl::StatusOr<RunConfig> config = Resolve(loaded, TheCatalogue());
  if (!config.ok()) return config.status();
  const PublishedNumbers published =
      PublishedNumbers::Load(TheCatalogue().configs_dir()).value();
  const CostModel cost(TheCatalogue().policy(), published);
  std::vector<Job> jobs;
  PlanOutput output;
  output.job = [&](const Job& job) {
    jobs.push_back(job);
    return absl::OkStatus();
  };
  const absl::Status planned =
      ForEachJob({*config, loaded.places, TheCatalogue(), cost}, output);
  if (!planned.ok()) return planned;
  return jobs;
}

std::string Error(const std::string& mixture) {
  return std::string(Plan(kHead + mixture).status().message());
}

TEST(MixtureConfigTest, DefaultsBecomeSettings) {
  const auto jobs = Plan(kHead);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  const Job& job = (*jobs)[0];
  EXPECT_EQ(job.dataset(), "synthetic:episodes");
  EXPECT_EQ(job.batch_size(), 64);
  EXPECT_EQ(job.scope(), "read_decode_mix");
  const std::map<std::string, std::string> settings(job.settings().begin(),
                                                    job.settings().end());
  const std::map<std::string, std::string> expected = {
      {"decode_parallelism", "0"},
      {"frame_size", "224"},
      {"metadata", "none"},
      {"mix_block_length", "4"},
      {"pair_offset", "1"},
      {"pipeline_interleave", "2"},
      {"queue_depth", "4"},
      {"read_interleave", "2"},
      {"samples_per_episode", "5"},
      {"prime_each_dataset_samples", "0"},
      {"shuffle_buffer", "16"},
      {"steps", "160"},
      {"warmup", "8"}};
  EXPECT_EQ(settings, expected);
}

TEST(MixtureConfigTest, OneActionLeavesNoTrace) {
  const auto one = Plan(std::string(kHead) + "mixture { action_chunk: 1 }");
  const auto many = Plan(std::string(kHead) + "mixture { action_chunk: 16 }");
  const auto none = Plan(std::string(kHead) + "mixture { action_chunk: 0 }");
  ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
  EXPECT_EQ((*one)[0].job_id(), (*Plan(kHead))[0].job_id());
  EXPECT_EQ((*many)[0].settings().at("action_chunk"), "16");
  EXPECT_NE((*many)[0].job_id(), (*one)[0].job_id());
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("mixture.action_chunk"));
}

TEST(MixtureConfigTest, TheSweepWins) {
  const auto jobs =
      Plan(std::string(kHead) +
           "mixture { metadata: \"full\" weights { dataset: \"a\" weight: 2 } "
           "weights { dataset: \"b\" weight: 0.5 } } sweep { name: "
           "\"mix_block_length\" values: [ \"2\", \"8\" ] }");
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ((*jobs)[0].settings().at("mix_block_length"), "2");
  EXPECT_EQ((*jobs)[1].settings().at("mix_block_length"), "8");
  EXPECT_EQ((*jobs)[1].settings().at("metadata"), "full");
  EXPECT_EQ((*jobs)[1].settings().at("weights"), "a=2,b=0.5");
  EXPECT_NE((*jobs)[0].job_id(), (*jobs)[1].job_id());
}

TEST(MixtureConfigTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error("mixture { queue_depth: 0 }"),
              HasSubstr("mixture.queue_depth"));
  EXPECT_THAT(Error("mixture { metadata: \"all\" }"), HasSubstr("metadata"));
  EXPECT_THAT(Error("mixture { frame_size: 225 }"),
              HasSubstr("use an even number"));
  EXPECT_THAT(Error("mixture { weights { weight: 1 } }"),
              HasSubstr("not a name of a data set"));
  EXPECT_THAT(Error("mixture { weights { dataset: \"a\" } }"),
              HasSubstr("weight: is missing"));
  EXPECT_THAT(Error("mixture { weights { dataset: \"a\" weight: 1 } weights { "
                    "dataset: \"a\" weight: 2 } }"),
              HasSubstr("listed twice"));
  EXPECT_THAT(Error("sweep { name: \"mix_blok_length\" values: \"2\" }"),
              HasSubstr("mix_block_length"));
}

TEST(MixtureConfigTest, OtherModesHaveNone) {
  const auto jobs = Plan(
      "version: 1 selection { scenario: \"image-rgb\" mode: \"micro\" } "
      "mixture { steps: 8 }");
  EXPECT_THAT(std::string(jobs.status().message()),
              HasSubstr("is for mode mixture"));
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunConfig Parse(const std::string& text) {
  RunConfig config;
  EXPECT_TRUE(ParseTextProto(text + " data { sample_ratio: 1 } execution { "
                                    "min_batches: 1 workers: 5 }",
                             "f", &config)
                  .ok());
  return config;
}

TEST(VariantsTest, NoSweepIsOnePoint) {
  const RunConfig config = Parse("selection { libraries: \"a\" }");
  Variants variants(config);
  Variant variant;
  ASSERT_TRUE(variants.Next(&variant));
  EXPECT_EQ(variant.config.execution().workers(), 5);
  EXPECT_THAT(variant.config.selection().libraries(), IsEmpty());
  EXPECT_THAT(variant.settings, IsEmpty());
  EXPECT_FALSE(variants.Next(&variant));
}

TEST(VariantsTest, TheLastAxisIsTheFastest) {
  const RunConfig config = Parse(
      "sweep { name: \"workers\" values: [\"0\", \"2\"] } "
      "sweep { name: \"prefetch\" values: [\"1\", \"4\"] }");
  Variants variants(config);
  Variant variant;
  std::vector<std::string> seen;
  while (variants.Next(&variant)) {
    seen.push_back(std::to_string(variant.config.execution().workers()) + "/" +
                   variant.settings.at("prefetch"));
  }
  EXPECT_THAT(seen, ElementsAre("0/1", "0/4", "2/1", "2/4"));
}

TEST(VariantsTest, WhatIsNotAtItsDefaultIsASetting) {
  RunConfig config = Parse("");
  config.mutable_data()->set_sample_ratio(0.1);
  config.mutable_execution()->set_min_time(2.5);
  config.mutable_execution()->set_min_batches(20);
  Variants variants(config);
  Variant variant;
  ASSERT_TRUE(variants.Next(&variant));
  EXPECT_EQ(variant.settings.at("sample_ratio"), "0.1");
  EXPECT_EQ(variant.settings.at("min_time"), "2.5");
  EXPECT_EQ(variant.settings.at("min_batches"), "20");
}

}  // namespace
}  // namespace feedrate
