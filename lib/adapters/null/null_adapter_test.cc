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
      ParsePrepareReply(*child->Prepare("null", "Nothing", {"a=1"})).ok());
  const auto timed = ParseTimeReply(*child->Time(50, 7));
  ASSERT_TRUE(timed.ok()) << timed.status();
  EXPECT_EQ(timed->items(), 50);
  EXPECT_EQ(timed->samples_s_size(), 8);
  const auto outputs = ParseOutputReply(*child->Outputs({0, 1}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->outputs.size(), 2);
  EXPECT_EQ(outputs->outputs[1].bytes, 0);
}

LoaderSpec SomeSpec() {
  LoaderSpec spec;
  spec.scope = kMemoryScope;
  spec.source = "corpus";
  spec.batch_size = 4;
  spec.prefetch = 2;
  spec.channels = 3;
  spec.crop = 8;
  spec.crop_position = "random";
  spec.mean = {0.5};
  spec.std = {0.5};
  spec.input_scale = 255;
  spec.on_error = "skip";
  return spec;
}

std::unique_ptr<PreparedLoader> MakeLoader(const LoaderSpec& loader) {
  PrepareCommand spec;
  spec.loader = loader;
  return NullAdapter().PrepareLoader(spec, LoaderInput()).value();
}

TEST(NullLoaderTest, DeliversWhatWasAskedFor) {
  const auto loader = MakeLoader(SomeSpec());
  EpochCommand command;
  command.count = 10;
  const auto reply = loader->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 10);
  EXPECT_EQ(reply->batches(), 3);
  EXPECT_EQ(reply->bytes_out(), 10 * 3 * 8 * 8 * 4);
}

TEST(NullLoaderTest, DropsTheLastBatch) {
  LoaderSpec spec = SomeSpec();
  spec.drop_last = true;
  const auto loader = MakeLoader(spec);
  EpochCommand command;
  command.count = 10;
  EXPECT_EQ(loader->RunEpoch(command)->items(), 8);
}

TEST(NullLoaderTest, IsServedAsALoader) {
  const Corpus corpus = SmallCorpus(3);
  TestRunner runner(std::make_unique<NullAdapter>());
  const auto child = runner.Spawn("null", corpus);
  PrepareCommand prepare;
  prepare.library = "null";
  prepare.loader = SomeSpec();
  ASSERT_TRUE(ParsePrepareReply(*child->Ask(PrepareLine(prepare))).ok());
  EpochCommand command;
  command.count = 6;
  const auto reply = ParseEpochReply(*child->Ask(EpochLine(command)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->samples_s_size(), 2);
  const auto outputs = ParseOutputReply(*child->Outputs({0}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->outputs[0].shape, ElementsAre(3, 8, 8));
}

}  // namespace
}  // namespace feedrate
