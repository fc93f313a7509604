#include "lib/media/corpus.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "lib/media/convert_corpus.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Three items; item i is filled with i + 1.
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
        Change{0, 'X', 1, "not a corpus"}, Change{8, 2, 4, "another version"},
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

constexpr int64_t kChunk = PagePopulator::kChunk;
constexpr int64_t kSize = 8 * kChunk + 12345;

// A map of a memory file of kSize bytes at a multiple of kChunk.
class PagePopulatorTest : public ::testing::Test {
 protected:
  PagePopulatorTest() : fd_(memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_, kSize), 0);
    void* room = mmap(nullptr, kSize + kChunk, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto place =
        (reinterpret_cast<uintptr_t>(room) + kChunk - 1) / kChunk * kChunk;
    map_ = static_cast<char*>(mmap(reinterpret_cast<void*>(place), kSize,
                                   PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED, fd_, 0));
  }
  ~PagePopulatorTest() override { close(fd_); }

  int fd_;
  char* map_;
};

TEST_F(PagePopulatorTest, ChangesNothingThatIsThere) {
  for (int64_t i = 0; i < kSize; i += 4096)
    map_[i] = static_cast<char>(i >> 12);
  PagePopulator populator;
  populator.Populate(map_, kSize, 0, kSize);
  for (int64_t i = 0; i < kSize; i += 4096) {
    ASSERT_EQ(map_[i], static_cast<char>(i >> 12));
    ASSERT_EQ(map_[i + 1], 0);
  }
}

TEST_F(PagePopulatorTest, ThreadsMayWriteWhileOthersPopulate) {
  PagePopulator populator;
  constexpr int64_t kItem = 700000;
  const int64_t items = kSize / kItem;
  ParallelFor(items, 4, [&](int64_t i) {
    populator.Populate(map_, kSize, i * kItem, (i + 1) * kItem);
    for (int64_t b = i * kItem; b < (i + 1) * kItem; ++b) {
      map_[b] = static_cast<char>(i + 1);
    }
  });
  for (int64_t b = 0; b < items * kItem; ++b) {
    ASSERT_EQ(map_[b], static_cast<char>(b / kItem + 1));
  }
}

constexpr int64_t kMiB = 1 << 20;

TEST(FitsMemoryTest, NamesTheMostThatFits) {
  const std::vector<int64_t> sizes = {100 * kMiB, 20 * kMiB, 30 * kMiB};
  EXPECT_TRUE(CheckFitsMemory("d", sizes, kSpareMemory + 150 * kMiB).ok());
  const absl::Status tight =
      CheckFitsMemory("d", sizes, kSpareMemory + 150 * kMiB - 1);
  EXPECT_EQ(tight.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(tight.message()),
              HasSubstr("d: 3 decoded items take 150 MiB of memory and 214 MiB "
                        "are available; num_items=2 is the most that fits"));
}

TEST(FitsMemoryTest, SaysWhenNothingFits) {
  EXPECT_THAT(std::string(CheckFitsMemory("d", {1}, 0).message()),
              HasSubstr("not even one"));
  EXPECT_TRUE(CheckFitsMemory("d", {}, kSpareMemory).ok());
}

TEST(FitsMemoryTest, ThisMachineHasMemory) { EXPECT_GT(MemoryToUse(), kMiB); }

// Images of odd sizes and one clip, filled with numbers.
Corpus Source() {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
  EXPECT_TRUE(
      writer.AddRoom({{1, 5, 7, 3}, {1, 33, 41, 3}, {2, 3, 4, 3}}).ok());
  for (int64_t i = 0; i < writer.size(); ++i) {
    auto* bytes = static_cast<uint8_t*>(writer.data(i));
    for (int64_t j = 0; j < writer.item(i).bytes; ++j) {
      bytes[j] = static_cast<uint8_t>(j * 37 + i);
    }
  }
  return std::move(writer).Finish().value();
}

