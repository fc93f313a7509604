// The C functions of the loader: used by several threads at once, closed while
// they are used, and with memory of the caller. dev/test.sh --full runs it with
// TSan and ASan; python/tests has everything else.
#include "lib/loader/python/c_api.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/python/engine.h"
#include "lib/loader/python/episode_settings.h"

namespace feedrate {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kClosed = 9;
constexpr int kDeadlineExceeded = 4;
constexpr int kSide = 8;
constexpr int kImageBytes = kSide * kSide * 3;
constexpr int kBatchSize = 4;
constexpr int kPrefetch = 2;

// Image i has the value i.
std::vector<uint8_t> Images(int count) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < count; ++i) {
    pixels.insert(pixels.end(), kImageBytes, static_cast<uint8_t>(i));
  }
  return pixels;
}

std::vector<std::string> SettingsOf(const std::string& source) {
  return {"kind=images",
          "source=" + source,
          "path=here",
          "batch_size=4",
          "crop=8",
          "crop_width=8",
          "crop_position=center",
          "channels=3",
          "flip=0",
          "workers=2",
          "prefetch=2",
          "shuffle=1",
          "seed=0",
          "rank=0",
          "world_size=1",
          "tail=keep",
          "on_error=skip",
          "format=uint8 first",
          "mean=0",
          "std=1",
          "read_ahead=auto",
          "jpeg_index=",
          "gpu=-1",
          "nvjpeg=auto",
          "memory=own",
          "needs_labels=1",
          "configs="};
}

void Set(std::vector<std::string>* settings, const std::string& name,
         const std::string& value) {
  for (std::string& setting : *settings) {
    if (setting.rfind(name + "=", 0) == 0) setting = name + "=" + value;
  }
}

int64_t Open(const std::vector<std::string>& settings,
             const std::vector<uint8_t>& pixels) {
  std::vector<const char*> texts;
  for (const std::string& setting : settings) texts.push_back(setting.c_str());
  const feedrate_array array = {
      pixels.data(), static_cast<int64_t>(pixels.size()) / kImageBytes, kSide,
      kSide, 3};
  int64_t loader = 0;
  EXPECT_EQ(feedrate_open(texts.data(), static_cast<int64_t>(texts.size()),
                          nullptr, 0, &array, &loader),
            0)
      << feedrate_error();
  return loader;
}

// Takes batches until there are no more, and adds their items.
void TakeAll(int64_t loader, std::mutex* mutex, std::multiset<int64_t>* items) {
  for (;;) {
    feedrate_batch batch;
    const int code = feedrate_next(loader, 0.01, &batch);
    if (code == kDeadlineExceeded) continue;
    ASSERT_EQ(code, 0) << feedrate_error();
    if (batch.keep == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(*mutex);
      items->insert(batch.items, batch.items + batch.size);
    }
    feedrate_release(batch.keep);
  }
}

TEST(LoaderCApiTest, ThreadsTakeEachBatchOnce) {
  const std::vector<uint8_t> pixels = Images(50);
  const int64_t loader = Open(SettingsOf("array"), pixels);
  std::multiset<int64_t> every;
  for (int i = 0; i < 50; ++i) every.insert(i);
  for (int epoch = 0; epoch < 20; ++epoch) {
    ASSERT_EQ(feedrate_start(loader, epoch, 0), 0);
    std::mutex mutex;
    std::multiset<int64_t> items;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { TakeAll(loader, &mutex, &items); });
    }
    // What others ask meanwhile.
    threads.emplace_back([&] {
      int64_t number = 0;
      const char* text = nullptr;
      std::vector<char> names(1000);
      EXPECT_EQ(feedrate_faults(loader, &number, &number, &text), 0);
      EXPECT_EQ(feedrate_names(loader, names.data(), &number), 0);
      EXPECT_EQ(feedrate_count(loader, 10, &number), 0);
      EXPECT_EQ(number, 40);
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(items, every);
  }
  feedrate_close(loader);
}

