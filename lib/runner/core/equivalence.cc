#include "lib/runner/core/equivalence.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/unique_fd.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/text_proto.h"
#include "lib/hash/sha256.h"
#include "lib/records/json.h"
#include "lib/reference/geometry.h"
#include "lib/runner/core/job_settings.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Increase this when results of lib/reference change.
constexpr int kRecipe = 3;

// This many unusable files in a row mean that nothing can be compared.
constexpr int64_t kMostTries = 100;

// Why a recipe's output is not compared.
constexpr char kRandomCrop[] =
    "the crop is drawn anew for each item; --params_profile=matched compares";

// The part of the cache key that depends on the recipe.
std::string RecipeText(const LoaderSpec* recipe) {
  if (recipe == nullptr) return "";
  return absl::StrCat("\n", recipe->scope(), " ", recipe->crop(), " ",
                      recipe->crop_position(), " ", recipe->is_crop());
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
      items.sha256, RecipeText(items.recipe),
      ContainerOf(job).empty() ? "" : absl::StrCat("\n", ContainerOf(job))));
}

// `null` has no outputs; `faulty` is asked for what it may do wrong.
absl::StatusOr<Equivalence> AskTestLibrary(const Job& job, absl::Duration limit,
                                           MeasuredChild* child) {
  Equivalence equivalence;
  if (job.library() == "null") return equivalence;
  OutputCommand command;
  command.add_indexes(0);
  RETURN_IF_ERROR(child->Outputs(command, limit).status());
  equivalence.set_label(kUnchecked);
  equivalence.set_reference("a library for tests");
  return equivalence;
}

Equivalence UncheckedSubject(const std::string& reason) {
  Equivalence equivalence;
  equivalence.set_label(kUnchecked);
  equivalence.set_reference(reason);
  return equivalence;
}

}  // namespace

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

std::optional<Job> EquivalenceCheck::ReferenceJob(const Job& job) const {
  if (reference_.empty() || !IsSubject(job.library()) ||
      job.library() == reference_ || job.mode() != "micro") {
    return std::nullopt;
  }
  Job reference = job;
  reference.set_library(reference_);
  const Library* const library = catalogue_.FindLibrary(reference_);
  if (library != nullptr) reference.set_env_group(library->env_group());
  return reference;
}

absl::StatusOr<Equivalence> EquivalenceCheck::CheckAgainst(
    const Rival& rival, const Job& job, const ComparedItems& items,
    absl::Duration limit, MeasuredChild* child) {
  if (rival.child == nullptr) {
    return UncheckedSubject(
        absl::StrCat(rival.name, " has no ", job.transform()));
  }
  const int64_t count = std::min<int64_t>(
      catalogue_.policy().measuring().compared_items(), items.count);
  const auto seed = static_cast<uint64_t>(job.seed());
  const absl::StatusOr<std::vector<ItemOutput>> expected =
      GetOutputs(items, count, seed, limit, rival.child);
  // Its failure is not the subject's.
  if (!expected.ok() && !absl::IsCancelled(expected.status())) {
    return UncheckedSubject(
        absl::StrCat(rival.name, " failed: ", expected.status().message()));
  }
  RETURN_IF_ERROR(expected.status());
  ASSIGN_OR_RETURN(const std::vector<ItemOutput> outputs,
                   GetOutputs(items, count, seed, limit, child));
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < outputs.size() && i < expected->size(); ++i) {
    ASSIGN_OR_RETURN(const Pixels input, items.item(outputs[i].item, 0));
    ASSIGN_OR_RETURN(const LibraryOutput theirs,
                     ReadOutput(FrameOfOutput((*expected)[i].output, 0)));
    ASSIGN_OR_RETURN(const LibraryOutput ours,
                     ReadOutput(FrameOfOutput(outputs[i].output, 0)));
    comparisons.push_back(CompareWithOutput(rival.name, input, theirs, ours));
  }
  return RecordOf(WorstOf(comparisons));
}

std::string EquivalenceCachePath() {
  const absl::StatusOr<std::string> cache = CacheFolder();
  return cache.ok() ? JoinPath(*cache, "equivalence.jsonl") : "";
}

