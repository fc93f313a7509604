// Puts a data set on local disk: once, completely, and safely.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "lib/tar/extract/placer.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

struct StageOptions {
  std::string source;
  std::string dest;
  std::optional<uint64_t> expected_bytes;  // Size of the source as stored.
  // SHA-256 of the source as stored: 64 hexadecimal digits, or "compute".
  std::string sha256;
  int strip_components = 0;
  // A server that brings less than a kilobyte per second for this long has
  // failed; 0 means that it may.
  int timeout_s = 120;
  int threads = 0;  // 0 means one per processor, within reason.
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
  uint64_t resumed_from = 0;  // An offset; for a folder, a number of entries.
  bool synced = true;
};

// Stages the data set, with progress and warnings on stderr. When this fails or
// is killed, there is no sentinel, and the next call continues from where this
// one stopped.
Status Stage(const StageOptions& options, StageReport* report);

// The report as one line of JSON.
std::string ReportJson(const StageReport& report,
                       const std::string& tool_version);

// The report as one line for people.
std::string ReportLine(const StageReport& report);

// Whether `text` is 64 lower-case hexadecimal digits.
bool IsSha256(const std::string& text);

// "1.23 GB", in powers of ten, as disks and networks are sold.
std::string HumanBytes(double bytes);

// "val.tar: [#####-----]  50%  1.02 GB of 2.04 GB  1.1 GB/s  ETA 0:00:01".
// Without `total` there is no bar, no percentage and no ETA.
std::string ProgressLine(const std::string& name, uint64_t done,
                         std::optional<uint64_t> total, double seconds);

}  // namespace feedrate::tar
