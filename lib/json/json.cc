#include "lib/json/json.h"

#include <set>
#include <vector>

namespace feedrate {
namespace {

// Deeper than anything that a server or a program sends.
constexpr int kMaxDepth = 64;
constexpr size_t kShownBytes = 40;

// For a message: the beginning, quoted and in ASCII.
std::string Shown(const std::string& key) {
  return Json(key.substr(0, kShownBytes))
      .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

std::optional<Json> ParseJson(std::string_view text, std::string* why) {
  why->clear();
  // The keys so far of each object that has begun and not ended.
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    const bool opens = event == Json::parse_event_t::object_start ||
                       event == Json::parse_event_t::array_start;
    // What is not kept takes no memory.
    if (!why->empty()) return false;
    if (opens && depth >= kMaxDepth) {
      *why = "it has more than 64 levels";
    } else if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !keys.back().insert(value.get_ref<std::string&>()).second) {
      *why = "it says " + Shown(value.get_ref<std::string&>()) + " twice";
    }
    return why->empty();
  };
  Json json = Json::parse(text, look, /*allow_exceptions=*/false);
  if (!why->empty()) return std::nullopt;
  if (!json.is_discarded()) return json;
  *why = "it is not JSON";
  return std::nullopt;
}

const Json* MemberOf(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nullptr : &*found;
}

std::string TextOf(const Json& json, std::string_view key) {
  const Json* const value = MemberOf(json, key);
  return value != nullptr && value->is_string()
             ? value->get_ref<const std::string&>()
             : "";
}

std::optional<int64_t> CountOf(const Json& json, std::string_view key) {
  const Json* const value = MemberOf(json, key);
  // Above the largest int64_t it would turn negative.
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  const auto count = value->get<int64_t>();
  return count >= 0 ? std::optional<int64_t>(count) : std::nullopt;
}

std::string PrintJson(const OrderedJson& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   OrderedJson::error_handler_t::replace) +
         "\n";
}

}  // namespace feedrate
