#include "lib/media/convert_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/media/corpus.h"
#include "lib/media/corpus_writer.h"
#include "lib/media/half.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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

// By the definition, one value at a time.
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
