// Writes and reads JSON objects, one per line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  template <typename Value>
  JsonLine& Add(absl::string_view name, const Value& value) {
    Name(name);
    Append(value);
    return *this;
  }
  // `json` is JSON already.
  JsonLine& Raw(absl::string_view name, absl::string_view json);

  // Returns the object without a newline. The builder cannot be used
  // afterwards.
  std::string Object();
  // Returns the object with a newline. The builder cannot be used afterwards.
  std::string Line();

 private:
  void Name(absl::string_view name);
  void Append(absl::string_view value);
  void Append(const std::string& value) { Append(absl::string_view(value)); }
  void Append(const char* value) { Append(absl::string_view(value)); }
  void Append(int value) { Append(int64_t{value}); }
  void Append(int64_t value);
  void Append(uint64_t value);
  void Append(bool value);
  void Append(double value);
  void Append(const std::map<std::string, std::string>& values);
  template <typename Value>
  void Append(const std::vector<Value>& values) {
    text_.push_back('[');
    for (const Value& value : values) {
      if (&value != values.data()) text_.push_back(',');
      Append(value);
    }
    text_.push_back(']');
  }

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
  absl::Status Read(std::string_view name,
                    std::vector<std::string>* values) const;
  absl::Status Read(std::string_view name, std::vector<int64_t>* values) const;
  absl::Status Read(std::string_view name, std::vector<double>* values) const;
  absl::Status Read(std::string_view name,
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

// A message lists its fields once, for both directions:
//
//   template <typename Fields>
//   void VisitFields(Fields& fields, TimeCommand& command) {
//     fields("first", command.first);
//     fields.If(command.cold, "cold", command.cold);
//   }

// Prints the fields that VisitFields lists.
class FieldPrinter {
 public:
  explicit FieldPrinter(JsonLine* line) : line_(*line) {}

  template <typename Value>
  void operator()(absl::string_view name, const Value& value) {
    line_.Add(name, value);
  }
  // A field that is printed only if `present`.
  template <typename Value>
  void If(bool present, absl::string_view name, const Value& value) {
    if (present) line_.Add(name, value);
  }
  // An object.
  template <typename Part>
  void operator()(absl::string_view name, std::optional<Part>& part) {
    if (!part.has_value()) return;
    JsonLine inner;
    FieldPrinter fields(&inner);
    VisitFields(fields, *part);
    line_.Raw(name, inner.Object());
  }

 private:
  JsonLine& line_;
};

// Reads them, up to the first that is not as it should be.
class FieldReader {
 public:
  explicit FieldReader(const JsonFields& json) : json_(json) {}

  template <typename Value>
  void operator()(std::string_view name, Value& value) {
    if (status_.ok()) status_ = json_.Read(name, &value);
  }
  template <typename Value>
  void If(bool, std::string_view name, Value& value) {
    if (json_.Has(name)) (*this)(name, value);
  }
  template <typename Part>
  void operator()(std::string_view name, std::optional<Part>& part) {
    if (!json_.Has(name) || !status_.ok()) return;
    JsonFields inner;
    status_ = json_.ReadObject(name, &inner);
    if (!status_.ok()) return;
    FieldReader fields(inner);
    VisitFields(fields, part.emplace());
    status_ = fields.status();
  }
  const absl::Status& status() const { return status_; }

 private:
  const JsonFields& json_;
  absl::Status status_;
};

template <typename Message>
JsonLine& AddFields(Message message, JsonLine* line) {
  FieldPrinter fields(line);
  VisitFields(fields, message);
  return *line;
}

template <typename Message>
absl::Status ReadFields(const JsonFields& json, Message* message) {
  FieldReader fields(json);
  VisitFields(fields, *message);
  return fields.status();
}

}  // namespace feedrate
