#include "lib/storage/cache/cached_store.h"

#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string TestBytes(int size, int seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

class CachedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/cached_store.XXXXXX";
    folder_ = mkdtemp(folder.data());
    ASSERT_TRUE(MakeFolder(Path("far")).ok());
    for (int i = 0; i < 4; ++i) {
      const std::string path = Path(absl::StrCat("far/", i, ".jpg"));
      ASSERT_TRUE(WriteFileAtomically(path, TestBytes(50000, i)).ok());
    }
    options_.folder = Path("cache");
    options_.pause_s = 0;
    Reopen();
  }
  void TearDown() override {
    store_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const {
    return JoinPath(folder_, name);
  }
  void Reopen() {
    store_ = nullptr;
    auto cache = CacheDir::Open(options_);
    ASSERT_TRUE(cache.ok()) << cache.status();
    store_ = std::make_unique<CachedStore>(*OpenFileStore(Path("far")),
                                           *std::move(cache));
  }

  absl::StatusOr<std::string> Read(int i, int64_t offset, int64_t bytes,
                                   CacheBlock block) {
    std::string out(bytes, '\0');
    ReadRequest request;
    request.name = absl::StrCat(i, ".jpg");
    request.version = store_->Stat(request.name)->version;
    request.offset = offset;
    request.bytes = bytes;
    request.out = out.data();
    absl::Status result;
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    store_->StartBlockRead(request, block, [&](absl::Status status) {
      const std::lock_guard<std::mutex> lock(mutex);
      result = std::move(status);
      is_done = true;
      done.notify_all();
    });
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return is_done; });
    if (!result.ok()) return result;
    return out;
  }
  absl::StatusOr<std::string> ReadWhole(int i) {
    return Read(i, 0, 50000, {0, 50000});
  }
  int64_t FarReads() const { return store_->counts().requests; }

  std::string folder_;
  CacheOptions options_;
  std::unique_ptr<CachedStore> store_;
};

TEST_F(CachedStoreTest, ReadsFromAfarOnce) {
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(*ReadWhole(i), TestBytes(50000, i));
  }
  EXPECT_EQ(FarReads(), 4);
  const CacheCounts counts = store_->cache().counts();
  EXPECT_EQ(counts.hits, 8);
  EXPECT_EQ(counts.misses, 4);
  EXPECT_EQ(counts.hit_bytes, 8 * 50000);
  Reopen();
  EXPECT_EQ(*ReadWhole(2), TestBytes(50000, 2));
  EXPECT_EQ(FarReads(), 0);
}

TEST_F(CachedStoreTest, PartsOfABlockBringTheBlock) {
  const std::string all = TestBytes(50000, 1);
  EXPECT_EQ(*Read(1, 1000, 10, {512, 20000}), all.substr(1000, 10));
  EXPECT_EQ(*Read(1, 20000, 512, {512, 20000}), all.substr(20000, 512));
  EXPECT_EQ(*Read(1, 512, 20000, {512, 20000}), all.substr(512, 20000));
  EXPECT_EQ(FarReads(), 1);
  EXPECT_EQ(store_->counts().bytes, 20000);
}

TEST_F(CachedStoreTest, AChangedObjectIsAnotherOne) {
  EXPECT_EQ(*ReadWhole(0), TestBytes(50000, 0));
  ASSERT_TRUE(WriteFileAtomically(Path("far/0.jpg"), TestBytes(50000, 9)).ok());
  EXPECT_EQ(*ReadWhole(0), TestBytes(50000, 9));
}

TEST_F(CachedStoreTest, ACorruptEntryIsReadAgain) {
  for (const bool whole : {true, false}) {
    const auto read = [&] {
      return whole ? Read(0, 0, 50000, {0, 50000})
                   : Read(0, 100, 9, {0, 50000});
    };
    const std::string right =
        whole ? TestBytes(50000, 0) : TestBytes(50000, 0).substr(100, 9);
    EXPECT_EQ(*read(), right);
    for (const auto& blob :
         std::filesystem::recursive_directory_iterator(Path("cache/blobs"))) {
      if (blob.is_directory()) continue;
      std::string bytes = *ReadFile(blob.path().string());
      bytes[104] ^= 1;
      ASSERT_TRUE(WriteFileAtomically(blob.path().string(), bytes).ok());
    }
    EXPECT_EQ(*read(), right);
    EXPECT_EQ(*read(), right);
  }
  EXPECT_EQ(store_->cache().counts().bad_entries, 2);
  EXPECT_EQ(FarReads(), 3);
}

