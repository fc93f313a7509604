#include "lib/model/torch/json_text.h"

#include <cmath>
#include <cstdio>

namespace feedrate {

std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      json += c;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      json += escaped;
    }
  }
  return json + "\"";
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "0";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string JsonArray(const std::vector<std::string>& values) {
  std::string json = "[";
  for (const std::string& value : values) {
    json += (json.size() > 1 ? "," : "") + value;
  }
  return json + "]";
}

JsonText& JsonText::Numbers(const std::string& name,
                            const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(JsonNumber(value));
  return Raw(name, JsonArray(texts));
}

JsonText& JsonText::Raw(const std::string& name, const std::string& json) {
  text_ += (text_.empty() ? "" : ",") + JsonString(name) + ":" + json;
  return *this;
}

}  // namespace feedrate
