#include "lib/config/places.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "lib/config/value_places.h"

namespace feedrate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::TextFormat;
using ParseInfoTree = TextFormat::ParseInfoTree;
using ParseLocation = TextFormat::ParseLocation;

// `execution.batch_size` -> `execution`; `a[1]` -> `a`; `a` -> "".
absl::string_view Around(absl::string_view path) {
  const size_t cut = path.find_last_of(".[");
  return cut == absl::string_view::npos ? "" : path.substr(0, cut);
}

}  // namespace

void Places::AddParsed(const Message& message, const ParseInfoTree& tree,
                       absl::string_view text) {
  Walk(message, tree, ValuePlaces(text), "");
}

void Places::Walk(const Message& message, const ParseInfoTree& tree,
                  const ValuePlaces& values, const std::string& prefix) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->is_repeated()) {
      WalkList(message, field, tree, values, path);
      continue;
    }
    Add(path, tree.GetLocation(field, -1));
    const ParseInfoTree* nested = tree.GetTreeForNested(field, -1);
    if (nested == nullptr) continue;
    Walk(message.GetReflection()->GetMessage(message, field), *nested, values,
         path + ".");
  }
}

void Places::WalkList(const Message& message, const FieldDescriptor* field,
                      const ParseInfoTree& tree, const ValuePlaces& values,
                      const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, field);
  Add(path, tree.GetLocation(field, 0));
  // One location for each time that the name stands there.
  std::vector<TextPlace> places;
  for (int i = 0; i < size && tree.GetLocation(field, i).line >= 0; ++i) {
    const auto name = tree.GetLocation(field, i);
    for (const TextPlace& place : values.Of({name.line, name.column})) {
      places.push_back(place);
    }
  }
  for (int i = 0; i < size; ++i) {
    const std::string value_path = absl::StrCat(path, "[", i, "]");
    if (i < static_cast<int>(places.size())) {
      Add(value_path, {places[i].line, places[i].column});
    }
    const ParseInfoTree* nested = tree.GetTreeForNested(field, i);
    if (nested == nullptr) continue;
    Walk(reflection.GetRepeatedMessage(message, field, i), *nested, values,
         value_path + ".");
  }
}

void Places::Add(const std::string& path, const ParseLocation& place) {
  if (place.line < 0) return;
  places_[path] =
      absl::StrCat(file_, ":", place.line + 1, ":", place.column + 1);
}

void Places::Set(absl::string_view path, absl::string_view origin) {
  // What was inside it came with the old value.
  absl::erase_if(places_, [&](const auto& entry) {
    return entry.first.size() > path.size() &&
           absl::StartsWith(entry.first, path) &&
           (entry.first[path.size()] == '[' || entry.first[path.size()] == '.');
  });
  places_[std::string(path)] = std::string(origin);
}

std::string Places::Of(absl::string_view path) const {
  for (; !path.empty(); path = Around(path)) {
    const auto found = places_.find(path);
    if (found != places_.end()) return found->second;
  }
  return file_;
}

absl::Status Places::Error(absl::string_view path,
                           absl::string_view problem) const {
  const std::string place = Of(path);
  if (absl::StartsWith(place, "--")) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", problem));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": ", path, ": ", problem));
}

}  // namespace feedrate
