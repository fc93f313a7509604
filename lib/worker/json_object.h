// Fields of a JSON line, read one by one.
#ifndef FEEDRATE_LIB_WORKER_JSON_OBJECT_H_
#define FEEDRATE_LIB_WORKER_JSON_OBJECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "simdjson.h"

namespace feedrate {

// One object of a line. A view: the JsonObject it came from, and the line,
// outlive it. Each Read wants a field that must be there; DataLoss names it.
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
  // Whole numbers will do.
  absl::Status Read(std::string_view name, double* value) const;
  // A time or a size: at least 0.
  absl::Status ReadAmount(std::string_view name, double* value) const;
  absl::Status ReadAmount(std::string_view name, int64_t* value) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<std::string>* values) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<int64_t>* values) const;
  absl::Status ReadList(std::string_view name,
                        std::vector<double>* values) const;
  absl::Status ReadLists(std::string_view name,
                         std::vector<std::vector<int64_t>>* lists) const;
  absl::Status ReadMap(std::string_view name,
                       std::map<std::string, std::string>* values) const;
  absl::Status ReadObject(std::string_view name, JsonFields* fields) const;
  absl::Status ReadObjects(std::string_view name,
                           std::vector<JsonFields>* objects) const;

  // What is wrong with the field, and the beginning of the line.
  absl::Status Missing(std::string_view name) const;

 private:
  template <typename Read, typename Value>
  absl::Status ReadItems(std::string_view name,
                         std::vector<Value>* values) const;

  absl::string_view line_;
  simdjson::dom::object object_;
};

// A whole line.
class JsonObject : public JsonFields {
 public:
  // DataLoss on what is no object. {"error":"…"} is Unknown, or
  // ResourceExhausted when the text says that memory ran out.
  absl::Status Open(absl::string_view line);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_JSON_OBJECT_H_
