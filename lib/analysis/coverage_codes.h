// The kinds of findings, and what each means.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_CODES_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_CODES_H_

namespace feedrate {

// In the order in which they are reported.
enum class CoverageCode {
  // What is not there.
  kMissing,
  kTooFewRuns,
  kFailed,
  // What is not what was planned.
  kWrongHardware,
  kBatchSize,
  kSettings,
  kUnsupported,
  kSupported,
  kDuplicate,
  kMixed,
  // What is too good to be true.
  kNoop,
  kZero,
  kAboveCopy,
  kAboveLimit,
  kIdentical,
  kVideoSpeed,
  // Files.
  kTornLine,
  kBrokenLine,
  // Worth knowing.
  kRescuedLine,
  kRepeated,
  kOtherSettings,
  kFewRuns,
};
inline constexpr int kCoverageCodes =
    static_cast<int>(CoverageCode::kFewRuns) + 1;

struct CoverageCodeInfo {
  // In records and tables; never changes.
  const char* name;
  // False: a warning.
  bool is_error;
  // True: the run has to be made again, so `--fix=jobs` prints it.
  bool is_gap;
  const char* remedy;
};

const CoverageCodeInfo& InfoOf(CoverageCode code);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_CODES_H_
