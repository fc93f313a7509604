#include "lib/storage/shards.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

ShardIndex SomeIndex() {
  ShardIndex index;
  index.bytes = 10240;
  index.crc32c = 0xdeadbeef;
  index.members = {{"a/0.jpg", 512, 700, 1u}, {"ü x.npy", 2048, 0, 0u}};
  return index;
}

TEST(ShardIndexTest, ReadsWhatItPrints) {
  const auto index = ParseShardIndex(PrintShardIndex(SomeIndex()));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->bytes, 10240);
  EXPECT_EQ(index->crc32c, 0xdeadbeef);
  ASSERT_EQ(index->members.size(), 2u);
  EXPECT_EQ(index->members[1].name, "ü x.npy");
  EXPECT_EQ(index->members[0].offset, 512);
  EXPECT_EQ(index->members[0].bytes, 700);
  EXPECT_EQ(index->members[0].crc32c, 1u);
}

TEST(ShardIndexTest, FindsEveryDamage) {
  const std::string text = PrintShardIndex(SomeIndex());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == '1' ? '2' : '1';
    EXPECT_FALSE(ParseShardIndex(damaged).ok()) << i;
    EXPECT_FALSE(ParseShardIndex(text.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(ParseShardIndex("").ok());
}

// With a valid checksum, like an index that was written with wrong content.
TEST(ShardIndexTest, StaysWithinTheShard) {
  ShardIndex index = SomeIndex();
  index.members[0].bytes = 10240;
  EXPECT_THAT(
      std::string(ParseShardIndex(PrintShardIndex(index)).status().message()),
      HasSubstr("line 2"));
  index.members[0].bytes = -1;
  EXPECT_FALSE(ParseShardIndex(PrintShardIndex(index)).ok());
}

TEST(SampleKeyTest, EndsAtTheFirstDotOfTheName) {
  EXPECT_EQ(SampleKey("a.b/c.d.jpg"), "a.b/c");
  EXPECT_EQ(SampleKey("c.jpg"), "c");
  EXPECT_EQ(SampleKey("c"), "c");
}

using ::testing::HasSubstr;

class MakeShardsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/make_shards.XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return JoinPath(folder_, name);
  }
  void Write(const std::string& name, const std::string& content) {
    const std::string path = Path(absl::StrCat("far/", name));
    ASSERT_TRUE(MakeFolder(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  }
  absl::StatusOr<ShardTotals> Make(int64_t shard_bytes) {
    auto store = OpenFileStore(Path("far"));
    return MakeShards(*(*store)->List(), Path("out"), shard_bytes, store->get(),
                      nullptr);
  }

  std::string folder_;
};

TEST_F(MakeShardsTest, EverySampleIsWhereTheIndexSays) {
  const std::string long_name = std::string(150, 'x') + ".jpg";
  std::vector<std::string> contents;
  for (int i = 0; i < 30; ++i) {
    contents.push_back(std::string(i * 37 % 2000, 'a' + i % 26));
    Write(absl::StrCat("c", i / 10, "/", 10 + i, ".jpg"), contents.back());
  }
  Write(absl::StrCat("d/", long_name), "long");
  Write("d/ü ß.npy", "letters");
  const auto totals = Make(20000);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->samples, 32);
  EXPECT_GE(totals->shards, 3);

  auto store = *OpenFileStore(Path("out"));
  std::vector<std::string> names;
  for (int64_t i = 0; i < totals->shards; ++i) {
    const auto shard = store->Stat(absl::StrCat("shard-00000", i, ".tar"));
    const auto index = store->Stat(absl::StrCat(shard->name, ".index"));
    EXPECT_LE(shard->bytes, 20000);
    const auto members = MembersByIndex(
        *shard, *index, *ReadFile(Path(absl::StrCat("out/", index->name))));
    ASSERT_TRUE(members.ok()) << members.status();
    // What the headers say, read with our own reader.
    const auto headers = MembersByHeaders(*shard, store.get());
    ASSERT_TRUE(headers.ok()) << headers.status();
    ASSERT_EQ(members->size(), headers->size());
    const std::string tar = *ReadFile(Path(absl::StrCat("out/", shard->name)));
    for (size_t m = 0; m < members->size(); ++m) {
      const ShardMember& member = (*members)[m];
      EXPECT_EQ(member.name, (*headers)[m].name);
      EXPECT_EQ(member.offset, (*headers)[m].offset);
      EXPECT_EQ(member.bytes, (*headers)[m].bytes);
      const std::string bytes = tar.substr(member.offset, member.bytes);
      EXPECT_EQ(member.crc32c, Crc32c(bytes));
      if (names.size() < contents.size()) {
        EXPECT_EQ(bytes, contents[names.size()]);
      }
      names.push_back(member.name);
    }
  }
  ASSERT_EQ(names.size(), 32u);
  EXPECT_EQ(names[11], "c1/21.jpg");
  EXPECT_EQ(names[30], absl::StrCat("d/", long_name));
  EXPECT_EQ(names[31], "d/ü ß.npy");
}

// In WebDataset, a name ends at its first dot, and members with the same name
// are one sample.
TEST_F(MakeShardsTest, NamesAreThoseOfSamples) {
  Write("a.1.jpg", "1");
  Write("a.2.jpg", "2");
  Write("a_1.jpg", "3");
  Write("b.jpg", "4");
  Write("b.png", "5");
  ASSERT_TRUE(Make(1 << 20).ok());
  auto store = *OpenFileStore(Path("out"));
  const auto members =
      MembersByHeaders(*store->Stat("shard-000000.tar"), store.get());
  std::vector<std::string> names;
  for (const ShardMember& member : *members) names.push_back(member.name);
  EXPECT_THAT(names, testing::ElementsAre("a_1.jpg", "a_2.jpg", "a_1_2.jpg",
                                          "b.jpg", "b_2.png"));
}

// Each was compared with all before it, which takes an hour.
TEST_F(MakeShardsTest, ManyNamesWithOneKey) {
  std::vector<ObjectInfo> objects;
  for (int i = 0; i < 1 << 17; ++i) {
    std::string name = "xxxxxxxxxxxxxxxxx.jpg";
    for (int bit = 0; bit < 17; ++bit) name[bit] = (i >> bit) % 2 ? '.' : '_';
    name.insert(0, "x");
    objects.push_back({name, 1, "", ""});
  }
  ASSERT_TRUE(MakeFolder(Path("far")).ok());
  const auto store = *OpenFileStore(Path("far"));
  // The plan comes first; none of them is there to be read.
  EXPECT_TRUE(absl::IsNotFound(
      MakeShards(objects, Path("out"), 1 << 20, store.get(), nullptr)
          .status()));
}

TEST_F(MakeShardsTest, RefusesWhatCannotBeAMember) {
  EXPECT_FALSE(MemberName("a/../b.jpg").ok());
  EXPECT_FALSE(MemberName("a//b.jpg").ok());
  EXPECT_FALSE(MemberName("a\nb.jpg").ok());
  EXPECT_FALSE(MemberName("a/noending").ok());
  EXPECT_FALSE(MemberName("a.b/noending").ok());
  EXPECT_FALSE(MemberName("a/.jpg").ok());
  EXPECT_EQ(*MemberName("a.b/c.d.jpg"), "a.b/c_d.jpg");
  EXPECT_THAT(std::string(MemberName("../b.jpg").status().message()),
              HasSubstr("\"../b.jpg\" has \"..\""));
}

TEST_F(MakeShardsTest, DoesNotWriteOverShards) {
  Write("a.jpg", "1");
  ASSERT_TRUE(Make(1 << 20).ok());
  EXPECT_EQ(Make(1 << 20).status().code(), absl::StatusCode::kInvalidArgument);
}

// A killed run leaves the first of several.
TEST_F(MakeShardsTest, MakesAgainWhatAKilledRunHasLeft) {
  for (int i = 0; i < 9; ++i) {
    Write(absl::StrCat(i, ".jpg"), std::string(900, 'a' + i));
  }
  ASSERT_TRUE(Make(4096).ok());
  const std::string last = Path("out/shard-000002.tar.index");
  const auto whole = ReadFile(last);
  ASSERT_TRUE(whole.ok());
  for (const char* name : {"shard-000002.tar.index", "shard-000002.tar",
                           "shard-000001.tar.index"}) {
    std::filesystem::remove(Path(absl::StrCat("out/", name)));
    const auto again = Make(4096);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->kept, 0);
    EXPECT_EQ(*ReadFile(last), *whole);
  }
  // Shards of other samples stay.
  std::filesystem::remove(last);
  Write("0.jpg", "longer or shorter");
  EXPECT_THAT(Make(4096).status().message(), HasSubstr("with other samples"));
}

