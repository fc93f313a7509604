// Crops from a store that deliver only a part of each object.
#include "lib/loader/store_parts.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/loader.h"
#include "lib/media/jpeg/test_files.h"
#include "lib/storage/http/tiny_server.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr int kImages = 12;

std::string Picture(uint32_t seed) {
  JpegTestFile file;
  file.width = 420;
  file.height = 300;
  file.seed = seed;
  file.noise = 160;
  file.gray = seed % 4 == 3;
  file.restart_every = seed == 5 ? 6 : 0;
  file.progressive = seed == 6;
  return MakeJpeg(file);
}

// With a comment that says nothing about pixels.
std::string WithComment(const std::string& jpeg, size_t bytes) {
  std::string comment = {'\xff', '\xfe', static_cast<char>((bytes + 2) >> 8),
                         static_cast<char>(bytes + 2)};
  comment.append(bytes, 'x');
  return jpeg.substr(0, 2) + comment + jpeg.substr(2);
}

// A web server with objects, and an index.
class StorePartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/parts.XXXXXX";
    folder_ = mkdtemp(folder.data());
    index_ = folder_ + "/index";
    for (uint32_t i = 0; i < kImages; ++i) {
      Put(i, WithComment(Picture(i), 1000 * i));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Put(int number, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(
                    absl::StrFormat("%s/%02d.jpg", folder_, number), bytes)
                    .ok());
  }

  std::unique_ptr<Source> Open() {
    StoreSpec spec;
    spec.url = absl::StrFormat("%s/{00..%02d}.jpg", server_.url(), kImages - 1);
    spec.options.retries = 1;
    const StoreListing listing =
        ListStore(PrintStoreSpec(spec), /*needs_labels=*/false).value();
    return OpenRemoteSource(listing.store, listing.items).value();
  }

  // Batches of `epochs` epochs; afterwards `counts_`, `read_` and `problem_`
  // are about them.
  std::string Epochs(std::unique_ptr<Source> source, const std::string& index,
                     int epochs, int crop = 48) {
    LoaderOptions options;
    options.recipe.crop = crop;
    options.recipe.format = SampleFormat::kBytePixels;
    options.batch_size = 5;
    options.shuffle = true;
    options.jpeg_index = index;
    const auto loader = Loader::Create(std::move(source), options).value();
    const RemoteSource& remote = *loader->source().remote();
    const int64_t before = remote.counts().bytes;
    std::string all;
    for (int e = 0; e < epochs; ++e) {
      const auto epoch = loader->StartEpoch(e).value();
      for (;;) {
        const LoaderBatch* const batch = epoch->Next().value();
        if (batch == nullptr) break;
        all.append(reinterpret_cast<const char*>(batch->data),
                   batch->size * loader->shape().bytes());
      }
      EXPECT_EQ(epoch->faults().total(), 0);
    }
    counts_ = remote.part_counts();
    read_ = remote.counts().bytes - before;
    problem_ = loader->index_problem();
    return all;
  }

  std::string folder_;
  std::string index_;
  PartCounts counts_;
  int64_t read_ = 0;
  std::string problem_;
  // Instead of the server's own; empty: that of the file.
  std::string etag_;
  TinyServer server_{[this](const std::string& head) {
    TinyAnswer answer = ServeFolder(folder_)(head);
    const size_t at = answer.bytes.find("ETag: ");
    if (!etag_.empty() && at != std::string::npos) {
      answer.bytes.replace(at, answer.bytes.find('\r', at) - at,
                           "ETag: " + etag_);
    }
    return answer;
  }};
};

TEST_F(StorePartsTest, BatchesAreTheSameOfFewerBytes) {
  const std::string without = Epochs(Open(), "", 2);
  const int64_t whole = read_;
  EXPECT_EQ(counts_.items, 0);
  // Whole in the first epoch, except for those that stay whole.
  EXPECT_EQ(Epochs(Open(), index_, 2), without);
  EXPECT_EQ(counts_.items, kImages - 2);
  EXPECT_EQ(Epochs(Open(), index_, 2), without);
  EXPECT_EQ(counts_.items, 2 * (kImages - 2));
  EXPECT_GT(counts_.bytes, 0);
  EXPECT_LT(2 * counts_.bytes, counts_.of_bytes);
  EXPECT_EQ(read_, whole - counts_.of_bytes + counts_.bytes);
  EXPECT_EQ(problem_, "");
  // A crop of nearly everything needs nearly all bytes.
  const std::string large = Epochs(Open(), "", 1, 300);
  EXPECT_EQ(Epochs(Open(), index_, 1, 300), large);
  EXPECT_LE(counts_.bytes, counts_.of_bytes);
}

