#include "lib/runner/cache_row.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Row RowWith(double resident_fraction, bool cold) {
  Cache cache;
  cache.set_resident_fraction(resident_fraction);
  cache.set_bytes_read(7);
  Row row;
  SetCache(cache, cold, &row);
  return row;
}

TEST(SetCacheTest, ARowIsColdOnlyWhenThatIsProved) {
  EXPECT_THAT(RowWith(0, true).labels(), ElementsAre("cold"));
  EXPECT_THAT(RowWith(0.5, true).labels(), ElementsAre("partly_cold"));
  EXPECT_THAT(RowWith(1, true).labels(), ElementsAre("partly_cold"));
}

TEST(SetCacheTest, AndWarmOnlyWhenAllIsThere) {
  EXPECT_THAT(RowWith(1, false).labels(), IsEmpty());
  EXPECT_THAT(RowWith(0.5, false).labels(), ElementsAre("partly_cold"));
  EXPECT_THAT(RowWith(0, false).labels(), ElementsAre("partly_cold"));
  EXPECT_EQ(RowWith(0.5, false).cache().resident_fraction(), 0.5);
  EXPECT_EQ(RowWith(0.5, false).cache().bytes_read(), 7);
}

TEST(LookAtPagesTest, KeepsTheLargestShare) {
  const std::string path = JoinPath(::testing::TempDir(), "pages");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(1 << 16, 'x')).ok());
  Cache cache;
  ASSERT_TRUE(LookAtPages({path}, /*cold=*/false, &cache).ok());
  const double first = cache.resident_fraction();
  EXPECT_GT(first, 0) << "it was just written";
  // Whether pages go is up to the file system; the row tells of the worst.
  ASSERT_TRUE(LookAtPages({path}, /*cold=*/true, &cache).ok());
  EXPECT_EQ(cache.resident_fraction(), first);
}

TEST(LookAtPagesTest, NamesAFileThatIsGone) {
  Cache cache;
  EXPECT_THAT(
      std::string(LookAtPages({"/no/such/shard"}, true, &cache).message()),
      HasSubstr("/no/such/shard"));
}

}  // namespace
}  // namespace feedrate
