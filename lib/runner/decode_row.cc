#include "lib/runner/decode_row.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/clips.h"
#include "lib/records/records.pb.h"
#include "lib/runner/decode_check.h"
#include "lib/runner/input_corpora.h"
#include "lib/runner/prepare_command.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// As for transforms: what the eye cannot tell apart.
constexpr double kMinPsnrDb = 40;

// Measured once for each list of files.
double LimitOf(const RunContext& context, const std::vector<ClipFile>& files) {
  static auto* const known = new std::map<const void*, double>;
  const auto [entry, is_new] = known->emplace(&files, 0);
  if (is_new) entry->second = context.clips.limit(files, 1).value_or(0);
  return entry->second;
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
  decode->set_threads(command.decode->threads);
  if (IsTestLibrary(job.library())) return Equivalence();
  OutputCommand outputs;
  outputs.seed = static_cast<uint64_t>(job.seed());
  const int64_t count =
      std::min<int64_t>(context.catalogue.policy().measuring().compared_items(),
                        input.plain->size());
  for (int64_t i = 0; i < count; ++i) outputs.indexes.push_back(i);
  ASSIGN_OR_RETURN(const std::vector<ChildOutput> clips,
                   child->Outputs(outputs, limit));
  return CompareClips(clips, *input.plain, *input.files, kMinPsnrDb, decode);
}

void AddDecode(const RunContext& context, const InputCorpora::Input& input,
               const Decode& decode, const EngineUse& engine, Row* row) {
  *row->mutable_decode() = decode;
  row->mutable_decode()->set_frames_per_s(row->throughput() *
                                          decode.clip_length());
  if (engine.decodes) {
    row->mutable_decode()->set_cpu_frames(engine.cpu_frames);
    if (engine.cpu_frames > 0) row->add_labels(kCpuFallback);
    // What a CPU decodes is no limit here.
    if (engine.clips_per_s <= 0) return;
    return SetLimit(kEngineLimit, engine.clips_per_s, row);
  }
  if (context.clips.limit == nullptr) return;
  const double limit = LimitOf(context, *input.files);
  if (limit > 0) SetLimit("libav", limit, row);
}

}  // namespace feedrate
