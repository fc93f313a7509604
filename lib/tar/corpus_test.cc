// Runs every archive of the corpus, in pieces of many sizes. Run it under the
// sanitizers too: bazel test --config=asan (and ubsan) //lib/tar/...
#include "lib/tar/corpus.h"

#include <gtest/gtest.h>

#include <set>

#include "lib/tar/exercise.h"

namespace feedrate::tar {
namespace {

TEST(Corpus, IsReadAsItShouldBe) {
  for (const CorpusCase& test : WholeCorpus()) {
    const Transcript got = Exercise(test.bytes, test.bytes.size() + 1, false);
    EXPECT_EQ(got.error.code, test.reader) << test.name << ": " << got.text;
    if (test.reader == Error::Code::kNone) continue;
    EXPECT_NE(Describe(got.error).find(test.message), std::string::npos)
        << test.name << ": " << Describe(got.error);
  }
}

TEST(Corpus, IsReadTheSameInPiecesOfAnySize) {
  for (const CorpusCase& test : WholeCorpus()) {
    const std::string whole =
        Exercise(test.bytes, test.bytes.size() + 1, false).text;
    for (size_t piece : {1, 7, 511, 512, 513, 1024, 4096}) {
      EXPECT_EQ(Exercise(test.bytes, piece, false).text, whole)
          << test.name << " in pieces of " << piece;
    }
  }
}

TEST(Corpus, IsRefusedWhenBodiesAreSkippedToo) {
  for (const CorpusCase& test : WholeCorpus()) {
    const Transcript got = Exercise(test.bytes, 600, true);
    EXPECT_EQ(got.error.code == Error::Code::kNone,
              test.reader == Error::Code::kNone)
        << test.name << ": " << got.text;
  }
}

TEST(Corpus, HasNoNameTwice) {
  std::set<std::string> names;
  for (const CorpusCase& test : WholeCorpus()) {
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
  }
  EXPECT_GT(names.size(), 150u);
}

}  // namespace
}  // namespace feedrate::tar
