// JSON that is not a record: answers of servers and programs, manifests. Uses
// nothing but the C++ standard library's headers, so that static programs can.
// Records have a reader of their own, which is faster (lib/records/json.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace feedrate {

using Json = nlohmann::json;
// Keeps its keys in the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

// Parses one document, such as `{"a": [1, "b"]}`. Null, with the reason in
// `*why`, if it is not JSON, says the same key of an object twice, because
// readers disagree about which of the two counts, or has more than 64 levels.
// The caller limits the bytes. Takes about 30 times their memory.
std::optional<Json> ParseJson(std::string_view text, std::string* why);

// The member `key` of an object. Null if there is none or `json` is not an
// object.
const Json* MemberOf(const Json& json, std::string_view key);

// The same, if it is a text; empty otherwise.
std::string TextOf(const Json& json, std::string_view key);

// The same, if it is an integer from 0 on.
std::optional<int64_t> CountOf(const Json& json, std::string_view key);

// Prints a document for a file, with indentation and a newline at the end.
// Bytes that are not UTF-8 become U+FFFD, and numbers that JSON does not have
// null.
std::string PrintJson(const OrderedJson& json);

}  // namespace feedrate
