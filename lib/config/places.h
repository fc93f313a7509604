// Where the fields of a config stand, and checks of fields whose errors name
// the place.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace feedrate {

// Line and column, counted from 0 as protobuf does.
struct TextPlace {
  int line = 0;
  int column = 0;
};

// Answers what protobuf's parser forgets: for `name: ["a", "b"]` it only says
// where `name` is.
class ValuePlaces {
 public:
  // `text` outlives this.
  explicit ValuePlaces(absl::string_view text);

  // The values of the field whose name is at `field`: those of a list in
  // brackets each at its own place, another one at `field`.
  // REQUIRES: `text` parses.
  std::vector<TextPlace> Of(TextPlace field) const;

 private:
  absl::string_view text_;
  std::vector<size_t> line_starts_;
};

// Where each field of a config came from, for errors that point at it.

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

// Checks of single fields, with errors that say what would be right.

// Every check returns OK or `place: path: problem`.
class FieldChecker {
 public:
  explicit FieldChecker(Places places) : places_(std::move(places)) {}

  absl::Status Error(absl::string_view path, absl::string_view problem) const {
    return places_.Error(path, problem);
  }
  // `"value" is unknown`, with what may have been meant.
  absl::Status Unknown(absl::string_view path, absl::string_view value,
                       const std::vector<std::string>& known) const;
  // `is missing`, with what it may be.
  absl::Status Missing(absl::string_view path,
                       const std::vector<std::string>& known) const;

  absl::Status OneOf(absl::string_view path, absl::string_view value,
                     const std::vector<std::string>& known) const;
  // A number from `least` upwards; no infinity.
  absl::Status AtLeast(absl::string_view path, double value,
                       double least) const;
  // A number up to `most`.
  absl::Status AtMost(absl::string_view path, double value, double most) const;
  // A number above `bound`; no infinity.
  absl::Status Above(absl::string_view path, double value, double bound) const;
  // No name twice.
  template <typename Names>
  absl::Status Distinct(absl::string_view path, const Names& names) const {
    return DistinctNames(path, {names.begin(), names.end()});
  }

  const Places& places() const { return places_; }

 private:
  absl::Status DistinctNames(absl::string_view path,
                             const std::vector<std::string>& names) const;

  Places places_;
};

}  // namespace feedrate