absl::StatusOr<std::vector<EquivalenceCheck::ItemOutput>>
EquivalenceCheck::GetOutputs(const ComparedItems& items, int64_t count,
                             uint64_t seed, absl::Duration limit,
                             MeasuredChild* child) {
  OutputCommand command;
  command.set_seed(seed);
  for (int64_t i = 0; i < count; ++i) command.add_indexes(i);
  absl::StatusOr<std::vector<ChildOutput>> all = child->Outputs(command, limit);
  std::vector<ItemOutput> outputs;
  if (all.ok()) {
    for (int64_t i = 0; i < count; ++i) {
      outputs.push_back({i, std::move((*all)[i])});
    }
    return outputs;
  }
  // The library's own error. Asking for one at a time tells which item it is.
  if (!absl::IsUnknown(all.status()) || items.name == nullptr) {
    return all.status();
  }
  const int64_t tries =
      std::min(items.count, items.skip == nullptr ? count : kMostTries);
  for (int64_t i = 0; i < tries; ++i) {
    if (static_cast<int64_t>(outputs.size()) == count) break;
    command.clear_indexes();
    command.add_indexes(i);
    absl::StatusOr<std::vector<ChildOutput>> one =
        child->Outputs(command, limit);
    if (one.ok()) {
      outputs.push_back({i, std::move((*one)[0])});
      continue;
    }
    const std::string reason =
        absl::StrCat(items.name(i), ": ", one.status().message());
    if (!absl::IsUnknown(one.status()) || items.skip == nullptr) {
      return absl::Status(one.status().code(), reason);
    }
    items.skip(reason);
  }
  return outputs;
}

absl::StatusOr<Equivalence> EquivalenceCheck::CheckImages(
    const std::string& unchecked, const Job& job, const ComparedItems& items,
    absl::Duration limit, MeasuredChild* child) {
  const int64_t count = std::min<int64_t>(
      catalogue_.policy().measuring().compared_items(), items.count);
  ASSIGN_OR_RETURN(const std::vector<ItemOutput> outputs,
                   GetOutputs(items, count, static_cast<uint64_t>(job.seed()),
                              limit, child));
  for (const ItemOutput& one : outputs) {
    ASSIGN_OR_RETURN(const LibraryOutput output,
                     ReadOutput(FrameOfOutput(one.output, 0)));
    const Comparison found = Unchecked(unchecked, Pixels(), output);
    if (found.label != kUnchecked) return RecordOf(found);
  }
  return UncheckedSubject(unchecked);
}

absl::StatusOr<Equivalence> EquivalenceCheck::Compare(
    const Transform& transform, const Implementation& implementation,
    const ComparedItems& items, const std::vector<ItemOutput>& outputs) {
  std::vector<Comparison> comparisons;
  for (const auto& [item, item_output] : outputs) {
    // Compares the first and last frame of a clip: the parameters are the same
    // for all frames.
    const int last = FramesOfOutput(item_output) - 1;
    for (const int frame :
         last == 0 ? std::vector<int>{0} : std::vector<int>{0, last}) {
      absl::StatusOr<Pixels> decoded = items.item(item, frame);
      if (absl::IsInvalidArgument(decoded.status()) && items.skip != nullptr) {
        items.skip(std::string(decoded.status().message()));
        continue;
      }
      RETURN_IF_ERROR(decoded.status());
      Pixels& pixels = *decoded;
      ASSIGN_OR_RETURN(LibraryOutput output,
                       ReadOutput(FrameOfOutput(item_output, frame)));
      if (items.recipe != nullptr) {
        const LoaderSpec& recipe = *items.recipe;
        output = UndoNormalization(output,
                                   {recipe.mean().begin(), recipe.mean().end()},
                                   {recipe.std().begin(), recipe.std().end()});
        if (!recipe.is_crop()) {
          pixels = CropCenter(pixels, recipe.crop(), recipe.crop());
        }
        // A transform that is never compared has a reason of its own.
        if (!recipe.is_crop() && recipe.crop_position() != "center" &&
            transform.reference().unchecked().empty() &&
            implementation.unchecked().empty()) {
          comparisons.push_back(Unchecked(kRandomCrop, pixels, output));
          continue;
        }
      }
      ASSIGN_OR_RETURN(comparisons.emplace_back(),
                       CheckOutput(transform, implementation, pixels, output));
    }
  }
  if (!comparisons.empty()) return RecordOf(WorstOf(comparisons));
  Equivalence equivalence;
  equivalence.set_label(kUnchecked);
  equivalence.set_reference("none of the first files is usable");
  return equivalence;
}

