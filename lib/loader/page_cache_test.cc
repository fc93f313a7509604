#include "lib/loader/page_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "lib/loader/file_source.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

bool IsCached(const std::vector<ListedFile>& files) {
  const auto source = ListSource(files);
  return IsMostlyCached(
      *source, ItemOrder(0, source->size(), source->size(), false, 0, 0));
}

TEST(PageCacheTest, TellsWhatWasReadFromWhatIsGone) {
  const std::string path =
      WriteTestFile(NewTestFolder(), "a.jpg", std::string(100000, 'a'));
  EXPECT_TRUE(IsCached({{path, -1}}));  // Just written.
  EXPECT_TRUE(IsCached({{path, -1}, {path + ".none", 5}}));
  EXPECT_FALSE(IsCached({{path + ".none", 5}}));
}

TEST(PageCacheTest, TellsWhatWasDropped) {
  const std::string path =
      WriteTestFile(NewTestFolder(), "a.jpg", std::string(100000, 'a'));
  const int fd = open(path.c_str(), O_RDONLY);
  fsync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  if (IsCached({{path, -1}})) {
    GTEST_SKIP() << "this file system keeps pages that it is told to drop";
  }
  ReadBuffer buffer;
  ASSERT_TRUE(ListSource({{path, -1}})->Read(0, &buffer).ok());
  EXPECT_TRUE(IsCached({{path, -1}}));
}

}  // namespace
}  // namespace feedrate
