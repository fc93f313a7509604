#include "lib/config/value_places.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

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

}  // namespace feedrate
