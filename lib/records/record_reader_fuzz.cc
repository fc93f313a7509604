// Reads arbitrary bytes as a file of records. Every record that is read must
// read back the same, also after the torn start of another record.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

template <typename Message>
absl::Status ReadInto(JsonReader& json, std::vector<std::string>* records) {
  Message message;
  RETURN_IF_ERROR(json.Read(&message));
  AppendRecord(message, &records->emplace_back());
  return absl::OkStatus();
}

// The records in `content`, as the writer prints them.
std::vector<std::string> ReadAll(absl::string_view content) {
  const int fd = memfd_create("records", MFD_CLOEXEC);
  CHECK_GE(fd, 0);
  CHECK_EQ(write(fd, content.data(), content.size()),
           static_cast<ssize_t>(content.size()));
  CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
  std::vector<std::string> records;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) {
        return record == "job"   ? ReadInto<Job>(json, &records)
               : record == "row" ? ReadInto<Row>(json, &records)
               : record == "env" ? ReadInto<Env>(json, &records)
                                 : absl::OkStatus();
      },
      [](const std::string& text) {
        CHECK(absl::StartsWith(text, "f:")) << text;
        CHECK(!absl::StrContains(text, '\n')) << text;
      });
  CHECK_EQ(reader.ReadDescriptor(fd, "f").ok(),
           CheckNotCompressed("f", content).ok());
  close(fd);
  return records;
}

void CheckNotLost(absl::string_view before, const std::string& record) {
  const std::string content = absl::StrCat(before, record);
  const std::vector<std::string> read = ReadAll(content);
  CHECK(!read.empty() && read.back() == record) << content;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view content(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> records = feedrate::ReadAll(content);
  if (!feedrate::CheckNotCompressed("f", content).ok()) return 0;
  // A line break would end the torn line.
  const std::string torn = absl::StrReplaceAll(content, {{"\n", " "}});
  // One record is enough and keeps long inputs fast.
  if (!records.empty()) {
    const std::string& record = records.back();
    feedrate::CheckNotLost("", record);
    feedrate::CheckNotLost(torn, record);
    const size_t cut = size % record.size();
    feedrate::CheckNotLost(record.substr(0, cut), record);
    // Everything but the line break was written.
    const std::string both =
        absl::StrCat(record.substr(0, record.size() - 1), record);
    CHECK_EQ(feedrate::ReadAll(both).size(), 2u) << both;
  }
  return 0;
}
