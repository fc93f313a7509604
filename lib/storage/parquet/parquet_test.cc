#include "lib/storage/parquet/parquet.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/parquet/thrift.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// How many rows lib/storage/parquet/write_parquet.py writes to a file.
constexpr int kRows = 20;

std::string Bytes(const std::string& name) {
  const auto bytes = ReadFile(absl::StrCat(
      "lib/storage/parquet/parquet_fuzz_corpus/", name, ".parquet"));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

class ParquetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ParquetTest, HasTheValuesThatPyarrowWrote) {
  const std::string bytes = Bytes(GetParam());
  const auto file = ParquetFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->rows(), kRows);
  const auto number = file->Read("number");
  const auto floats = file->Read("float");
  const auto doubles = file->Read("double");
  const auto yes = file->Read("yes");
  const auto text = file->Read("text");
  const auto list = file->Read("list");
  const auto texts = file->Read("texts");
  const auto images = file->Read("image/bytes");
  for (const auto* column :
       {&number, &floats, &doubles, &yes, &text, &list, &texts, &images}) {
    ASSERT_TRUE(column->ok()) << column->status();
  }
  EXPECT_THAT(number->begins, IsEmpty());
  ASSERT_THAT(list->begins, SizeIs(kRows + 1));
  ASSERT_THAT(texts->begins, SizeIs(kRows + 1));
  for (int i = 0; i < kRows; ++i) {
    EXPECT_EQ(number->integers[i], i / 3);
    EXPECT_EQ(floats->numbers[i], i / 8.0);
    EXPECT_EQ(doubles->numbers[i], i / 3.0);
    EXPECT_EQ(yes->integers[i], i % 3 == 0 ? 1 : 0);
    EXPECT_EQ(text->texts[i], absl::StrCat("text ", i % 4));
    EXPECT_EQ(list->begins[i], 3 * i);
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(list->numbers[3 * i + j], i + j / 4.0);
    }
    EXPECT_EQ(texts->begins[i + 1] - texts->begins[i], i % 3);
    EXPECT_EQ(images->texts[i], std::string({static_cast<char>(i), 0}));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ParquetTest,
                         ::testing::Values("snappy", "plain", "groups", "pages",
                                           "gzip", "zstd"));

TEST_P(ParquetTest, GroupsMakeUpTheColumn) {
  const std::string bytes = Bytes(GetParam());
  const auto file = ParquetFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> texts;
  for (int group = 0; group < file->groups(); ++group) {
    const auto column = file->ReadGroup("image/bytes", group);
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ(static_cast<int64_t>(column->texts.size()), file->rows(group));
    EXPECT_FALSE(file->Chunk("image/bytes", group).empty());
    texts.insert(texts.end(), column->texts.begin(), column->texts.end());
  }
  EXPECT_EQ(texts, file->Read("image/bytes")->texts);
}

TEST(ParquetTest, TextsOfPlainPagesHavePlaces) {
  const std::string plain = Bytes("plain");
  const auto file = ParquetFile::Parse(plain);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto places = file->Places("image/bytes");
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_THAT(*places, SizeIs(kRows));
  for (int i = 0; i < kRows; ++i) {
    EXPECT_EQ((*places)[i], std::string({static_cast<char>(i), 0}));
    EXPECT_GE((*places)[i].data(), plain.data());
    EXPECT_LT((*places)[i].data(), plain.data() + plain.size());
  }
  EXPECT_THAT(file->Places("image/path").status().message(),
              HasSubstr("has no value in row 0"));
  EXPECT_THAT(file->Places("number").status().message(),
              HasSubstr("column number is not a column of texts"));
  const std::string packed = Bytes("snappy");
  EXPECT_TRUE(absl::IsUnimplemented(
      ParquetFile::Parse(packed)->Places("image/bytes").status()));
}

TEST(ParquetTest, WritesImagesThatItReads) {
  // More than a group and, by their size, more than a page.
  std::vector<std::string> texts;
  for (int i = 0; i < 250; ++i) {
    texts.push_back(std::string(i % 7 == 0 ? 300000 : i, 'a' + i % 26));
  }
  std::vector<ParquetImage> images;
  for (size_t i = 0; i < texts.size(); ++i) {
    images.push_back({texts[i], absl::StrCat(i, ".jpg")});
  }
  const std::string bytes = WriteParquetImages(images);
  const auto file = ParquetFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->groups(), 3);
  EXPECT_EQ(file->Read("image/bytes")->texts, texts);
  EXPECT_EQ(file->Read("image/path")->texts[249], "249.jpg");
  const auto places = file->Places("image/bytes");
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ(std::vector<std::string>(places->begin(), places->end()), texts);
  EXPECT_EQ(ParquetFile::Parse(WriteParquetImages({}))->rows(), 0);
}

