#include "lib/loader/jpeg_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/loader.h"
#include "lib/media/jpeg/test_files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string NewPath(const char* name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::remove(path.c_str());
  return path;
}

void Put(const std::string& path, const std::string& bytes) {
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
}

TEST(JpegIndexTest, FindsWhatWasSaved) {
  const std::string path = NewPath("saved");
  const std::vector<std::string> pictures = {"one", "two", "three", "3"};
  {
    const auto index = JpegIndex::Open(path).value();
    for (const std::string& picture : pictures) {
      EXPECT_FALSE(index->Find(JpegIndex::KeyOf(picture)).has_value());
      index->Add(JpegIndex::KeyOf(picture), absl::StrCat("of ", picture));
    }
    index->Add(JpegIndex::KeyOf("none"), "");
    EXPECT_EQ(*index->Find(JpegIndex::KeyOf("two")), "of two");
    ASSERT_TRUE(index->Save().ok());
  }
  const auto index = JpegIndex::Open(path).value();
  EXPECT_EQ(index->problem(), "");
  EXPECT_EQ(index->size(), 5);
  for (const std::string& picture : pictures) {
    EXPECT_EQ(index->Find(JpegIndex::KeyOf(picture)).value_or("none"),
              absl::StrCat("of ", picture));
  }
  EXPECT_EQ(index->Find(JpegIndex::KeyOf("none")).value_or("?"), "");
  // Another picture, and one with the first bytes of another.
  EXPECT_FALSE(index->Find(JpegIndex::KeyOf("four")).has_value());
  EXPECT_FALSE(index->Find(JpegIndex::KeyOf("on")).has_value());
}

TEST(JpegIndexTest, ProcessesShareAFile) {
  const std::string path = NewPath("shared");
  const auto first = JpegIndex::Open(path).value();
  const auto second = JpegIndex::Open(path).value();
  first->Add(JpegIndex::KeyOf("a"), "1");
  second->Add(JpegIndex::KeyOf("b"), "2");
  ASSERT_TRUE(first->Save().ok());
  ASSERT_TRUE(second->Save().ok());
  const auto both = JpegIndex::Open(path).value();
  EXPECT_EQ(both->Find(JpegIndex::KeyOf("a")).value_or("none"), "1");
  EXPECT_EQ(both->Find(JpegIndex::KeyOf("b")).value_or("none"), "2");
}

// Every byte of the file, changed: the entries that are found are right.
TEST(JpegIndexTest, DamageIsNeverBelieved) {
  const std::string path = NewPath("damaged");
  {
    const auto index = JpegIndex::Open(path).value();
    index->Add(JpegIndex::KeyOf("a"), "entries of a");
    index->Add(JpegIndex::KeyOf("b"), "entries of b");
    ASSERT_TRUE(index->Save().ok());
  }
  const std::string good = ReadFile(path).value();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int bits : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      Put(path, bad);
      const auto index = JpegIndex::Open(path);
      if (!index.ok()) {
        EXPECT_LT(i, 24u);
        EXPECT_THAT(std::string(index.status().message()),
                    HasSubstr("is not an index of JPEG files"));
        continue;
      }
      for (const char* const name : {"a", "b"}) {
        const auto found = (*index)->Find(JpegIndex::KeyOf(name));
        if (found.has_value())
          EXPECT_EQ(*found, absl::StrCat("entries of ", name));
      }
    }
    Put(path, good.substr(0, i));
    const auto index = JpegIndex::Open(path);
    if (index.ok() && i > 0 && i < 32) {
      EXPECT_THAT((*index)->problem(), HasSubstr("is damaged"));
    }
  }
}

TEST(JpegIndexTest, OtherFilesStayAsTheyAre) {
  const std::string path = NewPath("other");
  Put(path, "somebody's notes");
  const auto index = JpegIndex::Open(path);
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(std::string(index.status().message()),
              HasSubstr("remove it or name another file"));
  EXPECT_EQ(ReadFile(path).value(), "somebody's notes");
  EXPECT_FALSE(JpegIndex::Open("/no/such/folder/index").ok());
}

// What somebody else may put there.
TEST(JpegIndexTest, NobodyElseDecides) {
  const std::string path = NewPath("foreign");
  ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
  EXPECT_THAT(std::string(JpegIndex::Open(path).status().message()),
              HasSubstr("only plain files are data"));
  std::remove(path.c_str());
  {
    const auto index = JpegIndex::Open(path).value();
    index->Add(JpegIndex::KeyOf("a"), "entries of a");
    ASSERT_TRUE(index->Save().ok());
  }
  const std::string good = ReadFile(path).value();
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_THAT(std::string(JpegIndex::Open(path).status().message()),
                HasSubstr("others can write to it"));
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  // Cut off while it is used.
  const auto index = JpegIndex::Open(path).value();
  ASSERT_EQ(truncate(path.c_str(), 1), 0);
  EXPECT_FALSE(index->Find(JpegIndex::KeyOf("a")).has_value());
  // Many pictures of which none costs a byte.
  Put(path, good.substr(0, 24) + std::string("\0\0\0\0\x01\0\0\0", 8));
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);
  const auto endless = JpegIndex::Open(path).value();
  EXPECT_THAT(endless->problem(), HasSubstr("is damaged"));
}

// Batches of `folder`, one after the other.
std::string Epochs(const std::string& folder, const std::string& index,
                   int epochs) {
  LoaderOptions options;
  options.recipe.crop = 40;
  options.recipe.format = SampleFormat::kBytePixels;
  options.batch_size = 5;
  options.shuffle = true;
  options.jpeg_index = index;
  const auto loader =
      Loader::Create(FolderSource(folder).value(), options).value();
  std::string all;
  for (int e = 0; e < epochs; ++e) {
    const auto epoch = loader->StartEpoch(e).value();
    for (;;) {
      const LoaderBatch* const batch = epoch->Next().value();
      if (batch == nullptr) break;
      all.append(reinterpret_cast<const char*>(batch->data),
                 batch->size * loader->shape().bytes());
    }
  }
  EXPECT_EQ(loader->index_problem(), "");
  return all;
}

TEST(JpegIndexTest, BatchesAreTheSame) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/images");
  ASSERT_TRUE(MakeFolder(folder).ok());
  for (uint32_t i = 0; i < 23; ++i) {
    JpegTestFile file;
    file.width = 90 + static_cast<int>(7 * i);
    file.height = 130;
    file.seed = i;
    file.noise = 120;
    file.restart_every = i % 5 == 4 ? 6 : 0;
    file.progressive = i % 7 == 6;
    file.gray = i % 3 == 2;
    Put(absl::StrCat(folder, "/", i, ".jpg"), MakeJpeg(file));
  }
  const std::string index = NewPath("index");
  const std::string without = Epochs(folder, "", 3);
  EXPECT_EQ(Epochs(folder, index, 3), without);
  EXPECT_EQ(JpegIndex::Open(index).value()->size(), 23);
  EXPECT_EQ(Epochs(folder, index, 3), without);
  // A picture that changes is another one.
  JpegTestFile other;
  other.width = 97;
  other.height = 130;
  other.seed = 100;
  Put(absl::StrCat(folder, "/1.jpg"), MakeJpeg(other));
  const std::string changed = Epochs(folder, "", 2);
  EXPECT_NE(changed, without.substr(0, changed.size()));
  EXPECT_EQ(Epochs(folder, index, 2), changed);
  EXPECT_EQ(JpegIndex::Open(index).value()->size(), 24);
}

}  // namespace
}  // namespace feedrate