TEST(LoaderCApiTest, ClosesAtAnyMoment) {
  const std::vector<uint8_t> pixels = Images(50);
  for (int round = 0; round < 50; ++round) {
    const int64_t loader = Open(SettingsOf("array"), pixels);
    ASSERT_EQ(feedrate_start(loader, 0, 0), 0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([loader] {
        for (int epoch = 0;; ++epoch) {
          feedrate_batch batch;
          const int code = feedrate_next(loader, 0.01, &batch);
          if (code == kClosed) return;
          if (code != 0) continue;
          if (batch.keep != nullptr) feedrate_release(batch.keep);
          if (batch.keep == nullptr) feedrate_start(loader, epoch, 0);
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    // By two at once.
    threads.emplace_back([loader] { feedrate_close(loader); });
    feedrate_close(loader);
    for (std::thread& thread : threads) thread.join();
  }
}

// An engine that never has a batch.
class Stalled : public Engine {
 public:
  Stalled(std::unique_ptr<Source> source, std::atomic<int>* waiting,
          std::atomic<bool>* destroyed)
      : source_(std::move(source)), waiting_(waiting), destroyed_(destroyed) {}
  ~Stalled() override { *destroyed_ = true; }
  const Source& source() const override { return *source_; }
  SampleShape shape() const override { return {3, kSide, kSide}; }
  absl::Status Start(int64_t, const EpochShare&) override {
    return absl::OkStatus();
  }
  bool WaitFor(double seconds) override {
    ++*waiting_;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return false;
  }
  absl::StatusOr<std::unique_ptr<KeptBatch>> Next() override { return nullptr; }
  std::vector<ItemFault> End() override { return {}; }
  const FaultList* faults() const override { return nullptr; }

 private:
  const std::unique_ptr<Source> source_;
  std::atomic<int>* const waiting_;
  std::atomic<bool>* const destroyed_;
};

std::atomic<int> waiting{0};
std::atomic<bool> destroyed{false};

TEST(LoaderCApiTest, ClosingEndsAWaitAndLaterCallsDoNoHarm) {
  const std::vector<uint8_t> pixels = Images(2);
  const MakeGpuEngineFn before = make_gpu_engine;
  make_gpu_engine =
      [](std::unique_ptr<Source> source, const LoaderOptions&,
         const LoaderGpuSettings&) -> absl::StatusOr<std::unique_ptr<Engine>> {
    return std::make_unique<Stalled>(std::move(source), &waiting, &destroyed);
  };
  std::vector<std::string> settings = SettingsOf("array");
  Set(&settings, "gpu", "0");
  const int64_t loader = Open(settings, pixels);
  make_gpu_engine = before;
  std::vector<int> codes(3, 0);
  std::vector<std::thread> threads;
  for (int& code : codes) {
    threads.emplace_back([loader, &code] {
      feedrate_batch batch;
      do {
        code = feedrate_next(loader, 0.02, &batch);
      } while (code == kDeadlineExceeded);
    });
  }
  while (waiting < 5) std::this_thread::yield();
  feedrate_close(loader);
  EXPECT_TRUE(destroyed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(codes, Each(kClosed));

  feedrate_batch batch;
  feedrate_facts facts;
  int64_t number = 0;
  const char* text = nullptr;
  EXPECT_EQ(feedrate_describe(loader, &facts), kClosed);
  EXPECT_EQ(feedrate_names(loader, nullptr, &number), kClosed);
  EXPECT_EQ(feedrate_labels(loader, &number), kClosed);
  EXPECT_EQ(feedrate_classes(loader, nullptr, &number), kClosed);
  EXPECT_EQ(feedrate_left_out(loader, &text), kClosed);
  EXPECT_EQ(feedrate_count(loader, 0, &number), kClosed);
  EXPECT_EQ(feedrate_give(loader, &number), kClosed);
  EXPECT_EQ(feedrate_start(loader, 0, 0), kClosed);
  EXPECT_EQ(feedrate_next(loader, 0, &batch), kClosed);
  EXPECT_EQ(feedrate_faults(loader, &number, &number, &text), kClosed);
  EXPECT_THAT(feedrate_error(), HasSubstr("closed"));
  feedrate_close(loader);
  // Another one has another number.
  const int64_t next = Open(SettingsOf("array"), pixels);
  EXPECT_NE(next, loader);
  feedrate_close(next);
}

// A copy in a queue may read a batch after its consumer has dropped it: the
// loader must not write there again.
TEST(LoaderCApiTest, ForeignMemoryIsNotUsedAfterItsBatch) {
  const std::vector<uint8_t> pixels = Images(50);
  std::vector<std::string> settings = SettingsOf("array");
  Set(&settings, "memory", "foreign");
  const int64_t loader = Open(settings, pixels);
  feedrate_facts facts;
  ASSERT_EQ(feedrate_describe(loader, &facts), 0);
  EXPECT_EQ(facts.batch_bytes, kBatchSize * kImageBytes);
  std::vector<std::unique_ptr<uint8_t[]>> blocks;
  std::set<const void*> lent;
  const auto give = [&] {
    blocks.push_back(std::make_unique<uint8_t[]>(facts.batch_bytes));
    lent.insert(blocks.back().get());
    ASSERT_EQ(feedrate_give(loader, blocks.back().get()), 0);
  };
  struct Delivered {
    const uint8_t* data;
    std::vector<int64_t> items;
  };
  std::vector<Delivered> delivered;
  for (int i = 0; i < kPrefetch; ++i) give();
  // The first epoch is short: its last batches are smaller than later ones.
  for (const int start : {45, 0, 0}) {
    ASSERT_EQ(feedrate_start(loader, 1, start), 0) << feedrate_error();
    for (;;) {
      if (lent.size() <= kPrefetch) give();
      feedrate_batch batch;
      ASSERT_EQ(feedrate_next(loader, 10, &batch), 0) << feedrate_error();
      if (batch.keep == nullptr) break;
      EXPECT_EQ(lent.erase(batch.data), 1u);
      delivered.push_back({static_cast<const uint8_t*>(batch.data),
                           {batch.items, batch.items + batch.size}});
      feedrate_release(batch.keep);
    }
  }
  feedrate_close(loader);
  EXPECT_EQ(delivered.size(), 2u + 13 + 13);
  for (const Delivered& batch : delivered) {
    for (size_t i = 0; i < batch.items.size(); ++i) {
      for (int at = 0; at < kImageBytes; ++at) {
        ASSERT_EQ(batch.data[i * kImageBytes + at], batch.items[i]);
      }
    }
  }
}

// It was left out.
TEST(LoaderCApiTest, AnOffsetThatIsNoNumberIsAnError) {
  const char* const texts[] = {"frames_unit=steps", "frames=-1,x"};
  Settings settings(texts, 2);
  EXPECT_EQ(OpenEpisodes(&settings, {}).status().message(),
            "frames=-1,x is not possible");
}

TEST(LoaderCApiTest, NamesOfFilesAreNoCommandsForATerminal) {
  const std::string folder = ::testing::TempDir() + "/escapes";
  const std::string file = folder + "/\x1b[31mred.npy";
  std::filesystem::create_directories(folder);
  std::ofstream(file) << "no array";
  for (const char* on_error : {"skip", "fail"}) {
    std::vector<std::string> settings = SettingsOf("files");
    Set(&settings, "on_error", on_error);
    std::vector<const char*> texts;
    for (const std::string& text : settings) texts.push_back(text.c_str());
    const char* const files[] = {file.c_str()};
    int64_t loader = 0;
    ASSERT_EQ(feedrate_open(texts.data(), static_cast<int64_t>(texts.size()),
                            files, 1, nullptr, &loader),
              0)
        << feedrate_error();
    ASSERT_EQ(feedrate_start(loader, 0, 0), 0);
    feedrate_batch batch;
    EXPECT_NE(feedrate_next(loader, 10, &batch), 0);
    EXPECT_THAT(feedrate_error(), HasSubstr("\\x1b[31mred.npy: "));
    EXPECT_THAT(feedrate_error(), Not(HasSubstr("\x1b")));
    int64_t total = 0;
    const char* text = nullptr;
    int64_t in_epoch = 0;
    ASSERT_EQ(feedrate_faults(loader, &total, &in_epoch, &text), 0);
    EXPECT_EQ(total, 1);
    EXPECT_EQ(in_epoch, 1);
    EXPECT_THAT(text, HasSubstr("\\x1b[31mred.npy\t"));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    feedrate_close(loader);
  }
}

}  // namespace
}  // namespace feedrate
