#include "lib/media/corpus.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/media/corpus_format.h"
#include "lib/media/corpus_writer.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Three items, of which item i is filled with i + 1.
Corpus MakeCorpus(const std::vector<bool>& keep = {true, true, true}) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
  EXPECT_TRUE(writer.AddRoom({{1, 3, 5, 3}, {1, 2, 2, 3}}).ok());
  EXPECT_TRUE(writer.AddRoom({{4, 1, 7, 9}}).ok());
  for (int64_t i = 0; i < writer.size(); ++i) {
    std::memset(writer.data(i), static_cast<int>(i + 1), writer.item(i).bytes);
  }
  writer.Keep(keep);
  return std::move(writer).Finish().value();
}

// A sealed memory file with these bytes.
int Sealed(const std::string& bytes, int seals = F_SEAL_WRITE | F_SEAL_SHRINK) {
  const int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

std::string FileOf(const Corpus& corpus) {
  std::string bytes(corpus.file_bytes(), '\0');
  EXPECT_EQ(pread(corpus.fd(), &bytes[0], bytes.size(), 0), bytes.size());
  return bytes;
}

TEST(CorpusTest, ReadsWhatWasWritten) {
  const Corpus corpus = MakeCorpus();
  ASSERT_EQ(corpus.size(), 3);
  EXPECT_EQ(corpus.dtype(), DType::kUint8);
  EXPECT_EQ(corpus.layout(), Layout::kHwc);
  const ImageView image = corpus.image(0);
  EXPECT_EQ(image.height, 3);
  EXPECT_EQ(image.width, 5);
  EXPECT_EQ(image.channels, 3);
  const ItemView clip = corpus.item(2);
  EXPECT_EQ(clip.frames, 4);
  EXPECT_EQ(clip.bytes, 4 * 7 * 9);
  for (int64_t i = 0; i < 3; ++i) {
    const ItemView item = corpus.item(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(item.data) % 64, 0);
    const auto* bytes = static_cast<const uint8_t*>(item.data);
    EXPECT_EQ(bytes[0], i + 1);
    EXPECT_EQ(bytes[item.bytes - 1], i + 1);
  }
}

TEST(CorpusTest, LeavesOutWhatIsNotKept) {
  const Corpus corpus = MakeCorpus({true, false, true});
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.image(0).height, 3);
  EXPECT_EQ(*static_cast<const uint8_t*>(corpus.item(1).data), 3);
}

TEST(CorpusTest, MayBeEmpty) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kFloat32, Layout::kChw).value();
  const Corpus corpus = std::move(writer).Finish().value();
  EXPECT_EQ(corpus.size(), 0);
  EXPECT_EQ(corpus.dtype(), DType::kFloat32);
}

TEST(CorpusTest, NobodyCanChangeIt) {
  const Corpus corpus = MakeCorpus();
  EXPECT_LT(pwrite(corpus.fd(), "x", 1, 0), 0);
  EXPECT_NE(ftruncate(corpus.fd(), 0), 0);
  EXPECT_EQ(
      mmap(nullptr, 64, PROT_READ | PROT_WRITE, MAP_SHARED, corpus.fd(), 0),
      MAP_FAILED);
  EXPECT_DEATH(
      *static_cast<uint8_t*>(const_cast<void*>(corpus.item(0).data)) = 1, "");
}

TEST(CorpusTest, CanBeMappedAgainAndMoved) {
  const Corpus corpus = MakeCorpus();
  Corpus other = Corpus::Map(dup(corpus.fd())).value();
  EXPECT_EQ(other.size(), 3);
  Corpus moved(std::move(other));
  EXPECT_EQ(moved.image(1).width, 2);
  other = std::move(moved);
  EXPECT_EQ(other.image(1).width, 2);
}

TEST(CorpusTest, RefusesWhatIsNotSealed) {
  const std::string bytes = FileOf(MakeCorpus());
  EXPECT_THAT(Corpus::Map(Sealed(bytes, F_SEAL_SHRINK)).status().message(),
              HasSubstr("not sealed"));
  EXPECT_THAT(Corpus::Map(Sealed(bytes, F_SEAL_WRITE)).status().message(),
              HasSubstr("not sealed"));
  EXPECT_FALSE(Corpus::Map(open("/dev/null", O_RDONLY)).ok());
  EXPECT_FALSE(Corpus::Map(-1).ok());
}

TEST(CorpusTest, RefusesSizesThatCannotBe) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kFloat32, Layout::kHwc).value();
  const int64_t most = int64_t{1} << 31;
  for (const ItemSize& size :
       {ItemSize{1, 0, 5, 3}, ItemSize{1, -1, 5, 3}, ItemSize{0, 1, 1, 1},
        ItemSize{1, most, 1, 1}, ItemSize{1, most - 1, most - 1, 3}}) {
    EXPECT_FALSE(writer.AddRoom({size}).ok());
    EXPECT_EQ(CorpusBytesOf(size, DType::kFloat32), -1);
  }
  EXPECT_EQ(CorpusBytesOf({1, 1, 1, 3}, DType::kFloat32), 64 + 48);
}

struct Change {
  size_t offset;
  uint64_t value;
  size_t size;
  const char* reason;
};

class HostileCorpusTest : public ::testing::TestWithParam<Change> {};

TEST_P(HostileCorpusTest, IsRefused) {
  std::string bytes = FileOf(MakeCorpus());
  const Change& change = GetParam();
  std::memcpy(&bytes[change.offset], &change.value, change.size);
  const absl::StatusOr<Corpus> corpus = Corpus::Map(Sealed(bytes));
  EXPECT_THAT(corpus.status().message(), HasSubstr(change.reason));
}

constexpr size_t kIndex = 64 + 64 + 64 + 256;
constexpr uint64_t kHuge = ~uint64_t{0};

INSTANTIATE_TEST_SUITE_P(
    Fields, HostileCorpusTest,
    ::testing::Values(
        Change{0, 'X', 1, "no corpus"}, Change{8, 2, 4, "another version"},
        Change{12, 3, 4, "unknown type"}, Change{16, 2, 4, "unknown layout"},
        Change{20, 1, 4, "does not know"}, Change{56, 1, 8, "does not know"},
        Change{24, 4, 8, "index outside"},
        Change{24, kHuge, 8, "index outside"},
        Change{24, uint64_t{1} << 60, 8, "index outside"},
        Change{32, 8, 8, "index outside"},
        Change{32, kHuge, 8, "index outside"},
        Change{32, kIndex + 1, 8, "index outside"},
        Change{40, 0, 8, "items outside"},
        Change{40, kHuge, 8, "items outside"}, Change{48, 63, 8, "not as long"},
        Change{48, kHuge, 8, "not as long"},
        Change{kIndex, 0, 8, "outside the file"},
        Change{kIndex, 65, 8, "odd place"},
        Change{kIndex, kHuge - 63, 8, "odd place"},
        Change{kIndex, 64000, 8, "outside the file"},
        Change{kIndex + 8, 44, 8, "disagree"},
        Change{kIndex + 16, 0, 8, "impossible size"},
        Change{kIndex + 24, kHuge, 8, "impossible size"},
        Change{kIndex + 32, uint64_t{1} << 40, 8, "impossible size"},
        Change{kIndex + 40, 1 << 30, 8, "disagree"}));

TEST(HostileCorpusTest, TooShortIsRefused) {
  const std::string bytes = FileOf(MakeCorpus());
  for (size_t length :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, bytes.size() - 1}) {
    EXPECT_FALSE(Corpus::Map(Sealed(bytes.substr(0, length))).ok());
  }
}

}  // namespace
}  // namespace feedrate
