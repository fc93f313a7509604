// JSON lines back into messages.
#ifndef FEEDRATE_LIB_RECORDS_JSON_READER_H_
#define FEEDRATE_LIB_RECORDS_JSON_READER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace feedrate {

// Reads records. Keeps its buffers from line to line; not thread-safe.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();

  // Parses one line. Returns its record name, such as "job". InvalidArgument,
  // without the place, when it is no JSON object, has no `record`, or a
  // `schema` that this program does not know.
  absl::StatusOr<std::string> Open(absl::string_view line);

  // Fills `message` from the line that Open accepted. Fields that the schema
  // does not have are passed over, so that older programs read newer rows;
  // `null` is absence, and in a list of numbers one that is none (NaN).
  // InvalidArgument names a field of the wrong type.
  absl::Status Read(google::protobuf::Message* message);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_JSON_READER_H_
