#include "lib/loader/read_ahead/read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/source/remote_source.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/cache/cache_dir.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/checksum.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// File i contains i times the digit i modulo 10, so the first is empty; the
// last does not exist.
std::unique_ptr<Source> Files(int count) {
  const std::string folder = NewTestFolder();
  std::vector<ListedFile> files;
  for (int i = 0; i < count; ++i) {
    files.push_back({WriteTestFile(folder, absl::StrCat(i, ".jpg"),
                                   std::string(i, '0' + i % 10)),
                     -1});
  }
  files.push_back({folder + "/none.jpg", 3});
  return ListSource(files);
}

class ReadAheadTest : public ::testing::TestWithParam<ReadMethod> {
 protected:
  std::unique_ptr<ReadAhead> Start(const Source& source, const ItemOrder& order,
                                   int depth) {
    ReadAheadOptions options;
    options.method = GetParam();
    options.threads = 3;
    options.depth = depth;
    auto reads = StartReadAhead(options, source, order);
    if (absl::IsUnimplemented(reads.status())) {
      unavailable_ = std::string(reads.status().message());
      return nullptr;
    }
    EXPECT_TRUE(reads.ok()) << reads.status();
    return *std::move(reads);
  }
  std::string unavailable_;
};

TEST_P(ReadAheadTest, GivesEveryItemToWhoTakesIt) {
  constexpr int kFiles = 60;
  const std::unique_ptr<Source> source = Files(kFiles);
  const ItemOrder order(3, 2 * kFiles, source->size(), true, 5, 0);
  for (const int depth : {1, 7}) {
    const auto reads = Start(*source, order, depth);
    if (reads == nullptr) GTEST_SKIP() << unavailable_;
    std::atomic<int64_t> next{0};
    std::atomic<int> missing{0};
    const auto work = [&] {
      ReadBuffer own;
      for (int64_t p; (p = next.fetch_add(1)) < order.count();) {
        const auto bytes = reads->Take(p, &own);
        const int64_t item = order.Item(p);
        if (item == kFiles) {
          EXPECT_THAT(std::string(bytes.status().message()),
                      HasSubstr("cannot open"));
          ++missing;
        } else {
          ASSERT_TRUE(bytes.ok()) << bytes.status();
          EXPECT_EQ(*bytes, std::string(item, '0' + item % 10));
        }
        reads->Release(p);
      }
    };
    std::thread other(work);
    work();
    other.join();
    reads->Stop();
    EXPECT_GT(missing, 0);
    EXPECT_GT(reads->times().busy_ns, 0);
  }
}

TEST_P(ReadAheadTest, ReadsFromShards) {
  const std::string shard = WriteTestFile(
      NewTestFolder(), "a.tar",
      tar::Builder().File("a.jpg", "first").File("b.jpg", "second").Finish());
  const auto source = ShardSource({shard});
  ASSERT_TRUE(source.ok()) << source.status();
  const ItemOrder order(0, 2, 2, false, 0, 0);
  const auto reads = Start(**source, order, 4);
  if (reads == nullptr) GTEST_SKIP() << unavailable_;
  ReadBuffer own;
  EXPECT_EQ(*reads->Take(0, &own), "first");
  EXPECT_EQ(*reads->Take(1, &own), "second");
}

