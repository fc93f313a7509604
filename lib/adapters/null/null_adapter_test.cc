#include "lib/adapters/null/null_adapter.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

TEST(NullAdapterTest, AnswersEverythingAndDoesNothing) {
  const Corpus corpus = SmallCorpus(3);
  TestRunner runner(std::make_unique<NullAdapter>());
  const auto child = runner.Spawn("null", corpus);
  ASSERT_TRUE(
      ParsePrepareReply(*child->Prepare("null", "Nothing", {"a=1"})).ok());
  const auto timed = ParseTimeReply(*child->Time(50, 7));
  ASSERT_TRUE(timed.ok()) << timed.status();
  EXPECT_EQ(timed->items, 50);
  EXPECT_EQ(timed->samples_s.size(), 8);
  const auto outputs = ParseOutputReply(*child->Outputs({0, 1}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->outputs.size(), 2);
  EXPECT_EQ(outputs->outputs[1].bytes, 0);
}

}  // namespace
}  // namespace feedrate
