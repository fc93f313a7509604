#include "lib/base/lock_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/stopwatch.h"

namespace feedrate {

// Longer than anybody changes files.
constexpr absl::Duration kLockLimit = absl::Seconds(60);

absl::StatusOr<UniqueFd> LockFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Stopwatch watch;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (watch.Elapsed() > kLockLimit) {
      return absl::UnavailableError(absl::StrCat(
          folder, ": another process has been changing it for ",
          absl::FormatDuration(kLockLimit), "; try again when it has ended"));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return fd;
}

}  // namespace feedrate
