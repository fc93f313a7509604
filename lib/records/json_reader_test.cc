#include "lib/records/json_reader.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "lib/records/json_writer.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

void FillValue(const FieldDescriptor* field, Message* message);

// Gives every field, at every depth, a value of its own.
void Fill(Message* message) {
  const Descriptor* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    FillValue(type->field(i), message);
    if (type->field(i)->is_repeated() && !type->field(i)->is_map()) {
      FillValue(type->field(i), message);
    }
  }
}

void FillValue(const FieldDescriptor* field, Message* message) {
  const Reflection& r = *message->GetReflection();
  const bool many = field->is_repeated();
  const int n = field->number() * 3 + 1;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? r.AddInt32(message, field, -n)
                  : r.SetInt32(message, field, -n);
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? r.AddInt64(message, field, (1LL << 60) + n)
                  : r.SetInt64(message, field, (1LL << 60) + n);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? r.AddDouble(message, field, n / 7.0)
                  : r.SetDouble(message, field, n / 7.0);
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.SetBool(message, field, true);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = absl::StrCat(field->name(), " \"ü\"\n");
      return many ? r.AddString(message, field, text)
                  : r.SetString(message, field, text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Fill(many ? r.AddMessage(message, field)
                       : r.MutableMessage(message, field));
    default:
      FAIL() << field->full_name() << " has a type that records do not use";
  }
}

template <typename T>
class RoundTripTest : public ::testing::Test {};
using Records = ::testing::Types<Env, Run, Job, Row>;
TYPED_TEST_SUITE(RoundTripTest, Records);

TYPED_TEST(RoundTripTest, EveryFieldComesBack) {
  TypeParam written, read;
  Fill(&written);
  std::string line;
  AppendRecord(written, &line);
  JsonReader reader;
  ASSERT_EQ(*reader.Open(line), RecordName(*TypeParam::descriptor()));
  ASSERT_TRUE(reader.Read(&read).ok());
  MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(written, read)) << difference;
}

std::string ErrorOf(const std::string& line) {
  JsonReader reader;
  auto opened = reader.Open(line);
  if (!opened.ok()) return std::string(opened.status().message());
  Job job;
  return std::string(reader.Read(&job).message());
}

std::string JobLine(const std::string& fields) {
  return absl::StrCat("{\"schema\":1,\"record\":\"job\",", fields, "}");
}

TEST(JsonReaderTest, WrongTypesNameTheField) {
  EXPECT_EQ(ErrorOf(JobLine("\"workers\":\"8\"")),
            "field \"workers\": expected a whole number, found text");
  EXPECT_EQ(ErrorOf(JobLine("\"workers\":1.5")),
            "field \"workers\": expected a whole number, found a number");
  EXPECT_EQ(ErrorOf(JobLine("\"workers\":3000000000")),
            "field \"workers\": 3000000000 is out of range");
  EXPECT_EQ(ErrorOf(JobLine("\"seed\":18446744073709551615")),
            "field \"seed\": 18446744073709551615 is out of range");
  EXPECT_EQ(ErrorOf(JobLine("\"labels\":\"x\"")),
            "field \"labels\": expected a list, found text");
  EXPECT_EQ(ErrorOf(JobLine("\"settings\":[1]")),
            "field \"settings\": expected an object, found a list");
  EXPECT_EQ(ErrorOf(JobLine("\"settings\":{\"a\":1}")),
            "field \"value\": expected text, found a whole number");
  EXPECT_EQ(ErrorOf(JobLine("\"cost_s\":true")),
            "field \"cost_s\": expected a number, found true or false");
}

TEST(JsonReaderTest, NewerFieldsAndNullsArePassedOver) {
  JsonReader reader;
  Job job;
  ASSERT_TRUE(reader
                  .Open(JobLine("\"new\":{\"x\":[1]},\"seed\":null,"
                                "\"workers\":3"))
                  .ok());
  ASSERT_TRUE(reader.Read(&job).ok());
  EXPECT_EQ(job.workers(), 3);
  EXPECT_EQ(job.seed(), 0);
}

TEST(JsonReaderTest, WholeNumbersAreFineForDoubles) {
  JsonReader reader;
  Job job;
  ASSERT_TRUE(reader.Open(JobLine("\"cost_s\":3")).ok());
  ASSERT_TRUE(reader.Read(&job).ok());
  EXPECT_EQ(job.cost_s(), 3);
}

// A timer that went wrong must not cost the row.
TEST(JsonReaderTest, NumbersThatAreNoneComeBackInLists) {
  Row row;
  row.add_samples_s(0.5);
  row.add_samples_s(std::nan(""));
  row.add_samples_s(0.25);
  std::string line;
  AppendRecord(row, &line);
  JsonReader reader;
  Row again;
  ASSERT_TRUE(reader.Open(line).ok());
  ASSERT_TRUE(reader.Read(&again).ok());
  ASSERT_EQ(again.samples_s_size(), 3);
  EXPECT_TRUE(std::isnan(again.samples_s(1)));
  EXPECT_EQ(again.samples_s(2), 0.25);
  EXPECT_THAT(ErrorOf(JobLine("\"labels\":[null]")), HasSubstr("no null"));
}

TEST(JsonReaderTest, WhatIsNoRecordIsSaid) {
  EXPECT_THAT(ErrorOf("hello"), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("{\"schema\":1,\"record\":\"job\""),
              HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf("{\"schema\":1}"), HasSubstr("\"record\""));
  EXPECT_THAT(ErrorOf("{\"schema\":2,\"record\":\"job\"}"),
              HasSubstr("\"schema\" is not 1"));
  EXPECT_THAT(ErrorOf("{\"record\":\"job\"}"), HasSubstr("\"schema\""));
}

}  // namespace
}  // namespace feedrate
