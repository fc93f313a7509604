// OpenCV called from C++: core and imgproc, as the distribution builds them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Needs a corpus of uint8 HWC images or clips. An output is overwritten by the
// next call, as in a program written for speed.
class OpenCvAdapter : public Adapter {
 public:
  std::string library() const override { return "opencv"; }
  std::string version() const override;
  int threads() const override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;

 private:
  int threads_told_ = -1;  // -1: not told.
};

}  // namespace feedrate
