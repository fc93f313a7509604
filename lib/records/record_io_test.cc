#include "lib/records/record_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/repeated_keys.h"
#include "lib/records/row.pb.h"
#include "lib/records/train_worker.pb.h"
#include "lib/records/worker.pb.h"
#include "simdjson.h"

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
  // What a terminal or a CI server would act upon.
  EXPECT_EQ(String("\x7F \u009B2J \u00A0"), "\"\\u007f \\u009b2J \u00A0\"");
  EXPECT_EQ(String("\u2028\u202E"), "\"\\u2028\\u202e\"");
  EXPECT_EQ(String("# ##[add-mask]x"), "\"# #\\u0023[add-mask]x\"");
}

TEST(JsonWriterTest, WhatIsNotUtf8BecomesReplacement) {
  EXPECT_EQ(String("a\xff"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(String("\xED\xA0\x80").size(), 2 + 3 * 3);
  EXPECT_EQ(String("\xF4\x90\x80\x80").size(), 2 + 4 * 3);
  EXPECT_EQ(String("\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80\"");
}

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

void FillValue(const FieldDescriptor* field, Message* message);

// Gives every field, at every depth, a distinct value.
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

// Readers disagree about which of the two counts.
TEST(JsonReaderTest, WhatIsThereTwiceIsRefused) {
  EXPECT_EQ(ErrorOf(JobLine("\"workers\":8,\"seed\":1,\"workers\":8")),
            "field \"workers\" is there twice; which one counts?");
  for (const char* fields :
       {"\"workers\":null,\"workers\":8", "\"work\\u0065rs\":1,\"workers\":8",
        "\"settings\":{\"a\":\"1\",\"a\":\"2\"}", "\"schema\":1",
        "\"labels\":[],\"labels\":[\"x\"]", "\"record\":\"row\"",
        "\"settings\":{\"a\":\"1\"},\"settings\":{\"b\":\"2\"}"}) {
    EXPECT_THAT(ErrorOf(JobLine(fields)), HasSubstr("is there twice"))
        << fields;
  }
  EXPECT_EQ(ErrorOf(JobLine("\"seed\":1,\"new\":1,\"workers\":8")), "");
  std::string many = "\"settings\":{";
  for (int i = 0; i < 100; ++i) many += absl::StrCat("\"k", i, "\":\"v\",");
  EXPECT_EQ(ErrorOf(JobLine(many + "\"k\":\"v\"}")), "");
  EXPECT_THAT(ErrorOf(JobLine(many + "\"k57\":\"v\"}")),
              HasSubstr("\"k57\" is there twice"));
}

TEST(FindRepeatedKeyTest, NamesThePlaceAtAnyDepth) {
  const auto place_in = [](const std::string& json) {
    simdjson::dom::parser parser;
    return FindRepeatedKey(parser.parse(json).value());
  };
  EXPECT_EQ(place_in("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}"), "");
  EXPECT_EQ(place_in("{\"a\":1,\"b\":2,\"a\":1}"), "a");
  EXPECT_EQ(place_in("{\"a\":[0,{\"b\":{\"c\":1,\"c\":1}}]}"), "a[1].b.c");
  EXPECT_EQ(place_in("[[{\"x\":1,\"x\":1}]]"), "[0][0].x");
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

// 0 would be a result: a loss of 0, an epoch that took no time.
TEST(JsonReaderTest, NullIsNaNOrAbsentButNeverTheNumberZero) {
  Row row;
  row.set_elapsed_s(std::nan(""));
  row.set_of_limit(std::nan(""));
  row.mutable_train()->set_last_loss(std::numeric_limits<double>::infinity());
  (*row.mutable_counters())["loss"] = std::nan("");
  std::string line;
  AppendRecord(row, &line);
  EXPECT_THAT(line, HasSubstr("\"elapsed_s\":null"));
  JsonReader reader;
  Row again;
  ASSERT_TRUE(reader.Open(line).ok());
  ASSERT_TRUE(reader.Read(&again).ok());
  EXPECT_TRUE(std::isnan(again.elapsed_s()));
  EXPECT_TRUE(std::isnan(again.train().last_loss()));
  EXPECT_FALSE(again.has_of_limit());
  EXPECT_TRUE(again.counters().empty());
  EXPECT_EQ(again.throughput(), 0);
}

TEST(JsonReaderTest, WholeNumbersAreFineForDoubles) {
  JsonReader reader;
  Job job;
  ASSERT_TRUE(reader.Open(JobLine("\"cost_s\":3")).ok());
  ASSERT_TRUE(reader.Read(&job).ok());
  EXPECT_EQ(job.cost_s(), 3);
}

// A wrong timer value must not lose the row.
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

// The first wrong field of `json`, which a worker wrote.
template <typename Reply>
std::string WrongOf(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  EXPECT_EQ(parser.parse(json).get(object), simdjson::SUCCESS) << json;
  Reply reply;
  const std::string wrong = ReadUntrusted(object, &reply);
  std::string again;
  AppendJson(reply, &again);
  if (wrong.empty()) {
    EXPECT_EQ(again, json);
  }
  return wrong;
}

TEST(ReadUntrustedTest, ListsAndMapsHaveTheirTypes) {
  EpochReply epoch;
  epoch.add_samples_s(0.5);
  epoch.add_counts()->add_list(7);
  std::string json;
  AppendJson(epoch, &json);
  EXPECT_EQ(WrongOf<EpochReply>(json), "");
  const auto with = [&json](const std::string& old, const std::string& value) {
    return absl::StrReplaceAll(json, {{old, value}});
  };
  EXPECT_EQ(WrongOf<EpochReply>(with("[0.5]", "0.5")), "samples_s");
  EXPECT_EQ(WrongOf<EpochReply>(with("[0.5]", "[\"a\"]")), "samples_s");
  EXPECT_EQ(WrongOf<EpochReply>(with("[0.5]", "[-0.5]")), "samples_s");
  EXPECT_EQ(WrongOf<EpochReply>(with("[0.5]", "[0.5],\"samples_s\":[1]")),
            "samples_s");
  EXPECT_EQ(WrongOf<EpochReply>(with("[[7]]", "[7]")), "counts");
  EXPECT_EQ(WrongOf<EpochReply>(with("[[7]]", "[[-7]]")), "counts");
  TrainReply train;
  (*train.mutable_phases())["forward"] = 0.5;
  json.clear();
  AppendJson(train, &json);
  EXPECT_EQ(WrongOf<TrainReply>(json), "");
  EXPECT_EQ(WrongOf<TrainReply>(with("{\"forward\":0.5}", "[0.5]")), "phases");
  EXPECT_EQ(WrongOf<TrainReply>(with("0.5", "\"fast\"")), "phases");
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Line(int workers) {
  return absl::StrCat("{\"schema\":1,\"record\":\"job\",\"workers\":", workers,
                      "}");
}

// The result of reading one file.
struct Seen {
  std::vector<int> workers;
  std::vector<std::string> complaints;
  int64_t broken = 0;
  int64_t torn = 0;
  int64_t rescued = 0;
  std::vector<int64_t> lines;
};

Seen ReadAll(const std::string& content) {
  const std::string path = ::testing::TempDir() + "/record_reader_test.jsonl";
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  Seen seen;
  const RecordReader* reader_of_this = nullptr;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "job") return absl::OkStatus();
        Job job;
        absl::Status status = json.Read(&job);
        if (status.ok()) {
          seen.workers.push_back(job.workers());
          seen.lines.push_back(reader_of_this->line_number());
        }
        return status;
      },
      [&](const std::string& text) { seen.complaints.push_back(text); });
  reader_of_this = &reader;
  // A text is read as a file is.
  reader.ReadText(content, path);
  Seen of_text;
  std::swap(of_text, seen);
  of_text.broken = reader.broken_lines();
  of_text.torn = reader.torn_lines();
  of_text.rescued = reader.rescued_lines();
  EXPECT_TRUE(reader.ReadFile(path).ok());
  EXPECT_EQ(of_text.workers, seen.workers);
  EXPECT_EQ(of_text.complaints, seen.complaints);
  EXPECT_EQ(of_text.lines, seen.lines);
  seen.broken = reader.broken_lines() - of_text.broken;
  seen.torn = reader.torn_lines() - of_text.torn;
  seen.rescued = reader.rescued_lines() - of_text.rescued;
  EXPECT_EQ(of_text.broken, seen.broken);
  EXPECT_EQ(of_text.torn, seen.torn);
  return seen;
}

TEST(RecordReaderTest, ReadsLinesWithAndWithoutFinalNewline) {
  EXPECT_THAT(ReadAll("").workers, IsEmpty());
  EXPECT_THAT(ReadAll(Line(1) + "\n\n" + Line(2) + "\r\n").workers,
              ElementsAre(1, 2));
  const Seen seen = ReadAll(Line(1) + "\n" + Line(2));
  EXPECT_THAT(seen.workers, ElementsAre(1, 2));
  EXPECT_THAT(seen.complaints, IsEmpty());
}

TEST(RecordReaderTest, TornLastLineIsSkippedWithAWarning) {
  // Every position at which a writer may have died.
  const std::string whole = Line(7);
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    const Seen seen = ReadAll(Line(1) + "\n" + whole.substr(0, cut));
    EXPECT_THAT(seen.workers, ElementsAre(1));
    EXPECT_EQ(seen.torn, 1);
    EXPECT_EQ(seen.broken, 0);
    EXPECT_THAT(seen.complaints, ElementsAre(HasSubstr(":2: skipped")));
  }
}

TEST(RecordReaderTest, BrokenLineIsNamedAndTheRestIsRead) {
  const Seen seen =
      ReadAll(Line(1) + "\nrubbish\n" + Line(2) +
              "\n{\"schema\":1,\"record\":\"job\",\"workers\":\"x\"}\n" +
              Line(3) + "\n");
  EXPECT_THAT(seen.workers, ElementsAre(1, 2, 3));
  EXPECT_THAT(seen.lines, ElementsAre(1, 3, 5));
  EXPECT_EQ(seen.broken, 2);
  EXPECT_EQ(seen.rescued, 0);
  EXPECT_THAT(seen.complaints,
              ElementsAre(HasSubstr(".jsonl:2: not JSON"),
                          HasSubstr(".jsonl:4: field \"workers\"")));
}

TEST(RecordReaderTest, AByteOrderMarkIsNoPartOfARecord) {
  const std::string mark = "\xEF\xBB\xBF";
  const Seen seen = ReadAll(mark + Line(1) + "\n" + mark + Line(2) + "\n");
  EXPECT_THAT(seen.workers, ElementsAre(1, 2));
  EXPECT_EQ(seen.broken, 0);
}

TEST(RecordReaderTest, TheFirstBrokenLinesAreNamedTheRestCounted) {
  std::string content = Line(1) + "\n";
  for (int i = 0; i < 1000; ++i) content += "rubbish\n";
  const Seen seen = ReadAll(content + Line(2) + "\n");
  EXPECT_THAT(seen.workers, ElementsAre(1, 2));
  EXPECT_EQ(seen.broken, 1000);
  ASSERT_EQ(seen.complaints.size(), 6u);
  EXPECT_THAT(seen.complaints[4], HasSubstr(".jsonl:6: not JSON"));
  EXPECT_THAT(seen.complaints[5], HasSubstr(".jsonl: 995 more broken lines"));
}

// A writer was killed in the middle of a line and the next one appended.
TEST(RecordReaderTest, RecordBehindATornOneIsNotLost) {
  const std::string whole = Line(7);
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    const Seen seen = ReadAll(whole.substr(0, cut) + Line(8) + "\n" + Line(9));
    EXPECT_THAT(seen.workers, ElementsAre(8, 9));
    EXPECT_EQ(seen.broken, 1);
    EXPECT_EQ(seen.rescued, 1);
  }
}

