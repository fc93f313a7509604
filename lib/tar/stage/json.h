// Writes JSON objects, and finds fields in those it has written.
#ifndef FEEDRATE_LIB_TAR_STAGE_JSON_H_
#define FEEDRATE_LIB_TAR_STAGE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedrate::tar {

// Fields come out in the order they were added.
//
//   std::string line = JsonObject().Add("files", 3).Finish();  // {"files":3}
class JsonObject {
 public:
  JsonObject& Add(std::string_view key, std::string_view text);
  JsonObject& Add(std::string_view key, const char* text);
  JsonObject& Add(std::string_view key, uint64_t number);
  JsonObject& Add(std::string_view key, int number);
  JsonObject& Add(std::string_view key, bool truth);
  JsonObject& Add(std::string_view key, double number, int digits);
  JsonObject& Add(std::string_view key, const JsonObject& object);
  JsonObject& AddNull(std::string_view key);

  std::string Finish() const { return text_ + "}"; }

 private:
  JsonObject& Raw(std::string_view key, std::string_view value);

  std::string text_ = "{";
};

// `text` with its quotes and escapes. Bytes that are no UTF-8 become U+FFFD
// and, so that two names stay two, their value in hexadecimal.
std::string JsonString(std::string_view text);

// The value of the first field called `key` in an object made by JsonObject, as
// it stands there, quotes included; empty when there is none. A key cannot be
// mistaken within a string, where its quotes would be escaped.
std::string_view FindJson(std::string_view object, std::string_view key);

// The same as a number; 0 when there is none.
uint64_t FindJsonNumber(std::string_view object, std::string_view key);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_JSON_H_
