#include "lib/media/page_populator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "lib/media/parallel.h"

namespace feedrate {
namespace {

constexpr int64_t kChunk = PagePopulator::kChunk;
constexpr int64_t kSize = 8 * kChunk + 12345;

// A map of a memory file of kSize bytes at a multiple of kChunk.
class PagePopulatorTest : public ::testing::Test {
 protected:
  PagePopulatorTest() : fd_(memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_, kSize), 0);
    void* room = mmap(nullptr, kSize + kChunk, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto place =
        (reinterpret_cast<uintptr_t>(room) + kChunk - 1) / kChunk * kChunk;
    map_ = static_cast<char*>(mmap(reinterpret_cast<void*>(place), kSize,
                                   PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED, fd_, 0));
  }
  ~PagePopulatorTest() override { close(fd_); }

  int fd_;
  char* map_;
};

TEST_F(PagePopulatorTest, ChangesNothingThatIsThere) {
  for (int64_t i = 0; i < kSize; i += 4096)
    map_[i] = static_cast<char>(i >> 12);
  PagePopulator populator;
  populator.Populate(map_, kSize, 0, kSize);
  for (int64_t i = 0; i < kSize; i += 4096) {
    ASSERT_EQ(map_[i], static_cast<char>(i >> 12));
    ASSERT_EQ(map_[i + 1], 0);
  }
}

TEST_F(PagePopulatorTest, ThreadsMayWriteWhileOthersPopulate) {
  PagePopulator populator;
  constexpr int64_t kItem = 700000;
  const int64_t items = kSize / kItem;
  ParallelFor(items, 4, [&](int64_t i) {
    populator.Populate(map_, kSize, i * kItem, (i + 1) * kItem);
    for (int64_t b = i * kItem; b < (i + 1) * kItem; ++b) {
      map_[b] = static_cast<char>(i + 1);
    }
  });
  for (int64_t b = 0; b < items * kItem; ++b) {
    ASSERT_EQ(map_[b], static_cast<char>(b / kItem + 1));
  }
}

}  // namespace
}  // namespace feedrate
