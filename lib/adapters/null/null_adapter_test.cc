#include "lib/adapters/null/null_adapter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/media/small_corpus.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(NullAdapterTest, AnswersEverythingAndDoesNothing) {
  const Corpus corpus = SmallCorpus(3);
  TestRunner runner(std::make_unique<NullAdapter>());
  const auto child = runner.Spawn("null", corpus);
  ASSERT_TRUE(
      ParseReply<PrepareReply>(*child->Prepare("null", "Nothing", {"a=1"}))
          .ok());
  const auto timed = ParseTimeReply(*child->Time(50, 7));
  ASSERT_TRUE(timed.ok()) << timed.status();
  EXPECT_EQ(timed->items(), 50);
  EXPECT_EQ(timed->samples_s_size(), 8);
  const auto outputs = ParseReply<OutputReply>(*child->Outputs({0, 1}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->outputs_size(), 2);
  EXPECT_EQ(outputs->outputs(1).bytes(), 0);
}

LoaderSpec SomeSpec() {
  LoaderSpec spec;
  spec.set_scope(kMemoryScope);
  spec.set_source("corpus");
  spec.set_batch_size(4);
  spec.set_prefetch(2);
  spec.set_channels(3);
  spec.set_crop(8);
  spec.set_crop_position("random");
  spec.add_mean(0.5);
  spec.add_std(0.5);
  spec.set_input_scale(255);
  spec.set_on_error("skip");
  return spec;
}

std::unique_ptr<PreparedLoader> MakeLoader(const LoaderSpec& loader) {
  PrepareCommand spec;
  *spec.mutable_loader() = loader;
  return NullAdapter().PrepareLoader(spec, LoaderInput()).value();
}

TEST(NullLoaderTest, DeliversWhatWasAskedFor) {
  const auto loader = MakeLoader(SomeSpec());
  EpochCommand command;
  command.set_count(10);
  const auto reply = loader->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 10);
  EXPECT_EQ(reply->batches(), 3);
  EXPECT_EQ(reply->bytes_out(), 10 * 3 * 8 * 8 * 4);
}

TEST(NullLoaderTest, DropsTheLastBatch) {
  LoaderSpec spec = SomeSpec();
  spec.set_drop_last(true);
  const auto loader = MakeLoader(spec);
  EpochCommand command;
  command.set_count(10);
  EXPECT_EQ(loader->RunEpoch(command)->items(), 8);
}

TEST(NullLoaderTest, IsServedAsALoader) {
  const Corpus corpus = SmallCorpus(3);
  TestRunner runner(std::make_unique<NullAdapter>());
  const auto child = runner.Spawn("null", corpus);
  PrepareCommand prepare;
  prepare.set_library("null");
  *prepare.mutable_loader() = SomeSpec();
  ASSERT_TRUE(ParseReply<PrepareReply>(*child->Ask(CommandLine(prepare))).ok());
  EpochCommand command;
  command.set_count(6);
  const auto reply = ParseEpochReply(*child->Ask(CommandLine(command)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->samples_s_size(), 2);
  const auto outputs = ParseReply<OutputReply>(*child->Outputs({0}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->outputs(0).shape(), ElementsAre(3, 8, 8));
}

}  // namespace
}  // namespace feedrate
