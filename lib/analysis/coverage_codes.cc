#include "lib/analysis/coverage_codes.h"

namespace feedrate {
namespace {

constexpr bool kError = true;
constexpr bool kWarning = false;
constexpr bool kGap = true;
constexpr bool kNoGap = false;

// In the order of the enum.
constexpr CoverageCodeInfo kInfos[kCoverageCodes] = {
    {"missing", kError, kGap, "measure it; --fix=jobs prints the job"},
    {"too_few_runs", kError, kGap,
     "measure the runs that are not there; --fix=jobs prints them"},
    {"failed", kError, kGap,
     "mend what the reason names and measure again; --fix=jobs prints the job"},
    {"wrong_hardware", kError, kGap,
     "take the row out and measure on the machine that the plan names"},
    {"batch_size", kError, kGap,
     "measure with the planned batch size, or label the row exploratory"},
    {"settings", kError, kGap,
     "take the row out and measure again: its id and its fields disagree"},
    {"unsupported", kError, kGap,
     "measure it, or add an exception with a reason to configs/matrix."
     "textproto"},
    {"supported", kError, kNoGap,
     "find out what ran; when it does work, take the exception out of "
     "configs/matrix.textproto"},
    {"duplicate", kError, kNoGap,
     "keep the rows of one setting; --machine_profile= chooses a machine"},
    {"mixed", kError, kNoGap,
     "measure all runs of a job with the same settings; --machine_profile= "
     "chooses a machine"},
    {"noop", kError, kGap,
     "the output is the input: mend the adapter or its parameters, then "
     "measure again"},
    {"zero", kError, kGap,
     "nothing takes no time: take the row out and measure again"},
    {"above_copy", kError, kGap,
     "look whether the output is materialised and all items are processed, "
     "then measure again"},
    {"above_limit", kError, kGap,
     "look whether row or limit is wrong, then measure again"},
    {"identical", kError, kGap,
     "one of them is a copy: take both out and measure again"},
    {"video_speed", kError, kGap,
     "look whether all frames are processed, then measure again"},
    {"torn_line", kError, kNoGap,
     "the writer died here: run it again with --resume, or delete the line"},
    {"broken_line", kError, kNoGap,
     "copy the file again from where it was written, or delete the line"},
    {"rescued_line", kWarning, kNoGap,
     "nothing is lost but the torn beginning; delete it to be rid of this"},
    {"repeated", kWarning, kNoGap, "keep one of the rows"},
    {"other_settings", kWarning, kNoGap,
     "they count for nothing; measure with the planned settings, or leave them "
     "out of the tables"},
    {"few_runs", kWarning, kNoGap,
     "top up with plan --num_runs=3 --existing=ROWS before it is published"},
};

}  // namespace

const CoverageCodeInfo& InfoOf(CoverageCode code) {
  return kInfos[static_cast<int>(code)];
}

}  // namespace feedrate
