// Finds what JSON says twice. Readers disagree about which of the two counts,
// so nobody may use such a document.
#pragma once

#include <string>
#include <string_view>

#include "simdjson.h"

namespace feedrate {

// Whether the object itself has a key twice, and which.
bool HasRepeatedKey(const simdjson::dom::object& json,
                    std::string_view* repeated);

// The place of the first key that is twice in one object, at any depth, such as
// `benchmarks[3].stats.mean`. Empty if there is none.
std::string FindRepeatedKey(const simdjson::dom::element& json);

}  // namespace feedrate
