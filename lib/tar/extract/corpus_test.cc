// Unpacks every archive of the corpus, as a file and as a stream: what must be
// refused is, with a message that names the entry, and nothing escapes.
#include "lib/tar/corpus.h"

#include <gtest/gtest.h>

#include "lib/tar/extract/unpack_testing.h"

namespace feedrate::tar {
namespace {

class CorpusTest : public testing::TestWithParam<Arrival> {};

TEST_P(CorpusTest, UnpacksOrIsRefusedAndNeverEscapes) {
  for (const CorpusCase& test : WholeCorpus()) {
    Cage cage;
    UnpackResult result;
    const Status status =
        UnpackInto(cage, test.bytes, GetParam(), UnpackOptions(), &result);
    EXPECT_EQ(status.ok(), !test.refused)
        << test.name << ": " << status.message();
    EXPECT_EQ(cage.Escaped(), "") << test.name;
    if (status.ok()) continue;
    EXPECT_EQ(status.exit_code(), Status::kRunFailed) << test.name;
    EXPECT_NE(status.message().find(test.message), std::string::npos)
        << test.name << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << test.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Arrivals, CorpusTest,
                         testing::Values(Arrival::kFile, Arrival::kStream));

}  // namespace
}  // namespace feedrate::tar
