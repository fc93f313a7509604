// One flat JSON object as a line of text.
#ifndef FEEDRATE_LIB_WORKER_JSON_LINE_H_
#define FEEDRATE_LIB_WORKER_JSON_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// Builds `{"a":1,"b":"x"}`. Doubles take their shortest exact form; text that
// is not UTF-8 becomes U+FFFD byte by byte, so that the line always parses.
class JsonLine {
 public:
  JsonLine& Text(absl::string_view name, absl::string_view value);
  JsonLine& Int(absl::string_view name, int64_t value);
  JsonLine& Unsigned(absl::string_view name, uint64_t value);
  JsonLine& Bool(absl::string_view name, bool value);
  JsonLine& Double(absl::string_view name, double value);
  JsonLine& Texts(absl::string_view name,
                  const std::vector<std::string>& values);
  JsonLine& Ints(absl::string_view name, const std::vector<int64_t>& values);
  JsonLine& Doubles(absl::string_view name, const std::vector<double>& values);
  // `values` are JSON already.
  JsonLine& Raw(absl::string_view name, absl::string_view json);

  // The object without a newline. Ends the building.
  std::string Object();
  // The object with a newline.
  std::string Line();

 private:
  void Name(absl::string_view name);

  std::string text_ = "{";
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_JSON_LINE_H_