double ValueAt(const Corpus& corpus, int64_t i, int64_t place) {
  const void* data = corpus.item(i).data;
  switch (corpus.dtype()) {
    case DType::kUint8:
      return static_cast<const uint8_t*>(data)[place];
    case DType::kFloat32:
      return static_cast<const float*>(data)[place];
    case DType::kFloat16:
      break;
  }
  const uint16_t half = static_cast<const uint16_t*>(data)[place];
  return std::ldexp(1.0 + (half & 1023) / 1024.0, (half >> 10) - 15);
}

// Computes one value at a time, by the definition.
void ExpectConverted(const Corpus& from, const Corpus& to) {
  ASSERT_EQ(to.size(), from.size());
  for (int64_t i = 0; i < from.size(); ++i) {
    const ItemView in = from.item(i);
    const ItemView out = to.item(i);
    ASSERT_EQ(out.height, in.height);
    ASSERT_EQ(out.width, in.width);
    ASSERT_EQ(out.frames, in.frames);
    const int64_t pixels = int64_t{in.height} * in.width;
    for (int64_t p = 0; p < in.frames * pixels; ++p) {
      for (int c = 0; c < out.channels; ++c) {
        const int64_t place =
            to.layout() == Layout::kHwc
                ? p * out.channels + c
                : (p / pixels * out.channels + c) * pixels + p % pixels;
        const int value = static_cast<const uint8_t*>(
            in.data)[p * in.channels + c % in.channels];
        if (to.dtype() == DType::kUint8) {
          ASSERT_EQ(ValueAt(to, i, place), value);
        } else if (to.dtype() == DType::kFloat32) {
          ASSERT_EQ(ValueAt(to, i, place), static_cast<float>(value / 255.0));
        } else if (value > 0) {
          ASSERT_NEAR(ValueAt(to, i, place), value / 255.0,
                      value / 255.0 / 2048);
        }
      }
    }
  }
}

TEST(ConvertCorpusTest, EveryFormIsByTheDefinition) {
  const Corpus source = Source();
  for (DType dtype : {DType::kUint8, DType::kFloat16, DType::kFloat32}) {
    for (Layout layout : {Layout::kHwc, Layout::kChw}) {
      for (int channels : {3, 9, 6}) {
        const Corpus converted =
            ConvertCorpus(source, {dtype, layout, channels}, 2).value();
        EXPECT_EQ(converted.dtype(), dtype);
        EXPECT_EQ(converted.layout(), layout);
        EXPECT_EQ(converted.item(0).channels, channels);
        ExpectConverted(source, converted);
      }
    }
  }
}

TEST(ConvertCorpusTest, ZeroChannelsKeepsTheirNumber) {
  const Corpus source = Source();
  EXPECT_EQ(ConvertCorpus(source, {}, 1).value().item(0).channels, 3);
}

TEST(ConvertCorpusTest, RefusesWhatItCannotDo) {
  const Corpus source = Source();
  EXPECT_THAT(
      std::string(ConvertCorpus(source, {DType::kUint8, Layout::kHwc, 4}, 1)
                      .status()
                      .message()),
      HasSubstr("cannot be repeated to 4"));
  const Corpus planes =
      ConvertCorpus(source, {DType::kUint8, Layout::kChw, 3}, 1).value();
  EXPECT_FALSE(ConvertCorpus(planes, {}, 1).ok());
}

TEST(HalfTest, IsTheNearest) {
  EXPECT_EQ(HalfOf255th(0), 0);
  EXPECT_EQ(HalfOf255th(255), 0x3c00);  // 1
  EXPECT_EQ(HalfOf255th(51), 0x3266);   // 0.2
  EXPECT_EQ(HalfOf255th(1), 0x1c04);    // 0.003922
  EXPECT_EQ(HalfOf255th(128), 0x3804);  // 0.50196
}

}  // namespace
}  // namespace feedrate
