#include "lib/runner/decode_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/media/image.h"
#include "lib/media/video/clips.h"
#include "lib/records/records.pb.h"
#include "lib/reference/compare.h"
#include "lib/runner/clip_frames.h"
#include "lib/worker/child.h"

namespace feedrate {
namespace {

// What one frame differs by.
struct Difference {
  int max = 0;
  double psnr_db = std::numeric_limits<double>::infinity();
};

Difference Compare(const ImageView& a, const ImageView& b) {
  Difference difference;
  double squares = 0;
  for (size_t i = 0; i < a.size_bytes(); ++i) {
    const int d = std::abs(int{a.data[i]} - int{b.data[i]});
    difference.max = std::max(difference.max, d);
    squares += d * d;
  }
  if (squares > 0) {
    const double mean = squares / static_cast<double>(a.size_bytes());
    difference.psnr_db = 10 * std::log10(255.0 * 255.0 / mean);
  }
  return difference;
}

class ClipComparison {
 public:
  ClipComparison(double min_psnr_db, Decode* decode)
      : min_psnr_db_(min_psnr_db), decode_(decode) {}

  void Add(const ChildOutput& output, const Corpus& reference, int64_t item,
           const ClipFile& file) {
    const int frames = FramesOfOutput(output);
    if (output.info.layout != "THWC" || output.info.dtype != "uint8" ||
        frames != static_cast<int>(file.frames.size())) {
      return Fail(absl::StrCat("clip ", item, " has ", frames, " frames of ",
                               output.info.dtype, " ", output.info.layout));
    }
    for (int i = 0; i < frames; ++i) {
      const OutputView got = FrameOfOutput(output, i);
      AddFrame({static_cast<const uint8_t*>(got.data), got.height, got.width,
                got.channels},
               FrameOfItem(reference, item, i),
               absl::StrCat("frame ", file.frames[i], " of clip ", item));
    }
  }

  Equivalence Result() const {
    Equivalence result;
    result.set_label(!failure_.empty() ? "different"
                     : worst_.max == 0 ? "exact"
                                       : "equivalent");
    result.set_max_abs_diff(worst_.max / 255.0);
    if (std::isfinite(worst_.psnr_db)) result.set_psnr_db(worst_.psnr_db);
    result.set_reference(failure_.empty() ? "ffmpeg" : failure_);
    return result;
  }

 private:
  void AddFrame(const ImageView& got, const ImageView& wanted,
                const std::string& name) {
    decode_->set_frames_compared(decode_->frames_compared() + 1);
    const std::optional<int64_t> number = ReadPattern(wanted);
    if (number.has_value()) {
      const std::optional<int64_t> shown = ReadPattern(got);
      const bool wrong = shown != number;
      decode_->set_wrong_frames(decode_->wrong_frames() + (wrong ? 1 : 0));
      if (wrong) {
        Fail(shown.has_value() ? absl::StrCat(name, " shows frame ", *shown)
                               : absl::StrCat(name, " shows no number"));
      }
    }
    if (got.height != wanted.height || got.width != wanted.width ||
        got.channels != wanted.channels) {
      return Fail(absl::StrCat(name, " is ", got.width, "x", got.height,
                               ", not ", wanted.width, "x", wanted.height));
    }
    const Difference difference = Compare(got, wanted);
    worst_.max = std::max(worst_.max, difference.max);
    worst_.psnr_db = std::min(worst_.psnr_db, difference.psnr_db);
    if (difference.psnr_db < min_psnr_db_) {
      Fail(absl::StrFormat("%s has a PSNR of %.1f dB", name,
                           difference.psnr_db));
    }
  }

  // The first one is told.
  void Fail(const std::string& failure) {
    if (failure_.empty()) failure_ = failure;
  }

  const double min_psnr_db_;
  Decode* const decode_;
  Difference worst_;
  std::string failure_;
};

}  // namespace

Equivalence CompareClips(const std::vector<ChildOutput>& outputs,
                         const Corpus& reference,
                         const std::vector<ClipFile>& files, double min_psnr_db,
                         Decode* decode) {
  ClipComparison comparison(min_psnr_db, decode);
  for (size_t i = 0; i < outputs.size(); ++i) {
    comparison.Add(outputs[i], reference, static_cast<int64_t>(i), files[i]);
  }
  return comparison.Result();
}

}  // namespace feedrate
