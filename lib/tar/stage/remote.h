// Sources on other machines, by way of the vendor's own client.
#ifndef FEEDRATE_LIB_TAR_STAGE_REMOTE_H_
#define FEEDRATE_LIB_TAR_STAGE_REMOTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tar/status.h"

namespace feedrate::tar {

// Whether `source` is a URL that a client fetches: https, http, gs or s3.
bool IsRemote(std::string_view source);

struct RemoteInfo {
  std::optional<uint64_t> size;
  // What changes when the object does: an ETag or a generation. Empty when the
  // server tells none.
  std::string version;
};

// Asks for size and version. A client that is not installed is named.
Status DescribeRemote(const std::string& url, RemoteInfo* info);

// The command that writes the object to its stdout.
Status FetchCommand(const std::string& url, std::vector<std::string>* argv);

// For tests: reads the answers of `curl --head`, of JSON descriptions (aws and
// gcloud), and of `gsutil stat`.
RemoteInfo ParseHttpHead(std::string_view headers);
RemoteInfo ParseJsonDescription(std::string_view json);
RemoteInfo ParseGsutilStat(std::string_view text);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_REMOTE_H_
