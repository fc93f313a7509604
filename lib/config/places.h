// Where each field of a config came from, for errors that point at it.
#ifndef FEEDRATE_LIB_CONFIG_PLACES_H_
#define FEEDRATE_LIB_CONFIG_PLACES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "lib/config/value_places.h"

namespace feedrate {

// Fields are named by their path, such as `execution.batch_size` or
// `selection.libraries[1]`.
class Places {
 public:
  // `file` stands for fields that are set nowhere.
  explicit Places(std::string file) : file_(std::move(file)) {}

  // Takes the places of all fields in `message` from its parse out of `text`.
  void AddParsed(const google::protobuf::Message& message,
                 const google::protobuf::TextFormat::ParseInfoTree& tree,
                 absl::string_view text);

  // Says that `path`, with all that is inside it, comes from `origin`, such as
  // `--batch_size`.
  void Set(absl::string_view path, absl::string_view origin);

  // `file:line:column`, a flag, or the place of the message around it.
  std::string Of(absl::string_view path) const;

  // InvalidArgument: `place: path: problem`; where the place is a flag, the
  // path is left out.
  absl::Status Error(absl::string_view path, absl::string_view problem) const;

 private:
  using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;

  void Walk(const google::protobuf::Message& message, const ParseInfoTree& tree,
            const ValuePlaces& values, const std::string& prefix);
  void WalkList(const google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor* field,
                const ParseInfoTree& tree, const ValuePlaces& values,
                const std::string& path);
  void Add(const std::string& path,
           const google::protobuf::TextFormat::ParseLocation& place);

  std::string file_;
  absl::flat_hash_map<std::string, std::string> places_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CONFIG_PLACES_H_
