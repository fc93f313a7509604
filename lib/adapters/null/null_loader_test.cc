#include "lib/adapters/null/null_loader.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/null/null_adapter.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

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

TEST(NullLoaderTest, DeliversWhatWasAskedFor) {
  NullLoader loader(SomeSpec());
  EpochCommand command;
  command.count = 10;
  const auto reply = loader.RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items, 10);
  EXPECT_EQ(reply->batches, 3);
  EXPECT_EQ(reply->bytes_out, 10 * 3 * 8 * 8 * 4);
}

TEST(NullLoaderTest, DropsTheLastBatch) {
  LoaderSpec spec = SomeSpec();
  spec.drop_last = true;
  NullLoader loader(spec);
  EpochCommand command;
  command.count = 10;
  EXPECT_EQ(loader.RunEpoch(command)->items, 8);
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
  EXPECT_EQ(reply->samples_s.size(), 2);
  const auto outputs = ParseOutputReply(*child->Outputs({0}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->outputs[0].shape, ElementsAre(3, 8, 8));
}

}  // namespace
}  // namespace feedrate