// A store whose server takes requests and says nothing.
class SilentStore final : public ObjectStore {
 public:
  const std::string& url() const override { return url_; }
  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    return absl::UnavailableError("silence");
  }
  absl::StatusOr<ObjectInfo> Stat(const std::string&) override {
    return absl::UnavailableError("silence");
  }
  void StartRead(const ReadRequest&,
                 std::function<void(absl::Status)> done) override {
    waiting_.push_back(std::move(done));
  }
  void SetCancelled(bool cancelled) override {
    for (const auto& done : waiting_) done(absl::CancelledError("cancelled"));
    waiting_.clear();
  }
  TransferCounts counts() const override { return {}; }

 private:
  const std::string url_ = "silent://store";
  std::vector<std::function<void(absl::Status)>> waiting_;
};

TEST_F(CachedStoreTest, ClosingEndsReadsOfASilentStore) {
  std::vector<absl::Status> ended(2);
  auto cache = CacheDir::Open(options_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  store_ = std::make_unique<CachedStore>(std::make_unique<SilentStore>(),
                                         *std::move(cache));
  std::string out(10, '\0');
  for (size_t i = 0; i < ended.size(); ++i) {
    ReadRequest request;
    request.name = "x";  // The second read waits for the first.
    request.bytes = 10;
    request.out = out.data();
    store_->StartRead(request,
                      [&, i](absl::Status status) { ended[i] = status; });
  }
  store_ = nullptr;
  for (const absl::Status& status : ended) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  }
}

// A store whose objects all consist of its letter.
class LetterStore final : public ObjectStore {
 public:
  LetterStore(std::string identity, char letter)
      : identity_(std::move(identity)), letter_(letter) {}
  const std::string& url() const override { return url_; }
  std::string identity() const override { return identity_; }
  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    return std::vector<ObjectInfo>();
  }
  absl::StatusOr<ObjectInfo> Stat(const std::string&) override {
    return ObjectInfo();
  }
  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override {
    std::fill_n(request.out, request.bytes, letter_);
    done(absl::OkStatus());
  }
  TransferCounts counts() const override { return {}; }

 private:
  const std::string url_ = "letters://store";
  const std::string identity_;
  const char letter_;
};

TEST_F(CachedStoreTest, OnlyTheSameAddressAndVersionAreTheSame) {
  // What a store with these reads through the cache.
  const auto read = [this](const std::string& identity, char letter,
                           const std::string& version) {
    auto cache = CacheDir::Open(options_);
    EXPECT_TRUE(cache.ok()) << cache.status();
    CachedStore store(std::make_unique<LetterStore>(identity, letter),
                      *std::move(cache));
    std::string out(5, '\0');
    ReadRequest request;
    request.name = "x";
    request.version = version;
    request.bytes = 5;
    request.out = out.data();
    EXPECT_TRUE(store.Read(request).ok());
    return out;
  };
  EXPECT_EQ(read("s?a=1", 'a', "1"), "aaaaa");
  EXPECT_EQ(read("s?a=1", 'b', "1"), "aaaaa") << "it is there";
  EXPECT_EQ(read("s?a=2", 'c', "1"), "ccccc");
  EXPECT_EQ(read("s?a=1", 'd', "2"), "ddddd");
  // Without a version, nothing is kept longer than a run.
  EXPECT_EQ(read("s?a=1", 'e', ""), "eeeee");
  EXPECT_EQ(read("s?a=1", 'f', ""), "fffff");
}

TEST_F(CachedStoreTest, ErrorsAreNotKept) {
  ReadRequest request;
  char byte;
  request.name = "none.jpg";
  request.bytes = 1;
  request.out = &byte;
  EXPECT_EQ(store_->Read(request).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Read(request).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FarReads(), 2);
}

