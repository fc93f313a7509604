// Writes and reads JSON objects, one per line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "simdjson.h"

namespace feedrate {

// Builds an object such as `{"a":1,"b":"x"}`. Doubles are printed in their
// shortest exact form; each byte that is not valid UTF-8 becomes U+FFFD, so
// that the line always parses.
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
  // `json` is JSON already.
  JsonLine& Raw(absl::string_view name, absl::string_view json);

  // Returns the object without a newline. The builder cannot be used
  // afterwards.
  std::string Object();
  // Returns the object with a newline. The builder cannot be used afterwards.
  std::string Line();

 private:
  void Name(absl::string_view name);

  std::string text_ = "{";
};

// Reads the fields of one object in a line. A view: the JsonObject it came from
// and the line must outlive it. Each Read requires that the field exists;
// otherwise it returns DataLoss, which names the field.
class JsonFields {
 public:
  JsonFields() = default;
  JsonFields(absl::string_view line, simdjson::dom::object object)
      : line_(line), object_(object) {}

  bool Has(std::string_view name) const;
  absl::Status Read(std::string_view name, std::string* value) const;
  absl::Status Read(std::string_view name, bool* value) const;
  absl::Status Read(std::string_view name, int64_t* value) const;
  absl::Status Read(std::string_view name, uint64_t* value) const;
  absl::Status Read(std::string_view name, int* value) const;
  // Accepts whole numbers too.
  absl::Status Read(std::string_view name, double* value) const;
  // Reads a size, which is at least 0.
  absl::Status ReadAmount(std::string_view name, int64_t* value) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<std::string>* values) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<int64_t>* values) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<double>* values) const;
  absl::Status ReadMap(std::string_view name,
                       std::map<std::string, std::string>* values) const;
  absl::Status ReadObject(std::string_view name, JsonFields* fields) const;
  absl::Status ReadObjects(std::string_view name,
                           std::vector<JsonFields>* objects) const;
  // Reads all fields of `message`, by the rules of ReadUntrusted
  // (lib/records/json.h).
  absl::Status ReadMessage(google::protobuf::Message* message) const;

  // Returns a DataLoss error that names the field and quotes the beginning of
  // the line.
  absl::Status Missing(std::string_view name) const;

 private:
  template <typename Read, typename Value>
  absl::Status ReadItems(std::string_view name,
                         std::vector<Value>* values) const;

  absl::string_view line_;
  simdjson::dom::object object_;
};

// The object of a whole line.
class JsonObject : public JsonFields {
 public:
  // Parses a line. DataLoss if it is not an object. {"error":"…"} is Unknown,
  // or ResourceExhausted if the text says that memory ran out.
  absl::Status Open(absl::string_view line);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace feedrate
