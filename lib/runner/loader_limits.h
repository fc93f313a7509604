// What no loader of a run can beat.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_
#define FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/records/records.pb.h"
#include "lib/runner/loader_inputs.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Measures each limit once. Not thread-safe.
class LoaderLimits {
 public:
  // Of a scope that decodes: pure decoding of the pixels that the crop needs,
  // on as many processors as there are workers. Of the memory scope: a copy of
  // the batch's bytes. Nothing where the data is no JPEG, or the recipe needs
  // other pixels than the crop.
  std::optional<Limit> Of(const LoaderSpec& spec,
                          const LoaderInputs::Input& input, int processors);

 private:
  // By descriptor of the input, threads, and what is measured.
  std::map<std::string, std::optional<Limit>> known_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_