// Reads as a folder does, and counts what was written.
class CountingWriter : public ObjectWriter {
 public:
  explicit CountingWriter(const std::string& folder)
      : writer_(NewFolderWriter(folder).value()) {}
  absl::StatusOr<std::unique_ptr<ObjectUpload>> Start(
      const std::string& name) override {
    names.push_back(name);
    return writer_->Start(name);
  }
  std::vector<std::string> names;

 private:
  const std::unique_ptr<ObjectWriter> writer_;
};

TEST_F(MakeShardsTest, ShardsThatAreThereAreKept) {
  for (int i = 0; i < 6; ++i) {
    Write(absl::StrCat(i, ".jpg"), std::string(1000, 'a' + i));
  }
  const auto source = *OpenFileStore(Path("far"));
  CountingWriter writer(Path("out"));
  const auto target = *OpenFileStore(Path("out"));
  const auto make = [&](int64_t shard_bytes) {
    writer.names.clear();
    return MakeShards(*source->List(), shard_bytes, source.get(), &writer,
                      target.get(), nullptr);
  };
  auto totals = make(5000);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->shards, 3);
  EXPECT_EQ(totals->kept, 0);
  const std::string bytes = *ReadFile(Path("out/shard-000001.tar"));
  // What a packing has when it ends between a shard and its index.
  ASSERT_EQ(unlink(Path("out/shard-000001.tar.index").c_str()), 0);
  ASSERT_EQ(unlink(Path("out/shard-000002.tar").c_str()), 0);
  ASSERT_EQ(unlink(Path("out/shard-000002.tar.index").c_str()), 0);
  totals = make(5000);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->kept, 1);
  EXPECT_THAT(writer.names, testing::ElementsAre(
                                "shard-000001.tar", "shard-000001.tar.index",
                                "shard-000002.tar", "shard-000002.tar.index"));
  EXPECT_EQ(*ReadFile(Path("out/shard-000001.tar")), bytes);
  totals = make(5000);
  EXPECT_EQ(totals->kept, 3);
  EXPECT_THAT(writer.names, testing::IsEmpty());
  // Others are not replaced.
  EXPECT_THAT(std::string(make(1 << 20).status().message()),
              HasSubstr("shard-000000.tar: is there already, with other "));
  Write("0.jpg", "another size");
  EXPECT_EQ(make(5000).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(writer.names, testing::IsEmpty());
}

TEST_F(MakeShardsTest, AnIndexOfAnotherShardIsRefused) {
  Write("a.jpg", "1");
  ASSERT_TRUE(Make(1 << 20).ok());
  auto store = *OpenFileStore(Path("out"));
  ObjectInfo shard = *store->Stat("shard-000000.tar");
  const ObjectInfo index = *store->Stat("shard-000000.tar.index");
  shard.bytes += 512;
  EXPECT_EQ(MembersByIndex(shard, index,
                           *ReadFile(Path("out/shard-000000.tar.index")))
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  // A truncated shard is not an archive.
  shard.bytes = 600;
  shard.version = "";
  EXPECT_EQ(MembersByHeaders(shard, store.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedrate
