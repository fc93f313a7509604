#include "lib/storage/store_spec.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

bool SetField(const std::string& name, const std::string& value,
              StoreSpec* spec) {
  StoreOptions& options = spec->options;
  if (name == "url") spec->url = value;
  if (name == "endpoint") options.endpoint = value;
  if (name == "cache_folder") spec->cache_folder = value;
  if (name == "url" || name == "endpoint" || name == "cache_folder") {
    return true;
  }
  if (name == "anonymous") return absl::SimpleAtob(value, &options.anonymous);
  if (name == "connections") {
    return absl::SimpleAtoi(value, &options.connections) &&
           options.connections > 0;
  }
  if (name == "range_bytes") {
    return absl::SimpleAtoi(value, &options.range_bytes) &&
           options.range_bytes > 0;
  }
  if (name == "retries") {
    return absl::SimpleAtoi(value, &options.retries) && options.retries >= 0;
  }
  if (name == "timeout_s") {
    return absl::SimpleAtod(value, &options.timeout_s) && options.timeout_s > 0;
  }
  if (name == "cache_bytes") {
    return absl::SimpleAtoi(value, &spec->cache_bytes) &&
           spec->cache_bytes >= 0;
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> PrintStoreSpec(const StoreSpec& spec) {
  return {{"url", spec.url},
          {"endpoint", spec.options.endpoint},
          {"anonymous", spec.options.anonymous ? "true" : "false"},
          {"connections", absl::StrCat(spec.options.connections)},
          {"range_bytes", absl::StrCat(spec.options.range_bytes)},
          {"retries", absl::StrCat(spec.options.retries)},
          {"timeout_s", absl::StrCat(spec.options.timeout_s)},
          {"cache_folder", spec.cache_folder},
          {"cache_bytes", absl::StrCat(spec.cache_bytes)}};
}

absl::StatusOr<StoreSpec> ParseStoreSpec(
    const std::map<std::string, std::string>& fields) {
  StoreSpec spec;
  for (const auto& [name, value] : fields) {
    if (SetField(name, value, &spec)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a store has no ", name, "=", value));
  }
  if (!spec.url.empty()) return spec;
  return absl::InvalidArgumentError("a store without a url");
}

}  // namespace feedrate
