#include "lib/runner/micro/distrust_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/worker/child.h"

namespace feedrate {
namespace {

absl::StatusOr<Corpus> CorpusOf(const std::vector<KeptCall>& kept,
                                const CorpusForm& form) {
  ASSIGN_OR_RETURN(CorpusWriter writer,
                   CorpusWriter::Create(DType::kUint8, Layout::kHwc));
  std::vector<ItemSize> sizes;
  for (const KeptCall& call : kept) sizes.push_back(call.size);
  RETURN_IF_ERROR(writer.AddRoom(sizes));
  for (size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(writer.data(static_cast<int64_t>(i)), kept[i].input.data(),
                kept[i].input.size());
  }
  ASSIGN_OR_RETURN(Corpus corpus, std::move(writer).Finish());
  if (form.dtype == DType::kUint8 && form.layout == Layout::kHwc &&
      form.channels == 0) {
    return corpus;
  }
  return ConvertCorpus(corpus, form, /*threads=*/1);
}

// What the reference makes of the same inputs and seeds.
absl::StatusOr<std::vector<ChildOutput>> ExpectedOutputs(
    const RunContext& context, const std::vector<KeptCall>& kept,
    const TrustedReference& reference, absl::Duration limit) {
  ASSIGN_OR_RETURN(const CorpusForm form,
                   FormOf(context.catalogue, reference.job));
  ASSIGN_OR_RETURN(const Corpus corpus, CorpusOf(kept, form));
  ASSIGN_OR_RETURN(const PrepareCommand command,
                   PrepareCommandOfJob(context.catalogue, reference.job));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<MeasuredChild> child,
      MeasuredChild::Spawn(reference.server, reference.job.library(),
                           corpus.fd(), context.limits.memory_bytes));
  RETURN_IF_ERROR(child->Prepare(command, limit).status());
  std::vector<ChildOutput> outputs;
  for (size_t i = 0; i < kept.size(); ++i) {
    OutputCommand wanted;
    wanted.add_indexes(static_cast<int64_t>(i));
    wanted.set_seed(kept[i].seed);
    ASSIGN_OR_RETURN(std::vector<ChildOutput> output,
                     child->Outputs(wanted, limit));
    outputs.push_back(std::move(output[0]));
  }
  return outputs;
}

// Whether both have the same bytes, which takes far less time to find out than
// how similar they are.
bool AreSame(const ChildOutput& a, const ChildOutput& b) {
  return a.bytes == b.bytes && a.info.dtype() == b.info.dtype() &&
         a.info.layout() == b.info.layout() &&
         std::equal(a.info.shape().begin(), a.info.shape().end(),
                    b.info.shape().begin(), b.info.shape().end());
}

Pixels PixelsOf(const KeptCall& call) {
  return PixelsFromBytes(reinterpret_cast<const uint8_t*>(call.input.data()),
                         static_cast<int>(call.size.height),
                         static_cast<int>(call.size.width),
                         static_cast<int>(call.size.channels));
}

absl::Status NotChecked(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("distrust: its outputs could not be checked: ", why));
}

absl::Status Refused(const Comparison& worst, size_t refused, size_t checked) {
  if (worst.label == kUnchecked) return NotChecked(worst.reference);
  return absl::FailedPreconditionError(absl::StrCat(
      "distrust: ", refused, " of ", checked, " outputs that were checked are ",
      worst.label == kNoop ? "their inputs" : "wrong", " (", worst.reference,
      worst.psnr_db.has_value()
          ? absl::StrCat(", PSNR ", static_cast<int>(*worst.psnr_db), " dB")
          : "",
      ")"));
}

}  // namespace

bool IsDistrusted(const Job& job) {
  return job.settings().count(kDistrust) > 0 && IsSubject(job.library());
}

absl::StatusOr<Equivalence> CheckKept(const RunContext& context, const Job& job,
                                      const std::vector<KeptCall>& kept,
                                      const TrustedReference* reference,
                                      absl::Duration limit) {
  if (kept.empty()) return NotChecked("it made no calls");
  std::vector<ChildOutput> expected;
  const Transform* transform = nullptr;
  if (reference != nullptr) {
    absl::StatusOr<std::vector<ChildOutput>> outputs =
        ExpectedOutputs(context, kept, *reference, limit);
    if (absl::IsCancelled(outputs.status())) return outputs.status();
    if (!outputs.ok()) {
      return NotChecked(absl::StrCat(reference->job.library(),
                                     " failed: ", outputs.status().message()));
    }
    expected = *std::move(outputs);
  } else {
    const absl::StatusOr<const Transform*> found =
        TransformOfJob(context.catalogue, job);
    if (!found.ok()) {
      return NotChecked(
          "no transform of the set has this name; name a library or a subject "
          "that does the same with --reference");
    }
    transform = *found;
  }
  std::vector<Comparison> comparisons;
  size_t refused = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (reference != nullptr && AreSame(expected[i], kept[i].output)) {
      Comparison& same = comparisons.emplace_back();
      same.label = kExact;
      same.max_abs_diff = 0;
      same.reference = reference->job.library();
      continue;
    }
    const Pixels input = PixelsOf(kept[i]);
    ASSIGN_OR_RETURN(const LibraryOutput output,
                     ReadOutput(FrameOfOutput(kept[i].output, 0)));
    if (transform == nullptr) {
      ASSIGN_OR_RETURN(const LibraryOutput theirs,
                       ReadOutput(FrameOfOutput(expected[i], 0)));
      comparisons.push_back(
          CompareWithOutput(reference->job.library(), input, theirs, output));
    } else {
      ASSIGN_OR_RETURN(
          comparisons.emplace_back(),
          CheckOutput(*transform, Implementation::default_instance(), input,
                      output));
    }
    const std::string& label = comparisons.back().label;
    refused += label == kExact || label == kEquivalent ? 0 : 1;
  }
  const Comparison worst = WorstOf(comparisons);
  if (refused > 0) return Refused(worst, refused, kept.size());
  return RecordOf(worst);
}

}  // namespace feedrate
