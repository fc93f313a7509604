#include "lib/records/json_writer.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

std::string Double(double value) {
  std::string out;
  AppendJsonDouble(value, &out);
  return out;
}

std::string String(absl::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(JsonWriterTest, RecordStartsWithSchemaAndName) {
  Cache cache;
  std::string out;
  AppendRecord(cache, &out);
  EXPECT_EQ(out,
            "{\"schema\":1,\"record\":\"cache\","
            "\"resident_fraction\":0,\"bytes_read\":0}\n");
}

TEST(JsonWriterTest, NamesAreSnakeCase) {
  EXPECT_EQ(RecordName(*GpuMemory::descriptor()), "gpu_memory");
  EXPECT_EQ(RecordName(*Env::descriptor()), "env");
}

TEST(JsonWriterTest, BigIntegersAreNumbersAndAbsenceIsLeftOut) {
  Cgroup cgroup;
  cgroup.set_memory_limit_bytes(9007199254740993);
  std::string out;
  AppendRecord(cgroup, &out);
  EXPECT_EQ(out,
            "{\"schema\":1,\"record\":\"cgroup\",\"version\":0,"
            "\"memory_limit_bytes\":9007199254740993,"
            "\"cpuset_cores\":0}\n");
}

TEST(JsonWriterTest, ListsMapsAndMessages) {
  Job job;
  (*job.mutable_settings())["z"] = "1";
  (*job.mutable_settings())["a"] = "2";
  job.add_run_indexes(0);
  job.add_run_indexes(2);
  std::string out;
  AppendRecord(job, &out);
  EXPECT_NE(out.find("\"settings\":{\"a\":\"2\",\"z\":\"1\"}"),
            std::string::npos);
  EXPECT_NE(out.find("\"run_indexes\":[0,2]"), std::string::npos);
  EXPECT_NE(out.find("\"labels\":[]"), std::string::npos);
  EXPECT_EQ(out.find("unsupported_reason"), std::string::npos);
  Row row;
  row.mutable_dataset()->set_id("d");
  out.clear();
  AppendRecord(row, &out);
  EXPECT_NE(out.find("\"dataset\":{\"id\":\"d\",\"files\":0"),
            std::string::npos);
  EXPECT_EQ(out.find("\"limit\""), std::string::npos);
}

TEST(JsonWriterTest, DoublesAreShortestAndExact) {
  EXPECT_EQ(Double(0.1), "0.1");
  EXPECT_EQ(Double(1), "1");
  EXPECT_EQ(Double(1e300), "1e+300");
  EXPECT_EQ(Double(-0.0), "-0.0");
  for (double value : {1.0 / 3, std::nextafter(1.0, 2.0), 5e-324}) {
    EXPECT_EQ(std::strtod(Double(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(Double(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(Double(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriterTest, StringsAreEscaped) {
  EXPECT_EQ(String("a\"b\\c\n\t\r\x01"), "\"a\\\"b\\\\c\\n\\t\\r\\u0001\"");
  EXPECT_EQ(String(absl::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(String("größe…"), "\"größe…\"");
}

TEST(JsonWriterTest, WhatIsNotUtf8BecomesReplacement) {
  EXPECT_EQ(String("a\xff"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xED\xA0\x80").size(), 2 + 3 * 3);
  EXPECT_EQ(String("\xF4\x90\x80\x80").size(), 2 + 4 * 3);
  EXPECT_EQ(String("\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80\"");
}

}  // namespace
}  // namespace feedrate
