// A loader of clips: threads that decode, transform and write straight into
// batches.
#ifndef FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_LOADER_H_
#define FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/ffmpeg/clip_recipe.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// As many threads as `workers`, at least one, each with the next item: no copy
// between them, and batches are delivered in order whatever the threads do.
// At most `prefetch` batches are ahead of the consumer.
class ClipLoader : public PreparedLoader {
 public:
  // InvalidArgument names what a loader of clips cannot do. All outlive it.
  static absl::StatusOr<std::unique_ptr<ClipLoader>> Make(
      const TransformSpec& spec, const LoaderInput& input);

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override;
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override;

 private:
  ClipLoader(const TransformSpec& spec, const LoaderInput& input)
      : spec_(spec), input_(input) {}

  const TransformSpec spec_;
  const LoaderInput& input_;
  // One a thread.
  std::vector<std::unique_ptr<ClipRecipe>> recipes_;
  // Batches in the making, used again from epoch to epoch.
  std::vector<std::vector<float>> buffers_;
  std::vector<float> output_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_LOADER_H_
