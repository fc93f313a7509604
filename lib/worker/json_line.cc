#include "lib/worker/json_line.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/utf8.h"

namespace feedrate {
namespace {

void AppendString(absl::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  while (!text.empty()) {
    const unsigned char c = text[0];
    size_t length = 1;
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c < 0x20) {
      absl::StrAppend(out, "\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    } else if (c < 0x80) {
      out->push_back(c);
    } else {
      length = Utf8Length(text);
      if (length == 0) {
        length = 1;
        out->append("\xEF\xBF\xBD");
      } else {
        out->append(text.data(), length);
      }
    }
    text.remove_prefix(length);
  }
  out->push_back('"');
}

void AppendDouble(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char buffer[32];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  out->append(buffer, end.ptr - buffer);
}

}  // namespace

void JsonLine::Name(absl::string_view name) {
  if (text_.size() > 1) text_.push_back(',');
  absl::StrAppend(&text_, "\"", name, "\":");
}

JsonLine& JsonLine::Text(absl::string_view name, absl::string_view value) {
  Name(name);
  AppendString(value, &text_);
  return *this;
}

JsonLine& JsonLine::Int(absl::string_view name, int64_t value) {
  Name(name);
  absl::StrAppend(&text_, value);
  return *this;
}

JsonLine& JsonLine::Unsigned(absl::string_view name, uint64_t value) {
  Name(name);
  absl::StrAppend(&text_, value);
  return *this;
}

JsonLine& JsonLine::Bool(absl::string_view name, bool value) {
  Name(name);
  text_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::Double(absl::string_view name, double value) {
  Name(name);
  AppendDouble(value, &text_);
  return *this;
}

JsonLine& JsonLine::Texts(absl::string_view name,
                          const std::vector<std::string>& values) {
  Name(name);
  text_.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_.push_back(',');
    AppendString(values[i], &text_);
  }
  text_.push_back(']');
  return *this;
}

JsonLine& JsonLine::Ints(absl::string_view name,
                         const std::vector<int64_t>& values) {
  Name(name);
  text_.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text_, i > 0 ? "," : "", values[i]);
  }
  text_.push_back(']');
  return *this;
}

JsonLine& JsonLine::Doubles(absl::string_view name,
                            const std::vector<double>& values) {
  Name(name);
  text_.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_.push_back(',');
    AppendDouble(values[i], &text_);
  }
  text_.push_back(']');
  return *this;
}

JsonLine& JsonLine::Raw(absl::string_view name, absl::string_view json) {
  Name(name);
  absl::StrAppend(&text_, json);
  return *this;
}

std::string JsonLine::Object() {
  text_.push_back('}');
  return std::move(text_);
}

std::string JsonLine::Line() {
  text_.append("}\n");
  return std::move(text_);
}

}  // namespace feedrate
