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

// Looks at all of a text before anything is kept of it. A callback of
// Json::parse would do, but then the library looks at all members of an object
// after each that is an object itself.
class Checker final : public Json::json_sax_t {
 public:
  explicit Checker(std::string* why) : why_(*why) {}

  bool start_object(size_t) override {
    keys_.emplace_back();
    return Opens();
  }
  bool key(std::string& key) override {
    if (keys_.back().insert(key).second) return true;
    why_ = "it says " + Shown(key) + " twice";
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t) override { return Opens(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&,
                   const Json::exception&) override {
    why_ = "it is not JSON";
    return false;
  }

 private:
  bool Opens() {
    if (++depth_ <= kMaxDepth) return true;
    why_ = "it has more than 64 levels";
    return false;
  }

  std::string& why_;
  int depth_ = 0;
  // The keys so far of each object that has begun and not ended.
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

std::optional<Json> ParseJson(std::string_view text, std::string* why) {
  why->clear();
  Checker checker(why);
  if (!Json::sax_parse(text, &checker)) return std::nullopt;
  return Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
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
