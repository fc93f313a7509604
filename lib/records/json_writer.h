// Messages as JSON, the way every feedrate record is printed.
//
// Differs from protobuf's own printer on purpose: field names stay as in the
// schema, 64-bit integers are numbers, zero values are printed, doubles take
// their shortest exact form, and it is some ten times as fast.
#ifndef FEEDRATE_LIB_RECORDS_JSON_WRITER_H_
#define FEEDRATE_LIB_RECORDS_JSON_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace feedrate {

// The version of the schema that records carry.
inline constexpr int kSchemaVersion = 1;

// The name of a record of this type: the message's name in snake case.
std::string RecordName(const google::protobuf::Descriptor& type);

// Appends `message` as one record with its newline:
// {"schema":1,"record":"job","job_id":…}
void AppendRecord(const google::protobuf::Message& message, std::string* out);

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8
// become U+FFFD, so that the line always parses.
void AppendJsonString(absl::string_view text, std::string* out);

// Appends the shortest form that reads back as `value`; `null` for what JSON
// has no number for.
void AppendJsonDouble(double value, std::string* out);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_JSON_WRITER_H_
