#include "lib/runner/store_flags.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/runner/store_data.h"

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

absl::StatusOr<StoreSpec> StoreSpecFromFlags() {
  StoreSpec spec;
  ASSIGN_OR_RETURN(spec.cache_bytes,
                   SizeOfFlag("--cache_bytes", FLAGS_cache_bytes, 0));
  ASSIGN_OR_RETURN(spec.options.range_bytes,
                   SizeOfFlag("--range_bytes", FLAGS_range_bytes, 1));
  if (FLAGS_connections < 1 || FLAGS_store_retries < 0 ||
      !(FLAGS_store_timeout > 0)) {
    return absl::InvalidArgumentError(
        "--connections must be at least 1, --store_retries at least 0, and "
        "--store_timeout above 0");
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

absl::StatusOr<OpenRemoteData> OpenStoresByFlags() {
  ASSIGN_OR_RETURN(const StoreSpec spec, StoreSpecFromFlags());
  return OpenStoresBy(spec);
}

}  // namespace feedrate
