#include "lib/records/record_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Line(int workers) {
  return absl::StrCat("{\"schema\":1,\"record\":\"job\",\"workers\":", workers,
                      "}");
}

// What came out of reading one file.
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
  EXPECT_TRUE(reader.ReadFile(path).ok());
  seen.broken = reader.broken_lines();
  seen.torn = reader.torn_lines();
  seen.rescued = reader.rescued_lines();
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
  // Every place where a writer may have died.
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

// All of the line was written but its end: both records are whole.
TEST(RecordReaderTest, RecordWithoutItsLineBreakIsNotLost) {
  const Seen seen = ReadAll(Line(7) + Line(8) + "\n" + Line(9));
  EXPECT_THAT(seen.workers, ElementsAre(7, 8, 9));
  EXPECT_THAT(seen.complaints, ElementsAre(HasSubstr("it holds 2 records")));
}

// A map's key may be called as the first field of every record is.
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

TEST(RecordReaderTest, MissingFileIsAnError) {
  RecordReader reader(
      [](absl::string_view, JsonReader&) { return absl::OkStatus(); },
      [](const std::string&) {});
  EXPECT_EQ(reader.ReadFile("no/such.jsonl").code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
