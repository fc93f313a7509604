#include "lib/loader/source/remote_source.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/storage/shards.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A web server with one shard, a.tar, that names versions or does not.
class WebShardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/web_shard.XXXXXX";
    folder_ = mkdtemp(folder.data());
    shard_ = tar::Builder()
                 .File("1.cls", "17")
                 .File("1.jpg", "first image")
                 .File("2.jpg", "second image")
                 .File("2.cls", "12" + std::string(18, ' ') + "3")
                 .Finish();
    Write("a.tar", shard_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder_, name), content).ok());
  }

  // Writes the index of the shard before a test changes the shard.
  void WriteIndex() {
    const auto store = *OpenFileStore(folder_);
    ShardIndex index;
    index.bytes = static_cast<int64_t>(shard_.size());
    index.crc32c = Crc32c(shard_);
    index.members = *MembersByHeaders(*store->Stat("a.tar"), store.get());
    for (ShardMember& member : index.members) {
      member.crc32c = Crc32c(shard_.substr(member.offset, member.bytes));
    }
    Write("a.tar.index", PrintShardIndex(index));
  }

  absl::StatusOr<StoreListing> List() {
    StoreSpec spec;
    spec.url = server_.url() + "/a.tar";
    spec.options.retries = 2;
    return ListStore(PrintStoreSpec(spec), /*needs_labels=*/true);
  }

  std::vector<std::string> Read(const StoreListing& listing) {
    const auto source = OpenRemoteSource(listing.store, listing.items);
    EXPECT_TRUE(source.ok()) << source.status();
    std::vector<std::string> contents;
    ReadBuffer buffer;
    for (int64_t i = 0; i < (*source)->size(); ++i) {
      const auto bytes = (*source)->Read(i, &buffer);
      contents.push_back(bytes.ok() ? std::string(*bytes)
                                    : std::string(bytes.status().message()));
    }
    return contents;
  }

  std::string folder_;
  std::string shard_;
  bool has_version_ = false;
  TinyServer server_{[this](const std::string& head) {
    TinyAnswer answer = ServeFolder(folder_)(head);
    if (!has_version_) {
      answer.bytes = absl::StrReplaceAll(answer.bytes, {{"ETag:", "X-Tag:"}});
    }
    return answer;
  }};
};

// Samples are read one by one, so those of two versions could be mixed.
TEST_F(WebShardTest, WithoutAVersionItNeedsAnIndex) {
  const absl::Status alone = List().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(alone)) << alone;
  EXPECT_THAT(std::string(alone.message()),
              HasSubstr("a.tar: the server names no version of it"));
  has_version_ = true;
  const auto versioned = List();
  ASSERT_TRUE(versioned.ok()) << versioned.status();
  EXPECT_THAT(Read(*versioned), ElementsAre("first image", "second image"));
  has_version_ = false;
  WriteIndex();
  const auto indexed = List();
  ASSERT_TRUE(indexed.ok()) << indexed.status();
  EXPECT_THAT(Read(*indexed), ElementsAre("first image", "second image"));
  Write("a.tar", absl::StrReplaceAll(shard_, {{"second", "SECOND"}}));
  EXPECT_THAT(
      Read(*indexed),
      ElementsAre("first image", HasSubstr("another checksum than the index")));
}

TEST_F(WebShardTest, LabelsHaveTheSumsOfTheIndex) {
  WriteIndex();
  const auto listing = List();
  ASSERT_TRUE(listing.ok()) << listing.status();
  // The first 20 bytes of a text are another number.
  EXPECT_THAT(listing->labels, ElementsAre(17, -1));
  Write("a.tar", absl::StrReplaceAll(shard_, {{"17", "18"}}));
  const absl::Status changed = List().status();
  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
}

}  // namespace
}  // namespace feedrate
