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
// error names `place` and the line.
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

// A number; NaN if there is none.
double NumberOf(const simdjson::dom::element& value);
double Number(const simdjson::dom::object& json, absl::string_view key);

// The numbers of a list; empty if one of its values is none.
std::vector<double> NumbersOf(const simdjson::dom::element& value);
std::vector<double> Numbers(const simdjson::dom::object& json,
                            absl::string_view key);

// An object or a list. Must not be used unless it was found.
simdjson::dom::object ObjectAt(const simdjson::dom::object& json,
                               absl::string_view key, bool* found);
simdjson::dom::array ArrayAt(const simdjson::dom::object& json,
                             absl::string_view key, bool* found);
// Their parts; empty if there is no object or list.
std::vector<simdjson::dom::key_value_pair> FieldsOf(
    const simdjson::dom::object& json, absl::string_view key);
std::vector<simdjson::dom::element> ItemsOf(const simdjson::dom::object& json,
                                            absl::string_view key);

// The objects of a list, each with its place in the file, such as `runs[2]`. An
// error of `sink` if there is no such list, or if something in it is no object.
// `place` is the place of `json`, or empty for the whole file.
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

// `2c`; empty if it is no count.
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
