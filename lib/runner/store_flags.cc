#include "lib/runner/store_flags.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/machine/sizes.h"

DEFINE_string(cache_dir, "",
              "FOLDER: keep what is read from a store here; shared by any "
              "number of processes; nothing is kept without it");
DEFINE_string(cache_bytes, "64G",
              "SIZE: what the cache may hold, such as 500M; what was used "
              "longest ago goes first; 0 is no limit");
DEFINE_int32(connections, 8, "N: requests to a store at once");
DEFINE_string(range_bytes, "8M",
              "SIZE: a request asks for no more than this; samples of a shard "
              "that lie within it are one request");
DEFINE_string(endpoint, "",
              "URL: of a store that is not the cloud's own, such as "
              "http://127.0.0.1:9000");
DEFINE_bool(anonymous, false, "Send no credentials, even where there are some");
DEFINE_int32(store_retries, 6, "N: more tries of a request that failed");
DEFINE_double(store_timeout, 30,
              "SECONDS: a request without a byte for so long has failed");

namespace feedrate {
namespace {

absl::StatusOr<int64_t> SizeOf(const char* flag, const std::string& text) {
  const std::optional<int64_t> bytes = ParseSize(text);
  if (bytes.has_value() && *bytes >= 0) return *bytes;
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", text, "\" is no size; write it as 500M or 2G"));
}

}  // namespace

absl::StatusOr<StoreSpec> StoreSpecFromFlags() {
  StoreSpec spec;
  ASSIGN_OR_RETURN(spec.cache_bytes,
                   SizeOf("--cache_bytes", FLAGS_cache_bytes));
  ASSIGN_OR_RETURN(spec.options.range_bytes,
                   SizeOf("--range_bytes", FLAGS_range_bytes));
  if (FLAGS_connections < 1 || FLAGS_store_retries < 0 ||
      !(FLAGS_store_timeout > 0) || spec.options.range_bytes < 1) {
    return absl::InvalidArgumentError(
        "--connections and --range_bytes must be at least 1, --store_retries "
        "at least 0, and --store_timeout above 0");
  }
  if (!FLAGS_cache_dir.empty()) {
    // Workers may run elsewhere.
    std::error_code error;
    spec.cache_folder =
        std::filesystem::absolute(FLAGS_cache_dir, error).string();
  }
  spec.options.connections = FLAGS_connections;
  spec.options.retries = FLAGS_store_retries;
  spec.options.timeout_s = FLAGS_store_timeout;
  spec.options.endpoint = FLAGS_endpoint;
  spec.options.anonymous = FLAGS_anonymous;
  return spec;
}

}  // namespace feedrate
