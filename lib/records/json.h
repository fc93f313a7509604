// Writes messages as JSON, in the form of all feedrate records, and reads them
// back.
//
// Differs from protobuf's own printer on purpose: field names stay as in the
// schema, 64-bit integers are numbers, zero values are printed, doubles take
// their shortest exact form, and it is about ten times as fast.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace simdjson {
namespace dom {
class object;
}
}  // namespace simdjson

namespace feedrate {

// The schema version in every record.
inline constexpr int kSchemaVersion = 1;

// The record name of a message type: its name in snake case.
std::string RecordName(const google::protobuf::Descriptor& type);

// Appends `message` as one record with its newline:
// {"schema":1,"record":"job","job_id":…}
void AppendRecord(const google::protobuf::Message& message, std::string* out);

// Appends `message` as a JSON object, without `schema`, `record` and newline.
// A message whose only field is `list` becomes that list.
void AppendJson(const google::protobuf::Message& message, std::string* out);

// Fills `message` from an object whose writer is not trusted. Returns the name
// of the first field that is missing (unless it is `optional`, a message, or
// `may_be_absent` in worker.proto), of the wrong type, or a number below 0.
// Empty when there is none. Ignores unknown fields.
std::string ReadUntrusted(const simdjson::dom::object& json,
                          google::protobuf::Message* message);

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8
// become U+FFFD, so that the line always parses. Control characters and
// commands of CI servers are escaped, as in PrintableText.
void AppendJsonString(absl::string_view text, std::string* out);

// Appends the shortest form that reads back as `value`, or `null` for a value
// that JSON has no number for.
void AppendJsonDouble(double value, std::string* out);

// Reads JSON lines back into messages. Reuses its buffers from line to line.
// Not thread-safe.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();

  // Parses one line and returns its record name, such as "job". InvalidArgument
  // (without file and line number) when it is not a JSON object, has no
  // `record`, or has an unknown `schema`.
  absl::StatusOr<std::string> Open(absl::string_view line);

  // Fills `message` from the line that Open accepted. Ignores fields that the
  // schema does not have, so that older programs can read newer rows. `null` is
  // NaN for a double that is always printed and in a list of doubles, where the
  // writer prints it for a number that JSON does not have; for any other field
  // it means absent. InvalidArgument names a field of the wrong type.
  absl::Status Read(google::protobuf::Message* message);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace feedrate
