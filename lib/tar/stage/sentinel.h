// The file that says that all is staged, and of what.
#ifndef FEEDRATE_LIB_TAR_STAGE_SENTINEL_H_
#define FEEDRATE_LIB_TAR_STAGE_SENTINEL_H_

#include <cstdint>
#include <string>

#include "lib/tar/extract/placer.h"
#include "lib/tar/stage/json.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

inline constexpr char kSentinelName[] = ".stage_dataset.done";

struct Sentinel {
  std::string tool_version;
  std::string source;
  // All that decides whether a second run finds the same thing to do. Empty
  // when nothing can tell, as with stdin.
  std::string identity;
  uint64_t source_bytes = 0;
  std::string sha256;  // Empty when it was not asked for.
  Counts counts;
  // Whether the data was on disk before the sentinel was. If not, it holds
  // until the next boot only.
  bool synced = true;
};

// How many entries were left out, of each kind: for sentinel and report.
JsonObject SkippedJson(const Counts& counts);

// Reads the sentinel in the folder. False when there is none, it is damaged,
// or it was not synced and the machine was started again since. `identity` of
// the result is in JSON's form.
bool ReadSentinel(int folder_fd, Sentinel* sentinel);

// Writes it: under a temporary name, to disk, renamed, and the folder to disk.
// Not to disk when the data is not: it must not outlive them.
Status WriteSentinel(int folder_fd, const Sentinel& sentinel);

// Removes it, durably if it was there.
Status RemoveSentinel(int folder_fd);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_SENTINEL_H_
