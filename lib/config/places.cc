#include "lib/config/places.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

using ::google::protobuf::io::ArrayInputStream;
using ::google::protobuf::io::Tokenizer;

class NoErrors : public ::google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// The tokens of a text that starts at a line of the file.
class Tokens {
 public:
  Tokens(absl::string_view text, int first_line)
      : stream_(text.data(), static_cast<int>(text.size())),
        tokenizer_(&stream_, &errors_),
        first_line_(first_line) {
    tokenizer_.set_allow_f_after_float(true);
    tokenizer_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  }

  bool Next() { return tokenizer_.Next(); }
  bool Is(char c) {
    const std::string& text = tokenizer_.current().text;
    return text.size() == 1 && text[0] == c;
  }
  TextPlace place() {
    return {first_line_ + tokenizer_.current().line,
            tokenizer_.current().column};
  }

 private:
  NoErrors errors_;
  ArrayInputStream stream_;
  Tokenizer tokenizer_;
  const int first_line_;
};

bool IsBefore(TextPlace a, TextPlace b) {
  return a.line < b.line || (a.line == b.line && a.column < b.column);
}

// Reads behind an opening bracket up to the one that closes it.
std::vector<TextPlace> ListPlaces(Tokens* tokens) {
  std::vector<TextPlace> places;
  int depth = 1;
  bool starts_value = true;
  while (depth > 0 && tokens->Next()) {
    const bool opens = tokens->Is('[') || tokens->Is('{') || tokens->Is('<');
    const bool closes = tokens->Is(']') || tokens->Is('}') || tokens->Is('>');
    if (starts_value && !closes) places.push_back(tokens->place());
    depth += opens - closes;
    starts_value = depth == 1 && tokens->Is(',');
  }
  return places;
}

}  // namespace

ValuePlaces::ValuePlaces(absl::string_view text)
    : text_(text), line_starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::vector<TextPlace> ValuePlaces::Of(TextPlace field) const {
  if (field.line < 0 || field.line >= static_cast<int>(line_starts_.size())) {
    return {field};
  }
  // No token crosses a line, so this starts between two of them.
  Tokens tokens(text_.substr(line_starts_[field.line]), field.line);
  while (tokens.Next() && IsBefore(tokens.place(), field)) {
  }
  tokens.Next();  // What follows the name.
  if (tokens.Is(':')) tokens.Next();
  if (!tokens.Is('[')) return {field};
  return ListPlaces(&tokens);
}

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

namespace {

// As people write it: all digits of a whole number, and never 1e+06.
std::string NumberText(double value) {
  constexpr double kInt64Limit = 0x1p63;
  if (std::trunc(value) == value && value >= -kInt64Limit &&
      value < kInt64Limit) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

}  // namespace

absl::Status FieldChecker::Unknown(
    absl::string_view path, absl::string_view value,
    const std::vector<std::string>& known) const {
  return Error(path, absl::StrCat("\"", value, "\" is unknown",
                                  DidYouMean(value, known)));
}

absl::Status FieldChecker::Missing(
    absl::string_view path, const std::vector<std::string>& known) const {
  return Error(path, absl::StrCat("is missing", DidYouMean("", known)));
}

absl::Status FieldChecker::OneOf(absl::string_view path,
                                 absl::string_view value,
                                 const std::vector<std::string>& known) const {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return value.empty() ? Missing(path, known) : Unknown(path, value, known);
}

absl::Status FieldChecker::AtLeast(absl::string_view path, double value,
                                   double least) const {
  if (std::isfinite(value) && value >= least) return absl::OkStatus();
  return Error(
      path, absl::StrCat(NumberText(value), " is not possible; use at least ",
                         NumberText(least)));
}

absl::Status FieldChecker::AtMost(absl::string_view path, double value,
                                  double most) const {
  if (value <= most) return absl::OkStatus();
  return Error(path,
               absl::StrCat(NumberText(value), " is not possible; use at most ",
                            NumberText(most)));
}

absl::Status FieldChecker::Above(absl::string_view path, double value,
                                 double bound) const {
  if (std::isfinite(value) && value > bound) return absl::OkStatus();
  return Error(path, absl::StrCat(NumberText(value),
                                  " is not possible; use a number above ",
                                  NumberText(bound)));
}

absl::Status FieldChecker::DistinctNames(
    absl::string_view path, const std::vector<std::string>& names) const {
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (seen.insert(names[i]).second) continue;
    return Error(absl::StrCat(path, "[", i, "]"),
                 absl::StrCat("\"", names[i], "\" is listed twice"));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
