#include "lib/storage/tfrecord.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/testing/example.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string FileOf(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) AppendTfRecord(record, &file);
  return file;
}

// The data of all intact records, "!" for each damaged one.
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
  EXPECT_THAT(ReadAll(file), ::testing::ElementsAre("first", "!", "third"));
}

TEST(TfRecordTest, ADamagedLengthEndsTheFile) {
  std::string file = FileOf({"first", "second", "third"});
  file[5 + 16] ^= 1;
  EXPECT_THAT(ReadAll(file), ::testing::ElementsAre("first", "!"));
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Sample() {
  ExampleBuilder builder;
  builder.AddBytes("frames", {"jpeg0", "", "jpeg2"});
  builder.AddFloats("action", {0.5f, -1.25f});
  builder.AddIntegers("step", {0, 1, -3, int64_t{1} << 62});
  builder.AddBytes("empty", {});
  return builder.Serialized();
}

TEST(ExampleTest, ReadsWhatItWrites) {
  const std::string message = Sample();
  ExampleView view;
  ASSERT_TRUE(view.Parse(message).ok());
  EXPECT_THAT(view.names(), ElementsAre("frames", "action", "step", "empty"));
  std::vector<absl::string_view> bytes;
  ASSERT_TRUE(view.Bytes("frames", &bytes).ok());
  EXPECT_THAT(bytes, ElementsAre("jpeg0", "", "jpeg2"));
  // Not a copy.
  EXPECT_GE(bytes[0].data(), message.data());
  EXPECT_LT(bytes[0].data(), message.data() + message.size());
  std::vector<float> floats;
  ASSERT_TRUE(view.Floats("action", &floats).ok());
  EXPECT_THAT(floats, ElementsAre(0.5f, -1.25f));
  std::vector<int64_t> integers;
  ASSERT_TRUE(view.Integers("step", &integers).ok());
  EXPECT_THAT(integers, ElementsAre(0, 1, -3, int64_t{1} << 62));
  ASSERT_TRUE(view.Bytes("empty", &bytes).ok());
  EXPECT_THAT(bytes, IsEmpty());
}

TEST(ExampleTest, ProtobufReadsWhatItWrites) {
  testing::Example example;
  ASSERT_TRUE(example.ParseFromString(Sample()));
  const auto& features = example.features().feature();
  EXPECT_EQ(features.size(), 4u);
  EXPECT_EQ(features.at("frames").bytes_list().value(2), "jpeg2");
  EXPECT_EQ(features.at("action").float_list().value(1), -1.25f);
  EXPECT_EQ(features.at("step").int64_list().value(2), -3);
}

TEST(ExampleTest, ReadsWhatProtobufWrites) {
  testing::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  for (int i = 0; i < 100; ++i) {
    features["n"].mutable_int64_list()->add_value(i * i - 50);
    features["f"].mutable_float_list()->add_value(i / 8.0f);
  }
  features["b"].mutable_bytes_list()->add_value(std::string(300, 'x'));
  features["nothing"];
  const std::string message = example.SerializeAsString();
  ExampleView view;
  ASSERT_TRUE(view.Parse(message).ok());
  std::vector<int64_t> integers;
  ASSERT_TRUE(view.Integers("n", &integers).ok());
  ASSERT_EQ(integers.size(), 100u);
  EXPECT_EQ(integers[99], 99 * 99 - 50);
  std::vector<float> floats;
  ASSERT_TRUE(view.Floats("f", &floats).ok());
  EXPECT_EQ(floats[9], 9 / 8.0f);
  // A feature without a kind is an empty list of any kind.
  ASSERT_TRUE(view.Floats("nothing", &floats).ok());
  EXPECT_THAT(floats, IsEmpty());
}

TEST(ExampleTest, UnpackedNumbersAreReadToo) {
  std::string list("\x08\x05\x08\x07", 4);
  std::string feature = std::string("\x1a\x04", 2) + list;
  std::string entry =
      std::string("\x0a\x01", 2) + "n" + std::string("\x12\x06", 2) + feature;
  std::string features =
      std::string("\x0a", 1) + static_cast<char>(entry.size()) + entry;
  std::string message =
      std::string("\x0a", 1) + static_cast<char>(features.size()) + features;
  ExampleView view;
  ASSERT_TRUE(view.Parse(message).ok());
  std::vector<int64_t> integers;
  ASSERT_TRUE(view.Integers("n", &integers).ok());
  EXPECT_THAT(integers, ElementsAre(5, 7));
}

TEST(ExampleTest, SaysWhatIsMissingOrOfAnotherKind) {
  const std::string message = Sample();
  ExampleView view;
  ASSERT_TRUE(view.Parse(message).ok());
  std::vector<float> floats;
  const absl::Status missing = view.Floats("state", &floats);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(),
              HasSubstr("no feature \"state\"; it has frames, action"));
  EXPECT_THAT(view.Floats("step", &floats).message(),
              HasSubstr("\"step\" has integers, not floats"));
  EXPECT_TRUE(view.Has("step"));
  EXPECT_FALSE(view.Has("state"));
}

// Protobuf agrees with every verdict on a truncated message.
TEST(ExampleTest, CutOffMessagesAreBroken) {
  const std::string message = Sample();
  for (size_t size = 1; size < message.size(); ++size) {
    testing::Example example;
    ExampleView view;
    EXPECT_EQ(view.Parse(absl::string_view(message).substr(0, size)).ok(),
              example.ParseFromString(message.substr(0, size)))
        << size;
  }
}

}  // namespace
}  // namespace feedrate
