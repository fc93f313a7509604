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

namespace feedrate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ParseInfoTree = ::google::protobuf::TextFormat::ParseInfoTree;

// `execution.batch_size` -> `execution`; `a[1]` -> `a`; `a` -> "".
absl::string_view Around(absl::string_view path) {
  const size_t cut = path.find_last_of(".[");
  return cut == absl::string_view::npos ? "" : path.substr(0, cut);
}

}  // namespace

void Places::AddParsed(const Message& message, const ParseInfoTree& tree) {
  Walk(message, tree, "");
}

void Places::Walk(const Message& message, const ParseInfoTree& tree,
                  const std::string& prefix) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const int size = repeated ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const int index = repeated ? i : -1;
      const std::string path =
          repeated ? absl::StrCat(prefix, field->name(), "[", i, "]")
                   : absl::StrCat(prefix, field->name());
      const auto place = tree.GetLocation(field, index);
      if (place.line >= 0) {
        places_[path] =
            absl::StrCat(file_, ":", place.line + 1, ":", place.column + 1);
      }
      const ParseInfoTree* nested = tree.GetTreeForNested(field, index);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
          nested == nullptr) {
        continue;
      }
      Walk(repeated ? reflection.GetRepeatedMessage(message, field, i)
                    : reflection.GetMessage(message, field),
           *nested, path + ".");
    }
  }
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
