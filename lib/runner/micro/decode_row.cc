#include "lib/runner/micro/decode_row.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/image.h"
#include "lib/reference/compare.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/rows.h"

namespace feedrate {
namespace {

// As for transforms: no visible difference.
constexpr double kMinPsnrDb = 40;

double LimitOf(const RunContext& context, const std::vector<ClipFile>& files,
               double reached) {
  static auto* const known = new std::map<const void*, std::optional<double>>;
  return LimitFor(
      reached, [&] { return context.clips.limit(files, 1).value_or(0); },
      &(*known)[&files]);
}

}  // namespace

bool IsDecodeJob(const Job& job) { return job.mode() == "decode"; }

bool OnEngine(const Job& job) {
  return IsDecodeJob(job) && job.device() == "cuda";
}

absl::StatusOr<Equivalence> CheckDecoder(const RunContext& context,
                                         const Job& job,
                                         const InputCorpora::Input& input,
                                         absl::Duration limit,
                                         MeasuredChild* child, Decode* decode) {
  decode->Clear();
  ASSIGN_OR_RETURN(const ClipRule rule, ClipRuleOf(job));
  decode->set_clip_rule(ClipRuleName(rule));
  decode->set_clip_length(static_cast<int>((*input.files)[0].frames.size()));
  ASSIGN_OR_RETURN(const PrepareCommand command,
                   PrepareCommandOfJob(context.catalogue, job));
  decode->set_threads(command.decode().threads());
  if (IsTestLibrary(job.library())) return Equivalence();
  OutputCommand outputs;
  outputs.set_seed(static_cast<uint64_t>(job.seed()));
  const int64_t count =
      std::min<int64_t>(context.catalogue.policy().measuring().compared_items(),
                        input.original->size());
  for (int64_t i = 0; i < count; ++i) outputs.add_indexes(i);
  ASSIGN_OR_RETURN(const std::vector<ChildOutput> clips,
                   child->Outputs(outputs, limit));
  return CompareClips(clips, *input.original, *input.files, kMinPsnrDb, decode);
}

void AddDecode(const RunContext& context, const InputCorpora::Input& input,
               const Decode& decode, const EngineUse& engine, Row* row) {
  *row->mutable_decode() = decode;
  row->mutable_decode()->set_frames_per_s(row->throughput() *
                                          decode.clip_length());
  if (engine.decodes) {
    row->mutable_decode()->set_cpu_frames(engine.cpu_frames);
    if (engine.cpu_frames > 0) row->add_labels(kCpuFallback);
    // The speed of a CPU is not a limit here.
    if (engine.clips_per_s <= 0) return;
    return SetLimit(kEngineLimit, engine.clips_per_s, row);
  }
  if (context.clips.limit == nullptr) return;
  const double limit = LimitOf(context, *input.files, row->throughput());
  if (limit > 0) SetLimit("libav", limit, row);
}

namespace {

// The difference of one frame.
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
    if (output.info.layout() != "THWC" || output.info.dtype() != "uint8" ||
        frames != static_cast<int>(file.frames.size())) {
      return Fail(absl::StrCat("clip ", item, " has ", frames, " frames of ",
                               output.info.dtype(), " ", output.info.layout()));
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

  // Keeps the first failure.
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