// Everything but the line break was written, so both records are complete.
TEST(RecordReaderTest, RecordWithoutItsLineBreakIsNotLost) {
  const Seen seen = ReadAll(Line(7) + Line(8) + "\n" + Line(9));
  EXPECT_THAT(seen.workers, ElementsAre(7, 8, 9));
  EXPECT_THAT(seen.complaints, ElementsAre(HasSubstr("it holds 2 records")));
}

// A map key may have the same name as the first field of every record.
TEST(RecordReaderTest, MapsDoNotHideARecordBehindATornOne) {
  const Seen seen = ReadAll(
      "{\"sch{\"schema\":1,\"record\":\"job\",\"workers\":8,"
      "\"settings\":{\"schema\":\"x\"}}\n");
  EXPECT_THAT(seen.workers, ElementsAre(8));
}

TEST(RecordReaderTest, LinesLongerThanTheBufferAreRead) {
  const std::string pad(3 << 20, 'x');
  const Seen seen = ReadAll(Line(1) + "\n{\"schema\":1,\"record\":\"job\"," +
                            "\"note\":\"" + pad + "\",\"workers\":2}\n");
  EXPECT_THAT(seen.workers, ElementsAre(1, 2));
}

TEST(RecordReaderTest, MissingAndEndlessFilesAreErrors) {
  RecordReader reader(
      [](absl::string_view, JsonReader&) { return absl::OkStatus(); },
      [](const std::string&) {});
  EXPECT_EQ(reader.ReadFile("no/such.jsonl").code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(reader.ReadFile("/dev/zero").code(),
            absl::StatusCode::kInvalidArgument);
  const std::string packed = ::testing::TempDir() + "/rows.jsonl.gz";
  ASSERT_TRUE(WriteFileAtomically(packed, "\x1f\x8b\x08rest\n").ok());
  EXPECT_THAT(std::string(reader.ReadFile(packed).message()),
              HasSubstr("is compressed with gzip; unpack it first"));
}

using ::testing::HasSubstr;

class RecordWriterTest : public ::testing::Test {
 protected:
  RecordWriterTest()
      : path_(::testing::TempDir() + "/record_writer_test"),
        fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)) {}
  ~RecordWriterTest() override { close(fd_); }

  std::string path_;
  int fd_;
};