TEST_F(StorePartsTest, AnObjectThatChangesIsAnotherOne) {
  Epochs(Open(), index_, 1);
  Put(2, Picture(100));
  const std::string changed = Epochs(Open(), "", 1);
  EXPECT_EQ(Epochs(Open(), index_, 1), changed);
  EXPECT_EQ(counts_.items, kImages - 3);
  EXPECT_EQ(problem_, "");
}

// A server that names the same version, and the same size, for other bytes.
TEST_F(StorePartsTest, NoServerCanMakeThePixelsWrong) {
  etag_ = "\"always\"";
  for (const int number : {2, 4}) {
    std::string other = Picture(number + 40);
    other.resize(200000, '\0');
    Put(number, other);
  }
  Epochs(Open(), index_, 1);
  for (const int number : {2, 4}) {
    std::string other = Picture(number + 80);
    other.resize(200000, '\0');
    Put(number, other);
  }
  const std::string changed = Epochs(Open(), "", 1);
  EXPECT_EQ(Epochs(Open(), index_, 1), changed);
  EXPECT_EQ(counts_.items, kImages - 2);
  EXPECT_THAT(problem_, HasSubstr("of 2 items of this store"));
}

TEST_F(StorePartsTest, WithoutAVersionItemsAreReadWhole) {
  etag_ = "W/\"weak\"";
  const std::string without = Epochs(Open(), "", 1);
  EXPECT_EQ(Epochs(Open(), index_, 1), without);
  EXPECT_EQ(Epochs(Open(), index_, 1), without);
  EXPECT_EQ(counts_.items, 0);
}

// Each byte of a part, changed; and each of an outline.
TEST(JpegPartTest, DamageIsFound) {
  const std::string path = testing::TempDir() + "/part_index";
  std::remove(path.c_str());
  const auto index = JpegIndex::Open(path).value();
  const std::string jpeg = WithComment(Picture(1), 500);
  const JpegIndex::Key key = JpegIndex::KeyOf(jpeg);
  JpegRegionDecoder decoder;
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  index->Add(key, decoder.FindEntries());
  const std::string outline = PackJpegOutline(jpeg, decoder.codes_at(), key);
  const Image whole = DecodeWhole(jpeg, {});
  const JpegRegion region = {150, 100, 64, 64};
  const auto region_of = [&](const ImageInfo&) { return region; };
  const auto find = [&](const std::string& from) {
    return FindJpegPart(*index, from, jpeg.size(), region_of, &decoder);
  };
  const auto part = find(outline);
  ASSERT_NE(part, nullptr);
  ASSERT_LT(part->end() - part->begin(), jpeg.size() / 2);
  std::string memory(part->room(), '\x55');
  const size_t bytes = part->end() - part->begin();
  std::memcpy(part->place(memory.data()), &jpeg[part->begin()], bytes);
  const auto file = part->Finish(memory.data());
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(decoder.Open(*file).ok());
  decoder.UseEntries(part->entries(), /*is_part=*/true);
  std::vector<uint8_t> out(64 * 64 * 3);
  ASSERT_TRUE(decoder.Decode(region, {}, out.data(), 192).ok());
  for (int y = 0; y < 64; ++y) {
    ASSERT_EQ(std::memcmp(&out[y * 192], whole.view().row(100 + y) + 450, 192),
              0);
  }
  // What it does not have, it does not guess.
  EXPECT_TRUE(absl::IsDataLoss(decoder.Decode(
      {0, 0, 420, 300}, {}, std::vector<uint8_t>(378000).data(), 1260)));
  for (size_t i = 0; i < bytes; i += 97) {
    char& byte = part->place(memory.data())[i];
    byte = static_cast<char>(byte ^ 4);
    EXPECT_TRUE(absl::IsDataLoss(part->Finish(memory.data()).status())) << i;
    byte = static_cast<char>(byte ^ 4);
  }
  for (size_t size = 0; size < outline.size(); ++size) {
    EXPECT_EQ(find(outline.substr(0, size)), nullptr);
  }
  EXPECT_EQ(find(outline + '\0'), nullptr);
}

}  // namespace
}  // namespace feedrate