TEST_P(ReadAheadTest, StopsWithReadsUnderWay) {
  const std::unique_ptr<Source> source = Files(50);
  const ItemOrder order(0, 51, 51, false, 0, 0);
  for (int taken = 0; taken < 5; ++taken) {
    const auto reads = Start(*source, order, 8);
    if (reads == nullptr) GTEST_SKIP() << unavailable_;
    ReadBuffer own;
    for (int64_t p = 0; p < taken; ++p) {
      EXPECT_TRUE(reads->Take(p, &own).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ReadAheadTest,
                         ::testing::Values(ReadMethod::kInline,
                                           ReadMethod::kThreads,
                                           ReadMethod::kIoUring,
                                           ReadMethod::kAuto));

bool IsCached(const std::vector<ListedFile>& files) {
  const auto source = ListSource(files);
  return IsMostlyCached(
      *source, ItemOrder(0, source->size(), source->size(), false, 0, 0));
}

// Items that have to be unpacked: what lies at their place is something else.
class Packed : public Source {
 public:
  int64_t size() const override { return 3; }
  std::string name(int64_t item) const override { return "packed"; }
  bool has_places() const override { return false; }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer*) const override {
    return absl::string_view("unpacked");
  }
};

TEST(PackedTest, AreReadByThreads) {
  const Packed source;
  const ItemOrder order(0, 3, 3, false, 0, 0);
  ReadAheadOptions options;
  auto reads = StartReadAhead(options, source, order);
  ASSERT_TRUE(reads.ok()) << reads.status();
  EXPECT_EQ((*reads)->method(), ReadMethod::kThreads);
  EXPECT_EQ(*(*reads)->Take(0, nullptr), "unpacked");
  (*reads)->Release(0);
  (*reads)->Stop();
  options.method = ReadMethod::kIoUring;
  EXPECT_THAT(StartReadAhead(options, source, order).status().message(),
              HasSubstr("use read_ahead=threads"));
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

// Reading ahead from a store: the requests made, and correct bytes for any
// order of responses.

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string BytesAt(int64_t offset, int64_t bytes) {
  std::string text(bytes, '\0');
  for (int64_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>((offset + i) * 131 >> 3);
  }
  return text;
}

// Responds from its own threads, late and out of order.
class SlowStore final : public ObjectStore {
 public:
  ~SlowStore() override {
    HoldUntil(0);
    for (std::thread& thread : threads_) thread.join();
  }
  const std::string& url() const override { return url_; }
  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    return std::vector<ObjectInfo>();
  }
  absl::StatusOr<ObjectInfo> Stat(const std::string&) override {
    return absl::NotFoundError("not asked for");
  }
  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back(request);
    const int64_t under_way = ++under_way_;
    most_under_way_ = std::max(most_under_way_, under_way);
    changed_.notify_all();
    const auto delay = std::chrono::milliseconds(1 + random_() % 4);
    threads_.emplace_back([this, request, done, delay] {
      std::this_thread::sleep_for(delay);
      absl::Status status;
      if (!WaitForLeave()) {
        status = absl::CancelledError("cancelled");
      } else if (request.name == "bad") {
        status = absl::UnavailableError("503 for ever");
      } else {
        const std::string bytes = BytesAt(request.offset, request.bytes);
        std::copy(bytes.begin(), bytes.end(), request.out);
      }
      --under_way_;
      done(status);
    });
  }
  void SetCancelled(bool cancelled) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = cancelled;
    changed_.notify_all();
  }
  TransferCounts counts() const override { return {}; }

  std::vector<ReadRequest> requests() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }
  int64_t most_under_way() const { return most_under_way_; }
  // Sends no response before this many requests were made.
  void HoldUntil(size_t requests) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hold_until_ = requests;
    changed_.notify_all();
  }

 private:
  // False if the read was cancelled.
  bool WaitForLeave() {
    std::unique_lock<std::mutex> lock(mutex_);
    // Only a hang takes this long.
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(120), [this] {
      return cancelled_ || requests_.size() >= hold_until_;
    }));
    return !cancelled_;
  }

  const std::string url_ = "slow://store";
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t hold_until_ = 0;
  bool cancelled_ = false;
  std::mt19937 random_;
  std::vector<ReadRequest> requests_;
  std::atomic<int64_t> under_way_{0};
  int64_t most_under_way_ = 0;
  std::vector<std::thread> threads_;
};

// `count` items of 1000 bytes with 512 bytes between them, in one object; or
// one object each.
std::vector<RemoteItem> Items(int count, bool in_shard) {
  std::vector<RemoteItem> items(count);
  for (int i = 0; i < count; ++i) {
    items[i].object = in_shard ? 0 : i;
    items[i].offset = in_shard ? 512 + i * 1512 : 0;
    items[i].bytes = 1000 + (in_shard ? 0 : i);
    items[i].is_whole = !in_shard;
    items[i].crc32c = Crc32c(BytesAt(items[i].offset, items[i].bytes));
  }
  return items;
}

