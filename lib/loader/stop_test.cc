// Ending an epoch at any moment: nothing hangs, nothing is left behind.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lib/loader/loader.h"
#include "lib/loader/testing/test_files.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

LoaderOptions RandomOptions(Random* random) {
  LoaderOptions options;
  options.recipe.crop = 16;
  options.batch_size = 1 + static_cast<int>(random->Below(6));
  options.workers = static_cast<int>(random->Below(5));
  options.buffers = 1 + static_cast<int>(random->Below(3));
  options.persistent = random->Coin();
  options.read_ahead.method =
      random->Coin() ? ReadMethod::kInline : ReadMethod::kThreads;
  options.read_ahead.depth = 1 + static_cast<int>(random->Below(8));
  options.mix.kind = random->Coin() ? MixKind::kMixup : MixKind::kNone;
  return options;
}

TEST(LoaderStopTest, AtRandomMoments) {
  const std::string folder = TestFolder(60, {7, 8, 30});
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    auto loader =
        *Loader::Create(*FolderSource(folder), RandomOptions(&random), nullptr,
                        random.Coin() ? std::make_unique<HostCopy>() : nullptr);
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto started = *loader->StartEpoch(epoch);
      const int64_t batches = random.Below(started->batches() + 2);
      for (int64_t i = 0; i < batches; ++i) {
        const auto batch = started->Next();
        ASSERT_TRUE(batch.ok()) << batch.status();
        ASSERT_EQ(*batch == nullptr, i >= started->batches());
      }
      std::this_thread::sleep_for(
          std::chrono::microseconds(random.Below(1500)));
      const Clock::time_point begin = Clock::now();
      if (random.Coin()) {
        started->Stop();
        EXPECT_EQ(*started->Next(), nullptr);
      }
      started.reset();
      // A hang would last forever; a slow machine must not fail the test.
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
    }
  }
}

TEST(LoaderStopTest, ManyLoadersLiveAndDieTogether) {
  const std::string folder = TestFolder(20);
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t) {
    users.emplace_back([&folder, t] {
      Random random(t);
      for (int round = 0; round < 8; ++round) {
        auto loader =
            *Loader::Create(*FolderSource(folder), RandomOptions(&random));
        auto epoch = *loader->StartEpoch(0);
        ASSERT_TRUE(epoch->Next().ok());
      }
    });
  }
  for (std::thread& user : users) user.join();
}

TEST(LoaderStopTest, AfterAnError) {
  const std::string folder = TestFolder(30, {4});
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    LoaderOptions options = RandomOptions(&random);
    options.on_error = OnError::kFail;
    auto loader = *Loader::Create(*FolderSource(folder), options);
    auto epoch = *loader->StartEpoch(0);
    absl::Status status;
    while (status.ok()) {
      const auto batch = epoch->Next();
      status = batch.status();
      ASSERT_TRUE(!batch.ok() || *batch != nullptr);
    }
    // The error is final, and the loader can start over.
    EXPECT_EQ(epoch->Next().status(), status);
    epoch.reset();
    ASSERT_TRUE(loader->StartEpoch(0, {5, 10}).ok());
  }
}

}  // namespace
}  // namespace feedrate
