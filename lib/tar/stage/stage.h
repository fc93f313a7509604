// Puts a data set on local disk: once, whole, and safely.
#ifndef FEEDRATE_LIB_TAR_STAGE_STAGE_H_
#define FEEDRATE_LIB_TAR_STAGE_STAGE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "lib/tar/extract/placer.h"
#include "lib/tar/stage/checksum.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

struct StageOptions {
  std::string source;
  std::string dest;
  std::optional<uint64_t> expected_bytes;  // Of the source, as it is stored.
  // Of the source, likewise: 64 hexadecimal digits, or "compute".
  std::string sha256;
  ChecksumFactory make_sha256;  // Needed where `sha256` is set.
  int strip_components = 0;
  int threads = 0;  // 0: as many as there are processors, within reason.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  bool sync = true;
  bool force = false;  // Stages even if it is done.
  std::string tool_version;
};

struct StageReport {
  std::string source;
  std::string dest;
  bool already_staged = false;
  Counts counts;
  uint64_t source_bytes = 0;
  std::string sha256;  // Empty when it was not asked for.
  double seconds = 0;
  uint64_t resumed_from = 0;  // An offset, or for a folder a number of entries.
  bool synced = true;
};

// Does it all, with progress and warnings on stderr. When this fails, or dies,
// there is no sentinel, and the next call goes on where this one was.
Status Stage(const StageOptions& options, StageReport* report);

// The report as one line of JSON.
std::string ReportJson(const StageReport& report,
                       const std::string& tool_version);

// The report as one line for people.
std::string ReportLine(const StageReport& report);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_STAGE_H_
