// The library `nvdec`: reads clips with the video decoder of a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/nvdec/nvdec_loader.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"
#include "lib/media/video/clip_reader.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Clip decoding, timed on the device. Each call opens a file, decodes the
// frames of its clip and those they depend on, and converts them to RGB, uint8
// THWC, in device memory. The decoder session is reused from file to file.
// `files` must outlive the result. Unavailable, with a one-line message, if
// there is no engine.
absl::StatusOr<std::unique_ptr<PreparedTransform>> MakeNvdecDecoder(
    const std::vector<SourceFile>& files);

class NvdecAdapter : public Adapter {
 public:
  std::string library() const override { return "nvdec"; }
  // Version of the FFmpeg that drives it.
  std::string version() const override { return ClipReaderVersion(); }

  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override {
    return absl::UnimplementedError("nvdec is a decoder; it has no transforms");
  }
  absl::StatusOr<std::unique_ptr<PreparedTransform>> PrepareDecoder(
      const PrepareCommand& spec,
      const std::vector<SourceFile>& files) override {
    if (spec.device() != "cuda") {
      return absl::InvalidArgumentError(
          absl::StrCat("nvdec decodes on cuda, not on ", spec.device()));
    }
    return MakeNvdecDecoder(files);
  }
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override {
    return MakeNvdecLoader(spec, input.files);
  }
};

}  // namespace feedrate
