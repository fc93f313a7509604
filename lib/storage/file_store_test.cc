#include "lib/storage/file_store.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/crc32c.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class FileStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/file_store.XXXXXX";
    folder_ = mkdtemp(folder.data());
    Write("b.txt", "second");
    Write("a/x y.txt", "first");
    Write("a/ü.txt", "");
    store_ = *OpenFileStore(folder_ + "/");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    const std::string path = JoinPath(folder_, name);
    ASSERT_TRUE(MakeFolder(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    std::string out(request.bytes, '?');
    request.out = out.data();
    const absl::Status status = store_->Read(request);
    if (!status.ok()) return status;
    return out;
  }
  static ReadRequest Range(const std::string& name, int64_t offset,
                           int64_t bytes) {
    ReadRequest request;
    request.name = name;
    request.offset = offset;
    request.bytes = bytes;
    return request;
  }

  std::string folder_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(FileStoreTest, ListsAllBelowByName) {
  const auto objects = store_->List();
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ((*objects)[0].name, "a/x y.txt");
  EXPECT_EQ((*objects)[0].bytes, 5);
  EXPECT_EQ((*objects)[1].name, "a/ü.txt");
  EXPECT_EQ((*objects)[2].name, "b.txt");
  EXPECT_EQ(store_->url(), "file://" + folder_);
  EXPECT_EQ(store_->Stat("b.txt")->version, (*objects)[2].version);
}

TEST_F(FileStoreTest, ReadsRangesAndCounts) {
  EXPECT_EQ(*Read(Range("b.txt", 0, 6)), "second");
  EXPECT_EQ(*Read(Range("a/x y.txt", 1, 3)), "irs");
  EXPECT_EQ(*Read(Range("a/ü.txt", 0, 0)), "");
  EXPECT_EQ(store_->counts().requests, 3);
  EXPECT_EQ(store_->counts().bytes, 9);
}

TEST_F(FileStoreTest, NeverGivesOtherBytesThanAskedFor) {
  EXPECT_EQ(Read(Range("b.txt", 3, 6)).status().code(),
            absl::StatusCode::kOutOfRange);
  ReadRequest request = Range("b.txt", 0, 6);
  request.version = store_->Stat("b.txt")->version;
  EXPECT_TRUE(Read(request).ok());
  Write("b.txt", "third.");
  EXPECT_EQ(Read(request).status().code(),
            absl::StatusCode::kFailedPrecondition);
  request.version = "";
  request.checksum = absl::StrFormat("crc32c:%08x", Crc32c("third."));
  EXPECT_TRUE(Read(request).ok());
  request.checksum = "crc32c:00000000";
  EXPECT_EQ(Read(request).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store_->counts().checksum_faults, 1);
}

TEST_F(FileStoreTest, StaysInItsFolder) {
  for (const char* name : {"../b.txt", "a/../../b", "/etc/passwd", ""}) {
    EXPECT_EQ(Read(Range(name, 0, 1)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
    EXPECT_FALSE(store_->Stat(name).ok()) << name;
  }
  EXPECT_EQ(store_->Stat("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Read(Range("gone", 0, 1)).status().code(),
            absl::StatusCode::kNotFound);
  const auto none = OpenFileStore(folder_ + "/none");
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("no folder"));
}

}  // namespace
}  // namespace feedrate
