// What a loader has to offer to be measured from C++.
//
// A worker program is one LoaderAdapter and one line of main (worker_main.h),
// as for any library. Its epochs are best timed by TimeEpoch (time_epoch.h),
// so that all loaders mean the same by their numbers.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_LOADER_ADAPTER_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_LOADER_ADAPTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// An adapter that loads data and has no transforms to offer on their own.
class LoaderAdapter : public Adapter {
 public:
  // Refuses: such a job is for a library of transforms.
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) final;

  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const TransformSpec& spec, const LoaderInput& input) override = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_LOADER_ADAPTER_H_
