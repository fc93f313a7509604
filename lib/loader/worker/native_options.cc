#include "lib/loader/worker/native_options.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/file_source.h"
#include "lib/loader/memory_source.h"
#include "lib/loader/mix_spec.h"
#include "lib/loader/open_remote_source.h"
#include "lib/loader/shard_source.h"
#include "lib/storage/object_store.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

absl::StatusOr<Recipe> RecipeOf(const TransformSpec& spec) {
  const LoaderSpec& loader = *spec.loader;
  Recipe recipe;
  recipe.channels = loader.channels;
  recipe.crop = loader.crop;
  recipe.position = loader.crop_position == "center" ? CropPosition::kCentre
                                                     : CropPosition::kRandom;
  recipe.first_step_crops = loader.is_crop;
  recipe.mean = loader.mean;
  recipe.std = loader.std;
  recipe.input_scale = loader.input_scale;
  if (IsMixOp(spec.native_op)) return recipe;
  ASSIGN_OR_RETURN(recipe.steps, StepsOf(spec));
  return recipe;
}

Ablation AblationOf(const std::string& word) {
  if (word == "no_augment") return Ablation::kNoAugment;
  if (word == "no_decode") return Ablation::kNoDecode;
  if (word == "cached_batch") return Ablation::kCachedBatch;
  return Ablation::kNone;
}

absl::Status BadSetting(const std::string& name, const std::string& value) {
  return absl::InvalidArgumentError(absl::StrCat(
      "native knows no setting ", name, "=", value,
      "; there are read_ahead=inline|threads|io_uring|auto|remote, "
      "read_threads=N, "
      "read_depth=N, access=read|mmap, scaled_decode=true|false, and for "
      "data in a store connections=N, range_bytes=N"));
}

// Whether `value` is one of `words`, of which the first stands for the first
// value of `to`.
template <typename T>
bool Choose(const std::string& value, const std::vector<std::string>& words,
            T* to) {
  const auto found = std::find(words.begin(), words.end(), value);
  *to = static_cast<T>(found - words.begin());
  return found != words.end();
}

bool Positive(const std::string& value, int* to) {
  return absl::SimpleAtoi(value, to) && *to > 0;
}

bool ApplySetting(const std::string& name, const std::string& value,
                  NativeSettings* to) {
  if (name == "read_ahead") {
    return Choose(value, {"inline", "threads", "io_uring", "auto", "remote"},
                  &to->read_ahead.method);
  }
  if (name == "read_threads") return Positive(value, &to->read_ahead.threads);
  if (name == "read_depth") return Positive(value, &to->read_ahead.depth);
  if (name == "connections") return Positive(value, &to->connections);
  if (name == "range_bytes") {
    return absl::SimpleAtoi(value, &to->range_bytes) && to->range_bytes > 0;
  }
  if (name == "access") return Choose(value, {"read", "mmap"}, &to->access);
  if (name == "scaled_decode") {
    return Choose(value, {"false", "true"}, &to->scaled_decode);
  }
  return false;
}

}  // namespace

absl::StatusOr<NativeSettings> ParseNativeSettings(
    const std::map<std::string, std::string>& settings) {
  NativeSettings parsed;
  for (const auto& [name, value] : settings) {
    if (!ApplySetting(name, value, &parsed)) return BadSetting(name, value);
  }
  return parsed;
}

absl::StatusOr<LoaderOptions> NativeOptions(const TransformSpec& spec) {
  const LoaderSpec& loader = *spec.loader;
  const bool copies = spec.device == "cuda" && loader.scope == kCopyScope;
  if (!spec.device.empty() && spec.device != "cpu" && !copies) {
    return absl::InvalidArgumentError(
        absl::StrCat("native delivers on the cpu, or copies to cuda in the "
                     "scope ",
                     kCopyScope, "; not ", spec.device, " in ", loader.scope));
  }
  LoaderOptions options;
  ASSIGN_OR_RETURN(options.recipe, RecipeOf(spec));
  ASSIGN_OR_RETURN(options.mix, MixOptionsOf(spec));
  options.batch_size = static_cast<int>(loader.batch_size);
  options.workers = loader.workers;
  // All workers fill the same batch, so a batch ahead is one for all of them.
  options.buffers = std::max(1, loader.prefetch);
  options.persistent = loader.persistent;
  options.drop_last = loader.drop_last;
  options.shuffle = loader.shuffle;
  options.seed = static_cast<uint64_t>(spec.seed);
  options.on_error =
      loader.on_error == "fail" ? OnError::kFail : OnError::kSkip;
  options.ablation = AblationOf(loader.ablation);
  ASSIGN_OR_RETURN(const NativeSettings settings,
                   ParseNativeSettings(loader.settings));
  options.read_ahead = settings.read_ahead;
  options.recipe.scaled_decode = settings.scaled_decode;
  return options;
}

namespace {

absl::StatusOr<std::unique_ptr<Source>> StoreSource(
    const LoaderSpec& spec, const NativeSettings& settings,
    const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(StoreSpec store, ParseStoreSpec(spec.store));
  if (settings.connections > 0) {
    store.options.connections = settings.connections;
  }
  if (settings.range_bytes > 0) {
    store.options.range_bytes = settings.range_bytes;
  }
  return OpenRemoteSource(store, files);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> NativeSource(const LoaderSpec& spec,
                                                     const LoaderInput& input) {
  ASSIGN_OR_RETURN(const NativeSettings settings,
                   ParseNativeSettings(spec.settings));
  if (spec.source == "objects") {
    return StoreSource(spec, settings, input.files);
  }
  if (settings.connections > 0 || settings.range_bytes > 0) {
    return absl::InvalidArgumentError(
        "connections and range_bytes are settings of a store; name one with "
        "--dataset=s3://… or another address");
  }
  if (spec.source == "corpus") {
    if (input.corpus == nullptr) {
      return absl::InvalidArgumentError("a corpus was to be sent, and was not");
    }
    return MemorySource(*input.corpus);
  }
  if (spec.source == "shards") {
    std::vector<std::string> shards;
    for (const SourceFile& file : input.files) shards.push_back(file.path);
    return ShardSource(shards);
  }
  std::vector<ListedFile> files;
  files.reserve(input.files.size());
  for (const SourceFile& file : input.files) {
    files.push_back({file.path, file.bytes});
  }
  return ListSource(std::move(files), settings.access);
}

}  // namespace feedrate
