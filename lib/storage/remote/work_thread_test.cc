#include "lib/storage/remote/work_thread.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(WorkThreadTest, RunsEverythingInOrder) {
  std::vector<int> ran;
  WorkThread thread;
  for (int i = 0; i < 4; ++i) thread.Post([&ran, i] { ran.push_back(i); });
  thread.Stop();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2, 3));
}

TEST(WorkThreadTest, AfterTheStopTheCallerRunsIt) {
  WorkThread thread;
  thread.Stop();
  std::thread::id ran_in;
  thread.Post([&] { ran_in = std::this_thread::get_id(); });
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST(WorkThreadTest, WorkMayPostMore) {
  int ran = 0;
  WorkThread thread;
  thread.Post([&] { thread.Post([&] { ++ran; }); });
  thread.Stop();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace feedrate
