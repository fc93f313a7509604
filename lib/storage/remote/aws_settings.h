// Credentials, region and endpoint for S3, from where AWS's own tools take
// them.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_AWS_SETTINGS_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_AWS_SETTINGS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/store_options.h"

namespace feedrate {

struct AwsSettings {
  // Both empty: requests are not signed.
  std::string access_key;
  std::string secret_key;
  std::string session_token;
  std::string region;    // us-east-1 where nobody says.
  std::string endpoint;  // "http://host:port"; empty: Amazon's own.
  // Of the bucket's name: in the path, or before the host.
  bool path_style = false;
};

// The value of a variable; empty where it is not set.
using Variables = std::function<std::string(const std::string& name)>;

// The options come first, then AWS_* variables, then the profile AWS_PROFILE of
// ~/.aws/credentials and ~/.aws/config. No credentials anywhere are none;
// InvalidArgument for half of them, for a profile that is named and is not
// there, and for an endpoint that is no address.
absl::StatusOr<AwsSettings> FindAwsSettings(const StoreOptions& options,
                                            const Variables& variables);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_AWS_SETTINGS_H_
