// How the measured processes of lib/model answer: JSON lines on descriptor 3 if
// a runner listens there, else on standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace feedrate {

// Writes `json` and a newline.
void Answer(const std::string& json);

// Runs `body` and returns the exit code for main. An exception becomes the
// answer {"event":"error","kind":"oom"|"failed","error":…} and exit code 1.
int AnswerMain(const std::function<void()>& body);

// JSON text. Standard library only.

// Escapes non-ASCII bytes, quotes and control characters one by one as U+00XX,
// so that any text parses.
std::string JsonString(const std::string& text);
// Enough digits to read back the same value; 0 for values that JSON cannot
// express.
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
  // `json` is already JSON.
  JsonText& Raw(const std::string& name, const std::string& json);

  std::string Object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// `[a,b]` of values that are already JSON.
std::string JsonArray(const std::vector<std::string>& values);

}  // namespace feedrate
