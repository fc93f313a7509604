// JSON objects as text, for what the measured process answers. Standard library
// only.
#ifndef FEEDRATE_LIB_MODEL_TORCH_JSON_TEXT_H_
#define FEEDRATE_LIB_MODEL_TORCH_JSON_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// Bytes that are no ASCII, quotes and controls are escaped one by one as
// U+00XX, so that any text parses.
std::string JsonString(const std::string& text);
// Enough digits to read back the same; 0 for what JSON has no number for.
std::string JsonNumber(double value);

class JsonText {
 public:
  JsonText& Text(const std::string& name, const std::string& value) {
    return Raw(name, JsonString(value));
  }
  JsonText& Int(const std::string& name, int64_t value) {
    return Raw(name, std::to_string(value));
  }
  JsonText& Number(const std::string& name, double value) {
    return Raw(name, JsonNumber(value));
  }
  JsonText& Bool(const std::string& name, bool value) {
    return Raw(name, value ? "true" : "false");
  }
  JsonText& Numbers(const std::string& name, const std::vector<double>& values);
  // `json` is JSON already.
  JsonText& Raw(const std::string& name, const std::string& json);

  std::string Object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// `[a,b]` of what is JSON already.
std::string JsonArray(const std::vector<std::string>& values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_JSON_TEXT_H_
