// Values of JSON that may be missing or of another type, for the formats of
// harnesses.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/imports/harnesses.h"
#include "lib/records/row.pb.h"
#include "simdjson.h"

namespace feedrate {

// Parses JSON, also with NaN and Infinity, which become texts: writers of
// Python and google/benchmark print them although JSON does not have them. An
// error names `place` and the line, or the key that is there twice.
absl::Status ParseJson(absl::string_view content, const RowSink& sink,
                       absl::string_view place, simdjson::dom::parser* parser,
                       simdjson::dom::element* parsed);

// False if there is no such key.
bool Has(const simdjson::dom::object& json, absl::string_view key,
         simdjson::dom::element* found);

// A text; empty if there is none.
std::string Text(const simdjson::dom::object& json, absl::string_view key);
// Any plain value as text.
std::string PlainText(const simdjson::dom::element& value);

// A number; NaN for any other value.
double NumberOf(const simdjson::dom::element& value);
// A number that `sink` refuses if it is anything else, such as text: a number
// that is taken for absent would let a slowdown pass. NaN for null and for NaN
// itself.
double NumberOf(const simdjson::dom::element& value, absl::string_view name,
                RowSink* sink);
// The same of a key; NaN if it is not there.
double Number(const simdjson::dom::object& json, absl::string_view key,
              RowSink* sink);

// The finite numbers of a list, refused if it is anything else. Empty for null.
std::vector<double> NumbersOf(const simdjson::dom::element& value,
                              absl::string_view name, RowSink* sink);
// The same of a key; empty if it is not there.
std::vector<double> Numbers(const simdjson::dom::object& json,
                            absl::string_view key, RowSink* sink);

// An object or a list. Must not be used unless it was found.
simdjson::dom::object ObjectAt(const simdjson::dom::object& json,
                               absl::string_view key, bool* found);
simdjson::dom::array ArrayAt(const simdjson::dom::object& json,
                             absl::string_view key, bool* found);
// The parts of an object; empty if there is none.
std::vector<simdjson::dom::key_value_pair> FieldsOf(
    const simdjson::dom::object& json, absl::string_view key);
// Those of a list, refused if it is anything else. Empty for null, or if it is
// not there.
std::vector<simdjson::dom::element> ItemsOf(const simdjson::dom::object& json,
                                            absl::string_view key,
                                            RowSink* sink);
// The objects of such a list.
std::vector<simdjson::dom::object> ObjectItems(
    const simdjson::dom::object& json, absl::string_view key, RowSink* sink);

// The objects of a list, each with its place in the file, such as `runs[2]`. An
// error of `sink` if there is no such list, or if something in it is not an
// object. `place` is the place of `json`, or empty for the whole file.
using PlacedObject = std::pair<std::string, simdjson::dom::object>;
absl::StatusOr<std::vector<PlacedObject>> ObjectsAt(
    const simdjson::dom::object& json, absl::string_view key,
    absl::string_view place, const RowSink& sink);
absl::StatusOr<std::vector<PlacedObject>> ObjectsOf(
    const simdjson::dom::array& list, absl::string_view place,
    const RowSink& sink);

// Makes the fields of an object settings of the row.
void AddSettings(const simdjson::dom::object& json, absl::string_view key,
                 Row* row);

// `2c`; empty if it is not a count.
std::string CoresText(double count);
// A count from 0 on; 0 if it is none.
int64_t CountOf(double number);

// Formats of programs of any language (program_harnesses.cc).
absl::Status ReadGoogle(const simdjson::dom::object& file, RowSink* sink);
absl::Status ReadHyperfine(const simdjson::dom::object& file, RowSink* sink);
absl::Status ReadJmh(const simdjson::dom::array& file, RowSink* sink);
absl::Status ReadNvbench(const simdjson::dom::object& file, RowSink* sink);
// Formats of Python's harnesses (python_harnesses.cc).
absl::Status ReadPytest(const simdjson::dom::object& file, RowSink* sink);
absl::Status ReadPyperf(const simdjson::dom::object& file, RowSink* sink);
absl::Status ReadAsv(const simdjson::dom::object& file, RowSink* sink);

}  // namespace feedrate
