// FFmpeg called from C++: a decoder and a loader of clips.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Each call opens a file and decodes the frames of its clip and the frames that
// they depend on: see lib/media/video/clip_reader.h.
class FfmpegAdapter : public Adapter {
 public:
  std::string library() const override { return "ffmpeg"; }
  std::string version() const override;
  int threads() const override { return threads_ == 0 ? 1 : threads_; }
  // Returns an error: it has no transforms.
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> PrepareDecoder(
      const PrepareCommand& spec,
      const std::vector<SourceFile>& files) override;
  // A loader of clips, whose transforms are OpenCV's. InvalidArgument names
  // what it cannot do.
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override;

 private:
  int threads_ = 1;
};

}  // namespace feedrate
