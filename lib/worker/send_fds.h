// Text over a socket, with descriptors that travel along.
#ifndef FEEDRATE_LIB_WORKER_SEND_FDS_H_
#define FEEDRATE_LIB_WORKER_SEND_FDS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Writes all of `text`; `fds` (at most 8) go with its first byte. Unavailable
// when the other side is gone. REQUIRES: `text` is not empty.
absl::Status SendWithFds(int socket, absl::string_view text,
                         const std::vector<int>& fds);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_SEND_FDS_H_
