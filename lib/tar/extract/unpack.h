// Unpacks an archive into a folder.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_UNPACK_H_
#define FEEDRATE_LIB_TAR_EXTRACT_UNPACK_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "lib/tar/extract/finish_line.h"
#include "lib/tar/extract/input.h"
#include "lib/tar/extract/placer.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

struct UnpackOptions {
  int strip_components = 0;
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  int threads = 2;

  // What ends at or before this offset was written by an earlier run: it is
  // checked and counted, and not written again.
  uint64_t resume_offset = 0;

  // Told how far the archive is written. May be null.
  FinishListener* listener = nullptr;

  // Set to the archive's offset as it is read, for a progress bar. May be null.
  std::atomic<uint64_t>* read_offset = nullptr;
};

struct UnpackResult {
  Counts counts;
  uint64_t archive_bytes = 0;   // Up to the end of `input`.
  uint64_t trailing_bytes = 0;  // After the archive's end, if not all zero.
};

// Reads `input` to its end and writes into the open folder `root_fd`, never
// outside of it. `name` is the archive's, for messages. On failure some entries
// may have been written.
Status Unpack(Input* input, const std::string& name, int root_fd,
              const UnpackOptions& options, UnpackResult* result);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_UNPACK_H_
