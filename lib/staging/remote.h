// Sources on other machines, which client programs fetch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tar/status.h"

namespace feedrate::tar {

// `status` without the secrets of `url`, which a client program may repeat.
Status Hidden(Status status, const std::string& url);

// Whether `source` is a URL for a client program: https, http, gs or s3.
bool IsRemote(std::string_view source);

struct RemoteInfo {
  std::optional<uint64_t> size;
  // A strong ETag, a generation, or a time of the last change that was over
  // for a minute when it was told: two objects with the same one have the same
  // bytes. Empty when the server does not send any, or two; a weak ETag is
  // none.
  std::string version;
  // The header with which curl gets this version or an error.
  std::string condition;
};

// Asks the server for size and version. If the client program is not installed,
// the error names it. Waits at most `timeout_s` (0: no limit).
Status DescribeRemote(const std::string& url, int timeout_s, RemoteInfo* info);

// The command that writes the object to its stdout: of the version in `info`,
// where the client can ask for it.
std::vector<std::string> FetchCommand(const std::string& url,
                                      const RemoteInfo& info);

// For tests: parse the output of `curl --head`, JSON descriptions (aws and
// gcloud), and the output of `gsutil stat`.
RemoteInfo ParseHttpHead(std::string_view headers);
RemoteInfo ParseJsonDescription(std::string_view json);
RemoteInfo ParseGsutilStat(std::string_view text);

}  // namespace feedrate::tar