TEST_F(RecordWriterTest, EachRecordIsOutAtOnce) {
  RecordWriter writer(fd_, "f", RecordWriter::Flush::kEachRecord);
  ASSERT_TRUE(writer.Write(Limit()).ok());
  EXPECT_EQ(*ReadFile(path_),
            "{\"schema\":1,\"record\":\"limit\",\"name\":\"\","
            "\"throughput\":0}\n");
}

TEST_F(RecordWriterTest, BufferedFileEndsWithALineAtEveryMoment) {
  RecordWriter writer(fd_, "f", RecordWriter::Flush::kWhenFull);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writer.Write(Limit()).ok());
    if (i % 500 != 0) continue;
    const std::string content = *ReadFile(path_);
    EXPECT_TRUE(content.empty() || content.back() == '\n');
  }
  ASSERT_TRUE(writer.Finish().ok());
  const std::string content = *ReadFile(path_);
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), 5000);
}

TEST_F(RecordWriterTest, FullDiskIsAnErrorWithTheName) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  RecordWriter writer(full, "rows.jsonl", RecordWriter::Flush::kEachRecord);
  const absl::Status status = writer.Write(Limit());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rows.jsonl: cannot write: No space left"));
  close(full);
}

TEST_F(RecordWriterTest, WhatWasWrittenBeforeAFailureIsNotWrittenAgain) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 10;
  RecordWriter writer(fd_, "f", RecordWriter::Flush::kEachRecord);
  setrlimit(RLIMIT_FSIZE, &limit);
  const absl::Status status = writer.WriteText("0123456789abc\n");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ulimit -f"));
  EXPECT_TRUE(writer.WriteText("next\n").ok());
  EXPECT_EQ(*ReadFile(path_), "0123456789abc\nnext\n");
}

}  // namespace
}  // namespace feedrate
