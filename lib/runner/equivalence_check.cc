#include "lib/runner/equivalence_check.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_info.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/text_proto.h"
#include "lib/hash/sha256.h"
#include "lib/records/records.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/geometry.h"
#include "lib/reference/pixels.h"
#include "lib/runner/cache_folder.h"
#include "lib/runner/clip_frames.h"
#include "lib/runner/equivalence_cache.h"
#include "lib/runner/prepare_command.h"
#include "lib/worker/child.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Goes up when lib/reference answers otherwise than before.
constexpr int kRecipe = 1;

// Why a recipe's output is not compared.
constexpr char kRandomCrop[] =
    "the crop is drawn anew for each item; --params_profile=matched compares";

// What a recipe adds to the identity of an answer.
std::string RecipeText(const LoaderSpec* recipe) {
  if (recipe == nullptr) return "";
  return absl::StrCat("\n", recipe->scope, " ", recipe->crop, " ",
                      recipe->crop_position, " ", recipe->is_crop);
}

std::string KeyOf(const Job& job, const std::string& version, int64_t count,
                  const Transform& transform,
                  const Implementation& implementation,
                  const ComparedItems& items) {
  return Sha256Hex(absl::StrCat(
      kRecipe, "\n", kVersion, "\n", job.scenario(), "\n", job.library(), " ",
      version, "\n", job.device(), "\n", CanonicalParameters(implementation),
      "\n", implementation.unchecked(), "\n",
      PrintTextProto(transform.reference()), "\n", job.seed(), "\n", count, " ",
      items.sha256, RecipeText(items.recipe)));
}

Equivalence RecordOf(const Comparison& comparison) {
  Equivalence record;
  record.set_label(comparison.label);
  if (comparison.max_abs_diff.has_value()) {
    record.set_max_abs_diff(*comparison.max_abs_diff);
  }
  if (comparison.psnr_db.has_value()) record.set_psnr_db(*comparison.psnr_db);
  if (comparison.ssim.has_value()) record.set_ssim(*comparison.ssim);
  record.set_reference(comparison.reference);
  return record;
}

// `null` has nothing to show; `faulty` is asked for what it may do wrong.
absl::StatusOr<Equivalence> AskTestLibrary(const Job& job, absl::Duration limit,
                                           MeasuredChild* child) {
  Equivalence equivalence;
  if (job.library() == "null") return equivalence;
  OutputCommand command;
  command.indexes = {0};
  RETURN_IF_ERROR(child->Outputs(command, limit).status());
  equivalence.set_label(kUnchecked);
  equivalence.set_reference("a library for tests");
  return equivalence;
}

}  // namespace

std::string EquivalenceCachePath() {
  return absl::StrCat(CacheFolder(), "/equivalence.jsonl");
}

absl::StatusOr<Equivalence> EquivalenceCheck::Compare(
    const Transform& transform, const Implementation& implementation,
    const ComparedItems& items, const std::vector<ChildOutput>& outputs) {
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < outputs.size(); ++i) {
    // Of a clip the first frame and the last: parameters are the same for all.
    const int last = FramesOfOutput(outputs[i]) - 1;
    for (const int frame :
         last == 0 ? std::vector<int>{0} : std::vector<int>{0, last}) {
      ASSIGN_OR_RETURN(Pixels pixels,
                       items.item(static_cast<int64_t>(i), frame));
      ASSIGN_OR_RETURN(LibraryOutput output,
                       ReadOutput(FrameOfOutput(outputs[i], frame)));
      if (items.recipe != nullptr) {
        const LoaderSpec& recipe = *items.recipe;
        output = UndoNormalisation(output, recipe.mean, recipe.std);
        if (!recipe.is_crop) {
          pixels = CropCenter(pixels, recipe.crop, recipe.crop);
        }
        if (!recipe.is_crop && recipe.crop_position != "center") {
          comparisons.push_back(Unchecked(kRandomCrop, pixels, output));
          continue;
        }
      }
      ASSIGN_OR_RETURN(comparisons.emplace_back(),
                       CheckOutput(transform, implementation, pixels, output));
    }
  }
  return RecordOf(WorstOf(comparisons));
}

absl::StatusOr<Equivalence> EquivalenceCheck::Check(const Job& job,
                                                    const std::string& version,
                                                    const ComparedItems& items,
                                                    absl::Duration limit,
                                                    MeasuredChild* child) {
  if (IsTestLibrary(job.library())) return AskTestLibrary(job, limit, child);
  ASSIGN_OR_RETURN(const Transform* transform, TransformOfJob(catalogue_, job));
  const Implementation* implementation = catalogue_.ImplementationOf(
      *transform, job.library(), job.params_profile());
  const int64_t count = std::min<int64_t>(
      catalogue_.policy().measuring().compared_items(), items.count);
  const std::string key =
      KeyOf(job, version, count, *transform, *implementation, items);
  if (const Equivalence* known = cache_.Find(key)) return *known;
  OutputCommand command;
  command.seed = static_cast<uint64_t>(job.seed());
  for (int64_t i = 0; i < count; ++i) command.indexes.push_back(i);
  ASSIGN_OR_RETURN(const std::vector<ChildOutput> outputs,
                   child->Outputs(command, limit));
  const absl::StatusOr<Equivalence> compared =
      Compare(*transform, *implementation, items, outputs);
  Equivalence equivalence;
  if (compared.ok()) {
    equivalence = *compared;
  } else {
    equivalence.set_label(kDifferent);
    equivalence.set_reference(std::string(compared.status().message()));
  }
  cache_.Add(key, equivalence);
  return equivalence;
}

}  // namespace feedrate
