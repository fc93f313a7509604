#include "lib/tar/stage/json.h"

#include <cstdio>
#include <cstdlib>

namespace feedrate::tar {
namespace {

// How many bytes of valid UTF-8 begin at `at`: 0 when none do.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong =
      (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside =
      (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text, i);
    char escaped[16];
    if (length == 0) {
      snprintf(escaped, sizeof(escaped), "\\ufffd%02x", byte);
      out += escaped;
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', static_cast<char>(byte)};
    } else if (byte < 0x20) {
      snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      out += escaped;
    } else {
      out.append(text.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

JsonObject& JsonObject::Raw(std::string_view key, std::string_view value) {
  if (text_.size() > 1) text_ += ',';
  text_ += JsonString(key) + ':';
  text_.append(value);
  return *this;
}

JsonObject& JsonObject::Add(std::string_view key, std::string_view text) {
  return Raw(key, JsonString(text));
}

JsonObject& JsonObject::Add(std::string_view key, const char* text) {
  return Raw(key, JsonString(text));
}

JsonObject& JsonObject::Add(std::string_view key, uint64_t number) {
  return Raw(key, std::to_string(number));
}

JsonObject& JsonObject::Add(std::string_view key, int number) {
  return Raw(key, std::to_string(number));
}

JsonObject& JsonObject::Add(std::string_view key, bool truth) {
  return Raw(key, truth ? "true" : "false");
}

JsonObject& JsonObject::Add(std::string_view key, double number, int digits) {
  char text[64];
  snprintf(text, sizeof(text), "%.*f", digits, number);
  return Raw(key, text);
}

JsonObject& JsonObject::Add(std::string_view key, const JsonObject& object) {
  return Raw(key, object.Finish());
}

JsonObject& JsonObject::AddNull(std::string_view key) {
  return Raw(key, "null");
}

std::string_view FindJson(std::string_view object, std::string_view key) {
  const std::string quoted = JsonString(key) + ":";
  const size_t found = object.find(quoted);
  if (found == std::string_view::npos) return {};
  object.remove_prefix(found + quoted.size());
  size_t end = 0;
  if (!object.empty() && object[0] == '"') {
    for (end = 1; end < object.size() && object[end] != '"'; ++end) {
      if (object[end] == '\\') ++end;
    }
    if (end >= object.size()) return {};
    return object.substr(0, end + 1);
  }
  end = object.find_first_of(",}");
  return end == std::string_view::npos ? std::string_view()
                                       : object.substr(0, end);
}

uint64_t FindJsonNumber(std::string_view object, std::string_view key) {
  return strtoull(std::string(FindJson(object, key)).c_str(), nullptr, 10);
}

}  // namespace feedrate::tar