absl::StatusOr<Equivalence> EquivalenceCheck::Check(const Job& job,
                                                    const std::string& version,
                                                    const ComparedItems& items,
                                                    absl::Duration limit,
                                                    MeasuredChild* child) {
  if (IsTestLibrary(job.library())) return AskTestLibrary(job, limit, child);
  if (IsSubject(job.library()) && items.recipe != nullptr) {
    return UncheckedSubject("a subject's batches are not taken apart");
  }
  const absl::StatusOr<const Transform*> known_transform =
      TransformOfJob(catalogue_, job);
  if (IsSubject(job.library()) && !known_transform.ok()) {
    return CheckImages(
        "no transform of the set has this name; --reference compares with a "
        "library or a subject",
        job, items, limit, child);
  }
  RETURN_IF_ERROR(known_transform.status());
  const Transform* const transform = *known_transform;
  const Implementation* implementation = catalogue_.ImplementationOf(
      *transform, job.library(), job.params_profile());
  // A subject has parameters of its own, in its code.
  if (IsSubject(job.library())) {
    implementation = &Implementation::default_instance();
  }
  const int64_t count = std::min<int64_t>(
      catalogue_.policy().measuring().compared_items(), items.count);
  const std::string key =
      KeyOf(job, version, count, *transform, *implementation, items);
  if (const Equivalence* known = cache_.Find(key)) return *known;
  bool skipped = false;
  ComparedItems usable = items;
  if (items.skip != nullptr) {
    usable.skip = [&](const std::string& reason) {
      skipped = true;
      items.skip(reason);
    };
  }
  ASSIGN_OR_RETURN(const std::vector<ItemOutput> outputs,
                   GetOutputs(usable, count, static_cast<uint64_t>(job.seed()),
                              limit, child));
  const absl::StatusOr<Equivalence> compared =
      Compare(*transform, *implementation, usable, outputs);
  Equivalence equivalence;
  if (compared.ok()) {
    equivalence = *compared;
  } else {
    equivalence.set_label(kDifferent);
    equivalence.set_reference(std::string(compared.status().message()));
  }
  // Every run names what it skips, or fails.
  if (!skipped) cache_.Add(key, equivalence);
  return equivalence;
}

EquivalenceCache::EquivalenceCache(const std::string& path) : path_(path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return;
  JsonReader reader;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    Equivalence equivalence;
    const absl::StatusOr<std::string> record = reader.Open(parts.second);
    if (record.ok() && *record == "equivalence" &&
        reader.Read(&equivalence).ok() && !equivalence.label().empty()) {
      known_[std::string(parts.first)] = equivalence;
    }
  }
}

const Equivalence* EquivalenceCache::Find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

void EquivalenceCache::Add(const std::string& key,
                           const Equivalence& equivalence) {
  known_[key] = equivalence;
  if (path_.empty()) return;
  // A newline also in front, in case another program left a torn line.
  std::string line = absl::StrCat("\n", key, "\t");
  AppendRecord(equivalence, &line);
  MakeFolder(ParentFolder(path_)).IgnoreError();
  const UniqueFd file(
      open(path_.c_str(),
           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  // One write, so that lines of several programs do not mix.
  if (file.valid() && write(file.get(), line.data(), line.size()) < 0) return;
}

namespace {

bool IsClip(const ChildOutput& output) { return output.info.shape_size() == 4; }

}  // namespace

ImageView FrameOfItem(const Corpus& corpus, int64_t item, int frame) {
  const ItemView view = corpus.item(item);
  const int64_t bytes = view.bytes / view.frames;
  return {static_cast<const uint8_t*>(view.data) + frame * bytes, view.height,
          view.width, view.channels};
}

Pixels PixelsOfItem(const Corpus& corpus, int64_t item, int frame,
                    int channels) {
  const ImageView image = FrameOfItem(corpus, item, frame);
  return RepeatChannels(
      PixelsFromBytes(image.data, image.height, image.width, image.channels),
      channels);
}

int FramesOfOutput(const ChildOutput& output) {
  return IsClip(output) ? static_cast<int>(output.info.shape(0)) : 1;
}

OutputView FrameOfOutput(const ChildOutput& output, int frame) {
  const int64_t bytes =
      static_cast<int64_t>(output.bytes.size()) / FramesOfOutput(output);
  // Skips the time axis.
  const size_t first = IsClip(output) ? 1 : 0;
  const std::vector<int64_t> shape(output.info.shape().begin() + first,
                                   output.info.shape().end());
  OutputView view;
  view.data = output.bytes.data() + frame * bytes;
  view.bytes = bytes;
  view.dtype = output.info.dtype();
  view.layout = absl::string_view(output.info.layout()).substr(first);
  const bool channels_first = view.layout == "CHW";
  view.height = static_cast<int>(shape[channels_first ? 1 : 0]);
  view.width = static_cast<int>(shape[channels_first ? 2 : 1]);
  view.channels = static_cast<int>(shape[channels_first ? 0 : 2]);
  return view;
}

}  // namespace feedrate
