// The answer to one question about how far timings can be trusted here.
#ifndef FEEDRATE_LIB_MACHINE_CHECK_H_
#define FEEDRATE_LIB_MACHINE_CHECK_H_

#include <string>
#include <utility>

namespace feedrate {

enum class CheckStatus {
  kOk,
  // Worth knowing, but not to be mended from here, or harmless when known.
  kNote,
  // Makes timings unreliable.
  kWarn,
  // What would tell cannot be read.
  kUnknown,
};

struct Check {
  // Such as `governor`. Stable: scripts look for it.
  std::string name;
  CheckStatus status = CheckStatus::kUnknown;
  // What was found, such as `powersave`.
  std::string observed;
  // What it does to timings. Empty when the status is kOk.
  std::string why;
  // What to do about it, a command where there is one. Empty when kOk.
  std::string remedy;
};

// `ok`, `note`, `warn` or `unknown`.
inline const char* CheckStatusName(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kNote:
      return "note";
    case CheckStatus::kWarn:
      return "warn";
    case CheckStatus::kUnknown:
      return "unknown";
  }
  return "unknown";
}

// A check that found nothing.
inline Check Ok(std::string name, std::string observed) {
  return {std::move(name), CheckStatus::kOk, std::move(observed), "", ""};
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CHECK_H_