struct Fixture {
  explicit Fixture(std::vector<RemoteItem> items, int connections = 3) {
    auto owned = std::make_unique<SlowStore>();
    store = owned.get();
    OpenedStore opened;
    opened.store = std::move(owned);
    std::vector<RemoteObject> objects(items.back().object + 1);
    for (size_t i = 0; i < objects.size(); ++i) {
      objects[i].name = absl::StrCat("object", i);
    }
    size = static_cast<int64_t>(items.size());
    source = std::make_unique<RemoteSource>(
        std::move(opened), std::move(objects), std::move(items), connections,
        /*block_bytes=*/10 * 1512);
  }

  // Takes every position on `workers` threads; returns the number of failures.
  int TakeAll(const ItemOrder& order, ReadAhead* reads, int workers) {
    std::atomic<int64_t> next{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) {
      threads.emplace_back([&] {
        ReadBuffer own;
        for (int64_t p; (p = next++) < order.count();) {
          const auto bytes = reads->Take(p, &own);
          if (!bytes.ok() || !source->Check(order.Item(p), *bytes).ok()) {
            ++wrong;
          }
          reads->Release(p);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong;
  }

  SlowStore* store;
  int64_t size;
  std::unique_ptr<RemoteSource> source;
};

TEST(ReadAheadRemoteTest, ItemsOfABlockAreOneRequest) {
  Fixture f(Items(95, true));
  const ItemOrder order(0, f.size, f.size, false, 0, 0);
  auto reads = StartReadAhead({}, *f.source, order);
  ASSERT_TRUE(reads.ok()) << reads.status();
  EXPECT_EQ((*reads)->method(), ReadMethod::kRemote);
  EXPECT_EQ(f.TakeAll(order, reads->get(), 3), 0);
  // Ten items per block, five in the last.
  EXPECT_THAT(f.store->requests(), SizeIs(10));
  EXPECT_EQ(f.store->requests()[0].bytes, 9 * 1512 + 1000);
  EXPECT_EQ(f.store->requests()[9].bytes, 4 * 1512 + 1000);
  (*reads)->Stop();
  EXPECT_GT((*reads)->times().busy_ns, 0);
}

TEST(ReadAheadRemoteTest, ObjectsAndShuffledItemsAreARequestEach) {
  for (const bool in_shard : {false, true}) {
    Fixture f(Items(60, in_shard));
    const ItemOrder order(0, f.size, f.size, /*shuffle=*/in_shard, 5, 0);
    auto reads = StartReadAhead({}, *f.source, order);
    EXPECT_EQ(f.TakeAll(order, reads->get(), 4), 0);
    EXPECT_GT(f.store->requests().size(), 50u);
    EXPECT_LE(f.store->requests().size(), 60u);
  }
}

TEST(ReadAheadRemoteTest, KeepsAllConnectionsBusyAndNoMore) {
  Fixture f(Items(100, false), /*connections=*/16);
  f.store->HoldUntil(16);
  const ItemOrder order(0, f.size, f.size, false, 0, 0);
  auto reads = StartReadAhead({}, *f.source, order);
  EXPECT_EQ(f.TakeAll(order, reads->get(), 1), 0);
  EXPECT_GE(f.store->most_under_way(), 16);
  EXPECT_LE(f.store->most_under_way(), 32);
}

TEST(ReadAheadRemoteTest, AnEpochMayBeginAnywhereAndGoRound) {
  Fixture f(Items(95, true));
  const ItemOrder order(87, 30, f.size, false, 0, 0);
  auto reads = StartReadAhead({}, *f.source, order);
  EXPECT_EQ(f.TakeAll(order, reads->get(), 2), 0);
}

TEST(ReadAheadRemoteTest, AFailureIsThatOfItsItems) {
  std::vector<RemoteItem> items = Items(20, false);
  items[7].crc32c = 1;  // Does not match the index.
  Fixture f(std::move(items));
  const ItemOrder order(0, f.size, f.size, false, 0, 0);
  auto reads = StartReadAhead({}, *f.source, order);
  for (int64_t p = 0; p < order.count(); ++p) {
    const auto bytes = (*reads)->Take(p, nullptr);
    EXPECT_EQ(bytes.ok(), p != 7) << p;
    (*reads)->Release(p);
  }
  ReadBuffer buffer;
  EXPECT_TRUE(f.source->Read(6, &buffer).ok());
  EXPECT_THAT(std::string(f.source->Read(7, &buffer).status().message()),
              HasSubstr("checksum"));
  EXPECT_EQ(f.source->name(7), "slow://store/object7");
}

TEST(ReadAheadRemoteTest, StopsWithoutWaitingForAnswers) {
  Fixture f(Items(20, false));
  f.store->HoldUntil(1000);
  const ItemOrder order(0, f.size, f.size, false, 0, 0);
  auto reads = StartReadAhead({}, *f.source, order);
  std::thread worker([&] {
    EXPECT_EQ((*reads)->Take(0, nullptr).status().code(),
              absl::StatusCode::kCancelled);
    (*reads)->Release(0);
  });
  (*reads)->Stop();
  worker.join();
  *reads = nullptr;  // Late responses are dropped.
}

// Workers and threads that wait for a request of their own.
TEST(ReadAheadRemoteTest, CancelledReadsEndEveryWait) {
  for (const ReadMethod method : {ReadMethod::kInline, ReadMethod::kThreads}) {
    Fixture f(Items(20, false));
    f.store->HoldUntil(1000);
    const ItemOrder order(0, f.size, f.size, false, 0, 0);
    ReadAheadOptions options;
    options.method = method;
    auto reads = StartReadAhead(options, *f.source, order);
    ASSERT_TRUE(reads.ok()) << reads.status();
    std::thread worker([&] {
      ReadBuffer own;
      EXPECT_EQ((*reads)->Take(0, &own).status().code(),
                absl::StatusCode::kCancelled);
    });
    while (f.store->requests().empty()) std::this_thread::yield();
    {
      const CancelledReads cancelled(*f.source);
      (*reads)->Stop();
      worker.join();
    }
    *reads = nullptr;
    f.store->HoldUntil(0);
    ReadBuffer own;
    EXPECT_TRUE(f.source->Read(3, &own).ok()) << "it can be read again";
  }
}

TEST(ReadAheadRemoteTest, FilesAreNotReadByRequests) {
  Fixture f(Items(5, false));
  const ItemOrder order(0, f.size, f.size, false, 0, 0);
  ReadAheadOptions options;
  options.method = ReadMethod::kIoUring;
  EXPECT_EQ(StartReadAhead(options, *f.source, order).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.method = ReadMethod::kThreads;
  auto reads = StartReadAhead(options, *f.source, order);
  ASSERT_TRUE(reads.ok());
  EXPECT_EQ(f.TakeAll(order, reads->get(), 2), 0);
}

// With a cache the second epoch makes no request, and workers read for
// themselves.
TEST(ReadAheadRemoteTest, ACachedSetIsNear) {
  std::string folder = testing::TempDir() + "/remote.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "far")).ok());
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(folder, "far/a.tar"), BytesAt(0, 100 * 1512))
          .ok());
  StoreSpec spec;
  spec.url = "file://" + JoinPath(folder, "far");
  spec.options.range_bytes = 10 * 1512;
  spec.cache_folder = JoinPath(folder, "cache");
  std::vector<SourceFile> files;
  for (int i = 0; i < 50; ++i) {
    SourceFile& file = files.emplace_back();
    file.path = "a.tar";
    file.bytes = 1000;
    file.part = ObjectPart{512 + i * 1512, "", "", absl::StrCat(i, ".jpg"),
                           Crc32c(BytesAt(512 + i * 1512, 1000))};
  }
  const auto source = OpenRemoteSource(spec, files);
  ASSERT_TRUE(source.ok()) << source.status();
  const RemoteSource& remote = *(*source)->remote();
  for (const bool shuffle : {false, true}) {
    const ItemOrder order(0, 50, 50, shuffle, 3, 0);
    auto reads = StartReadAhead({}, **source, order);
    ASSERT_TRUE(reads.ok());
    EXPECT_EQ((*reads)->method(),
              shuffle ? ReadMethod::kInline : ReadMethod::kRemote);
    ReadBuffer own;
    for (int64_t p = 0; p < 50; ++p) {
      EXPECT_TRUE((*reads)->Take(p, &own).ok()) << p;
      (*reads)->Release(p);
    }
    EXPECT_EQ(remote.counts().requests, 5);
  }
  EXPECT_EQ(remote.cache_counts().hits, 50);
  EXPECT_EQ(remote.cache_counts().misses, 5);
  EXPECT_THAT((*source)->name(3), HasSubstr("/far/a.tar:3.jpg"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace feedrate