TEST_F(CachedStoreTest, BringsASetHome) {
  const auto objects = store_->List();
  const auto set =
      CacheAsFiles(*objects, LocalNames::kNumbers, store_.get(), nullptr);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->paths.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(*ReadFile(set->paths[i]), TestBytes(50000, i));
    EXPECT_EQ(set->paths[i],
              absl::StrCat(set->folder, "/000000/0000000", i, ".jpg"));
  }
  EXPECT_EQ(FarReads(), 4);
  ASSERT_TRUE(
      CacheAsFiles(*objects, LocalNames::kNumbers, store_.get(), nullptr).ok());
  EXPECT_EQ(FarReads(), 4);
  options_.max_bytes = 150000;
  Reopen();
  EXPECT_THAT(std::string(CacheAsFiles(*objects, LocalNames::kNumbers,
                                       store_.get(), nullptr)
                              .status()
                              .message()),
              HasSubstr("--cache_bytes"));
}

// In pieces, it could be of two versions, and nobody could compare its
// checksum.
TEST_F(CachedStoreTest, ALargeObjectIsOneRead) {
  const int64_t bytes = (int64_t{128} << 20) + 5;
  std::ofstream(Path("far/big.jpg")) << "begin";
  std::filesystem::resize_file(Path("far/big.jpg"), bytes);
  ObjectInfo big = *store_->Stat("big.jpg");
  const std::string sum =
      absl::StrFormat("crc32c:%08x", Crc32c(*ReadFile(Path("far/big.jpg"))));
  const auto bring = [&] {
    return CacheAsFiles({big}, LocalNames::kOwn, store_.get(), nullptr);
  };
  big.checksum = "crc32c:00000000";
  EXPECT_EQ(bring().status().code(), absl::StatusCode::kDataLoss);
  big.checksum = sum;
  const int64_t before = FarReads();
  const auto set = bring();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(FarReads(), before + 1);
  EXPECT_EQ(*ReadFile(set->paths[0]), *ReadFile(Path("far/big.jpg")));
  ASSERT_TRUE(bring().ok());
  EXPECT_EQ(FarReads(), before + 1) << "it is there";
}

TEST_F(CachedStoreTest, ANameThatIsNoneForAFileIsRefused) {
  const std::string nul("a\0b", 3);
  for (const std::string& name :
       {std::string("../x.jpg"), std::string("a//b.jpg"),
        std::string("./x.jpg"), std::string("a/"), std::string(256, 'x'),
        std::string("/x"), nul}) {
    // It is in the cache, so that only the path is wrong.
    auto cache = CacheDir::Open(options_);
    ASSERT_TRUE(cache.ok()) << cache.status();
    CachedStore store(std::make_unique<LetterStore>("s", 'x'),
                      *std::move(cache));
    ObjectInfo object;
    object.name = name;
    object.version = "1";
    object.bytes = 5;
    EXPECT_THAT(CacheAsFiles({object}, LocalNames::kOwn, &store, nullptr)
                    .status()
                    .message(),
                HasSubstr("cannot be a file's name"))
        << name;
  }
}

// Like on a full disk: nothing more can be written, but everything is read.
TEST_F(CachedStoreTest, ADiskThatTakesNoMoreIsReadThrough) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 10000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(*ReadWhole(i), TestBytes(50000, i));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(FarReads(), 8);
  EXPECT_EQ(store_->cache().counts().write_failures, 8);
  EXPECT_TRUE(std::filesystem::is_empty(Path("cache/blobs")));
  // There is space again.
  EXPECT_EQ(*ReadWhole(0), TestBytes(50000, 0));
  EXPECT_EQ(*ReadWhole(0), TestBytes(50000, 0));
  EXPECT_EQ(FarReads(), 9);
}

TEST_F(CachedStoreTest, AFullFileSystemIsReadThrough) {
  const std::string mounted = Path("small");
  ASSERT_TRUE(MakeFolder(mounted).ok());
  if (mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=128k") != 0) {
    GTEST_SKIP() << "no file system can be mounted here; the limit on file "
                    "sizes above shows the same";
  }
  options_.folder = JoinPath(mounted, "cache");
  Reopen();
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(*ReadWhole(i), TestBytes(50000, i));
  }
  const CacheCounts counts = store_->cache().counts();
  EXPECT_GT(counts.write_failures, 0);
  EXPECT_GT(counts.hits, 0) << "what there was room for is kept";
  store_ = nullptr;
  EXPECT_EQ(umount(mounted.c_str()), 0);
}

}  // namespace
}  // namespace feedrate
