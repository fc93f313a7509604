#include "lib/base/seal_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr size_t kBytes = 4096;

UniqueFd MakeFile(unsigned flags) {
  UniqueFd fd(memfd_create("test", flags));
  EXPECT_EQ(ftruncate(fd.get(), kBytes), 0);
  return fd;
}

TEST(SealMemoryTest, NothingIsWrittenAnyMore) {
  const UniqueFd fd = MakeFile(MFD_ALLOW_SEALING);
  ASSERT_TRUE(SealMemory(fd.get()));
  EXPECT_EQ(write(fd.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(fd.get(), 1), 0);
}

// A mapping that can be written is what the kernel calls busy.
TEST(SealMemoryTest, WaitsForWhoeverStillHoldsIt) {
  const UniqueFd fd = MakeFile(MFD_ALLOW_SEALING);
  void* const map = mmap(nullptr, kBytes, PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  std::thread holder([map] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    munmap(map, kBytes);
  });
  EXPECT_TRUE(SealMemory(fd.get()));
  holder.join();
}

TEST(SealMemoryTest, WhatCannotBeSealedIsSaidAtOnce) {
  const UniqueFd fd = MakeFile(0);
  EXPECT_FALSE(SealMemory(fd.get()));
  EXPECT_EQ(errno, EPERM);
}

}  // namespace
}  // namespace feedrate