// They were read as -1 and as 1 and 150.
TEST(ParquetTest, NumbersWithoutSignAreNotNegativeAndDecimalsAreRefused) {
  const std::string bytes = Bytes("odd_numbers");
  const auto file = ParquetFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto integers = [&](const char* column) {
    const auto read = file->Read(column);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->integers : std::vector<int64_t>();
  };
  EXPECT_THAT(integers("byte"), ElementsAre(0, 255));
  EXPECT_THAT(integers("word"), ElementsAre(1, 4294967295));
  EXPECT_THAT(integers("long"),
              ElementsAre(2, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(file->Read("too_long").status().message(),
              HasSubstr("column too_long has a number of 2^63 or more"));
  EXPECT_THAT(file->Read("cents").status().message(),
              HasSubstr("column cents has decimal numbers"));
}

TEST(ParquetTest, SaysWhatIsNotSupported) {
  const std::string brotli = Bytes("brotli");
  const auto packed = ParquetFile::Parse(brotli);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_THAT(packed->Read("number").status().message(),
              HasSubstr("column number is compressed by another method"));
  const std::string delta = Bytes("delta");
  const auto coded = ParquetFile::Parse(delta);
  ASSERT_TRUE(coded.ok()) << coded.status();
  EXPECT_THAT(coded->Read("number").status().message(),
              HasSubstr("has the encoding 5"));
  EXPECT_TRUE(coded->Read("text").ok());
  EXPECT_THAT(coded->Read("none").status().message(),
              HasSubstr("has no column none; it has number, float"));
  EXPECT_THAT(coded->Read("image/path").status().message(),
              HasSubstr("has no value in row 0"));
}

TEST(GzipTest, HasTheSizeThatItStates) {
  // Of "aaaaaaaaaa", as gzip writes it.
  const std::string packed(
      "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x4b\x4c\x84\x01\0"
      "\xf0\xcd\x11\x4c\x0a\0\0\0",
      23);
  const auto out = UnpackGzip(packed, 10);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "aaaaaaaaaa");
  for (const int64_t size : {-1, 0, 9, 11, 1 << 30}) {
    EXPECT_FALSE(UnpackGzip(packed, size).ok()) << size;
  }
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(UnpackGzip(packed.substr(0, size), 10).ok()) << size;
  }
}

TEST(ZstdTest, HasTheSizeThatItStates) {
  // Of "aaaaaaaaaa", as zstd writes it, with a checksum.
  const std::string packed(
      "\x28\xb5\x2f\xfd\x04\x58\x51\0\0"
      "aaaaaaaaaaO\xf8\xb5w",
      23);
  const auto out = UnpackZstd(packed, 10);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "aaaaaaaaaa");
  for (const int64_t size : {-1, 0, 9, 11, 1 << 30}) {
    EXPECT_FALSE(UnpackZstd(packed, size).ok()) << size;
  }
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(UnpackZstd(packed.substr(0, size), 10).ok()) << size;
  }
}

TEST(ParquetTest, EveryCutIsAnError) {
  const std::string bytes = Bytes("snappy");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParquetFile::Parse(bytes.substr(0, size)).ok()) << size;
  }
}

// What does not fit must not become the number of something else, such as the
// codec 0 of 2^32.
TEST(ThriftTest, NumbersFitTheirTypes) {
  const auto read = [](const std::string& text) {
    absl::string_view bytes = text;
    Thrift value;
    const absl::Status status = ReadThrift(&bytes, &value);
    return status.ok() ? value[1].number : -1;
  };
  const auto field = [](char head, const std::string& rest) {
    return std::string(1, head) + rest + std::string(1, 0);
  };
  // The first field as a number of 16, 32 and 64 bits: 7, then 2^15, 2^32.
  EXPECT_EQ(read(field(0x14, "\x0e")), 7);
  EXPECT_EQ(read(field(0x15, "\x0e")), 7);
  EXPECT_EQ(read(field(0x14, "\x80\x80\x04")), -1);
  EXPECT_EQ(read(field(0x15, "\x80\x80\x80\x80\x20")), -1);
  EXPECT_EQ(read(field(0x16, "\x80\x80\x80\x80\x20")), int64_t{1} << 32);
  // The number of the field itself: 1, then 2^16 + 1.
  EXPECT_EQ(read(field(0x05, "\x02\x0e")), 7);
  EXPECT_EQ(read(field(0x05, "\x82\x80\x08\x0e")), -1);
}

TEST(SnappyTest, CopiesMayOverlap) {
  // "ab", and eight bytes from two before.
  const auto out = UnpackSnappy(std::string("\x0a\x04"
                                            "ab\x11\x02",
                                            6),
                                10);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "ababababab");
  EXPECT_FALSE(UnpackSnappy(std::string("\x0a\x04"
                                        "ab\x11\x03",
                                        6),
                            10)
                   .ok());
}

}  // namespace
}  // namespace feedrate
