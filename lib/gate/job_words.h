// A job as people name it.
#ifndef FEEDRATE_LIB_GATE_JOB_WORDS_H_
#define FEEDRATE_LIB_GATE_JOB_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Such as `opencv HorizontalFlip`, `kornia Resize cuda batch_size=256`: what
// tells jobs of one suite apart. A plain command is its name.
std::string JobWords(const Row& row);

// Whether `pattern` matches all of `text`; `*` stands for any characters, `?`
// for one.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// Whether a caller's `wanted` means this job: its id or the start of it (at
// least 4 characters), or a pattern for its words. Empty means every job.
bool IsWantedJob(absl::string_view wanted, absl::string_view job_id,
                 absl::string_view words);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_JOB_WORDS_H_
