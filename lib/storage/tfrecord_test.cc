#include "lib/storage/tfrecord.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string FileOf(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) AppendTfRecord(record, &file);
  return file;
}

// Data of all records that are whole, "!" for one that is not.
std::vector<std::string> ReadAll(const std::string& file) {
  std::vector<std::string> all;
  TfRecordCursor cursor("f", file);
  for (;;) {
    const auto record = cursor.Next();
    if (!record.ok()) {
      EXPECT_EQ(record.status().code(), absl::StatusCode::kDataLoss);
      all.push_back("!");
      continue;
    }
    if (!record->has_value()) return all;
    all.emplace_back(**record);
  }
}

TEST(TfRecordTest, WhatIsWrittenIsRead) {
  const std::vector<std::string> records = {"one", "", std::string(100000, 'x'),
                                            std::string("\0\n", 2)};
  EXPECT_EQ(ReadAll(FileOf(records)), records);
  EXPECT_TRUE(ReadAll("").empty());
}

// Worked out by hand from the format's description.
TEST(TfRecordTest, TheBytesAreThoseOfTheFormat) {
  const unsigned char expected[] = {0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                    0x00, 0xb0, 0x99, 0x49, 0x0e, 0x61, 0x62,
                                    0x63, 0x6e, 0x57, 0xf1, 0x21};
  EXPECT_EQ(FileOf({"abc"}),
            std::string(expected, expected + sizeof(expected)));
}

TEST(TfRecordTest, ADamagedRecordIsPassedOver) {
  std::string file = FileOf({"first", "second", "third"});
  file[5 + 16 + 12 + 2] ^= 1;
  EXPECT_THAT(ReadAll(file), testing::ElementsAre("first", "!", "third"));
}

TEST(TfRecordTest, ADamagedLengthEndsTheFile) {
  std::string file = FileOf({"first", "second", "third"});
  file[5 + 16] ^= 1;
  EXPECT_THAT(ReadAll(file), testing::ElementsAre("first", "!"));
}

TEST(TfRecordTest, EveryCutIsSeenUnlessItIsBetweenRecords) {
  const std::string file = FileOf({"first", "second"});
  for (size_t size = 1; size < file.size(); ++size) {
    const std::vector<std::string> read = ReadAll(file.substr(0, size));
    ASSERT_FALSE(read.empty());
    EXPECT_EQ(read.back() == "!", size != 21) << size;
  }
}

TEST(TfRecordTest, MessagesNameThePlace) {
  std::string file = FileOf({"first", "second"});
  file[21 + 12] ^= 1;
  TfRecordCursor cursor("a/shard-0", file);
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_THAT(cursor.Next().status().message(),
              HasSubstr("a/shard-0: record 1 at byte 21: wrong checksum"));
  EXPECT_TRUE(cursor.can_go_on());
  EXPECT_EQ(cursor.count(), 2);
}

TEST(TfRecordTest, UncheckedFindsTheSamePlaces) {
  std::string file = FileOf({"first", "second"});
  file[12] ^= 1;
  TfRecordCursor cursor("f", file);
  ASSERT_TRUE(cursor.NextUnchecked().ok());
  EXPECT_EQ(cursor.offset(), 21);
}

}  // namespace
}  // namespace feedrate
