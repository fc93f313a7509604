#include "lib/worker/loader_message.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/json_line.h"

namespace feedrate {
namespace {

absl::Status CheckWord(absl::string_view field, absl::string_view word,
                       const std::vector<absl::string_view>& known) {
  for (const absl::string_view item : known) {
    if (item == word) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("loader: ", field, " \"", word, "\" is unknown"));
}

absl::Status CheckNumbers(const LoaderSpec& spec) {
  if (spec.batch_size < 1 || spec.workers < 0 || spec.prefetch < 1 ||
      spec.channels < 1 || spec.crop < 1 || !(spec.input_scale > 0)) {
    return absl::InvalidArgumentError(
        "loader: needs batch_size, prefetch, channels and crop of at least 1, "
        "workers of at least 0, and an input_scale above 0");
  }
  bool divides = !spec.std.empty() && spec.mean.size() == spec.std.size();
  for (const double value : spec.std) divides = divides && value > 0;
  if (divides) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "loader: mean and std need one entry for each channel that they name, "
      "std above 0");
}

std::string MapJson(const std::map<std::string, std::string>& values) {
  JsonLine line;
  for (const auto& [name, value] : values) line.Text(name, value);
  return line.Object();
}

}  // namespace

absl::Status CheckLoaderSpec(const LoaderSpec& spec) {
  RETURN_IF_ERROR(
      CheckWord("scope", spec.scope, {kMemoryScope, kDecodeScope, kCopyScope}));
  RETURN_IF_ERROR(CheckWord("source", spec.source,
                            {"corpus", "files", "shards", "objects"}));
  RETURN_IF_ERROR(
      CheckWord("crop_position", spec.crop_position, {"random", "center"}));
  RETURN_IF_ERROR(CheckWord("batch_transform", spec.batch_transform,
                            {"", "mixup", "cutmix"}));
  RETURN_IF_ERROR(CheckWord("on_error", spec.on_error, {"skip", "fail"}));
  RETURN_IF_ERROR(CheckWord(
      "ablation", spec.ablation,
      {"", "no_augment", "no_decode", "cached_batch", kDeviceLimits}));
  return CheckNumbers(spec);
}

std::string LoaderSpecJson(const LoaderSpec& spec) {
  JsonLine line;
  line.Text("scope", spec.scope)
      .Text("source", spec.source)
      .Int("batch_size", spec.batch_size)
      .Int("workers", spec.workers)
      .Int("prefetch", spec.prefetch)
      .Bool("persistent", spec.persistent)
      .Bool("pin_memory", spec.pin_memory)
      .Bool("drop_last", spec.drop_last)
      .Bool("shuffle", spec.shuffle)
      .Int("channels", spec.channels)
      .Int("crop", spec.crop)
      .Bool("is_crop", spec.is_crop)
      .Text("crop_position", spec.crop_position)
      .Doubles("mean", spec.mean)
      .Doubles("std", spec.std)
      .Double("input_scale", spec.input_scale)
      .Text("batch_transform", spec.batch_transform)
      .Text("on_error", spec.on_error)
      .Text("ablation", spec.ablation);
  if (!spec.settings.empty()) line.Raw("settings", MapJson(spec.settings));
  if (!spec.store.empty()) line.Raw("store", MapJson(spec.store));
  return line.Object();
}

absl::Status ReadLoaderSpec(const JsonFields& json, LoaderSpec* spec) {
  RETURN_IF_ERROR(json.Read("scope", &spec->scope));
  RETURN_IF_ERROR(json.Read("source", &spec->source));
  RETURN_IF_ERROR(json.Read("batch_size", &spec->batch_size));
  RETURN_IF_ERROR(json.Read("workers", &spec->workers));
  RETURN_IF_ERROR(json.Read("prefetch", &spec->prefetch));
  RETURN_IF_ERROR(json.Read("persistent", &spec->persistent));
  RETURN_IF_ERROR(json.Read("pin_memory", &spec->pin_memory));
  RETURN_IF_ERROR(json.Read("drop_last", &spec->drop_last));
  RETURN_IF_ERROR(json.Read("shuffle", &spec->shuffle));
  RETURN_IF_ERROR(json.Read("channels", &spec->channels));
  RETURN_IF_ERROR(json.Read("crop", &spec->crop));
  RETURN_IF_ERROR(json.Read("is_crop", &spec->is_crop));
  RETURN_IF_ERROR(json.Read("crop_position", &spec->crop_position));
  RETURN_IF_ERROR(json.ReadList("mean", &spec->mean));
  RETURN_IF_ERROR(json.ReadList("std", &spec->std));
  RETURN_IF_ERROR(json.Read("input_scale", &spec->input_scale));
  RETURN_IF_ERROR(json.Read("batch_transform", &spec->batch_transform));
  RETURN_IF_ERROR(json.Read("on_error", &spec->on_error));
  RETURN_IF_ERROR(json.Read("ablation", &spec->ablation));
  if (json.Has("settings")) {
    RETURN_IF_ERROR(json.ReadMap("settings", &spec->settings));
  }
  if (!json.Has("store")) return absl::OkStatus();
  return json.ReadMap("store", &spec->store);
}

std::string EpochLine(const EpochCommand& command) {
  return JsonLine()
      .Text("op", "epoch")
      .Unsigned("seed", command.seed)
      .Int("first", command.first)
      .Int("count", command.count)
      .Double("limit_s", command.limit_s)
      .Double("consumer_s", command.consumer_s)
      .Line();
}

absl::Status ReadEpoch(const JsonFields& json, EpochCommand* command) {
  RETURN_IF_ERROR(json.Read("seed", &command->seed));
  RETURN_IF_ERROR(json.Read("first", &command->first));
  RETURN_IF_ERROR(json.Read("count", &command->count));
  RETURN_IF_ERROR(json.Read("limit_s", &command->limit_s));
  return json.Read("consumer_s", &command->consumer_s);
}

absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  EpochReply reply;
  RETURN_IF_ERROR(json.ReadMessage(&reply));
  if (reply.has_gpu_reserved_bytes() && !reply.has_gpu_allocated_bytes()) {
    return json.Missing("gpu_allocated_bytes");
  }
  if (reply.counts_size() != reply.times_s_size()) {
    return json.Missing("counts");
  }
  for (const BatchCounts& batch : reply.counts()) {
    if (batch.list_size() % 2 != 0) return json.Missing("counts");
  }
  return reply;
}

namespace {

constexpr char kList[] = "list of data sets";

absl::Status AtLeast(absl::string_view field, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "mixture: ", field, " is ", value, "; use at least ", least));
}

absl::Status CheckFrame(absl::string_view field, int size) {
  if (size >= 16 && size % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "mixture: ", field, " is ", size, "; use an even number from 16 on"));
}

}  // namespace

absl::Status CheckMixtureSpec(const MixtureSpec& spec) {
  RETURN_IF_ERROR(AtLeast("batch_size", spec.batch_size, 1));
  RETURN_IF_ERROR(AtLeast("read_interleave", spec.read_interleave, 1));
  RETURN_IF_ERROR(AtLeast("decode_parallelism", spec.decode_parallelism, 0));
  RETURN_IF_ERROR(AtLeast("pipeline_interleave", spec.pipeline_interleave, 1));
  RETURN_IF_ERROR(AtLeast("mix_block_length", spec.mix_block_length, 1));
  RETURN_IF_ERROR(AtLeast("shuffle_buffer", spec.shuffle_buffer, 1));
  RETURN_IF_ERROR(AtLeast("queue_depth", spec.queue_depth, 1));
  RETURN_IF_ERROR(AtLeast("samples_per_episode", spec.samples_per_episode, 0));
  RETURN_IF_ERROR(AtLeast("pair_offset", spec.pair_offset, 1));
  RETURN_IF_ERROR(AtLeast("prime_each_dataset_samples",
                          spec.prime_each_dataset_samples, 0));
  RETURN_IF_ERROR(CheckFrame("frame_height", spec.frame_height));
  RETURN_IF_ERROR(CheckFrame("frame_width", spec.frame_width));
  if (spec.metadata != "none" && spec.metadata != "dataset_only" &&
      spec.metadata != "full") {
    return absl::InvalidArgumentError(
        absl::StrCat("mixture: metadata \"", spec.metadata,
                     "\" is unknown; use none, dataset_only or full"));
  }
  if (spec.on_error == "fail" || spec.on_error == "skip") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mixture: on_error \"", spec.on_error,
                   "\" is unknown; use fail or skip"));
}

std::string MixtureSpecJson(const MixtureSpec& spec) {
  return JsonLine()
      .Int("batch_size", spec.batch_size)
      .Int("read_interleave", spec.read_interleave)
      .Int("decode_parallelism", spec.decode_parallelism)
      .Int("pipeline_interleave", spec.pipeline_interleave)
      .Int("mix_block_length", spec.mix_block_length)
      .Int("shuffle_buffer", spec.shuffle_buffer)
      .Int("queue_depth", spec.queue_depth)
      .Int("samples_per_episode", spec.samples_per_episode)
      .Int("pair_offset", spec.pair_offset)
      .Text("metadata", spec.metadata)
      .Int("prime_each_dataset_samples", spec.prime_each_dataset_samples)
      .Int("frame_height", spec.frame_height)
      .Int("frame_width", spec.frame_width)
      .Text("on_error", spec.on_error)
      .Object();
}

absl::Status ReadMixtureSpec(const JsonFields& json, MixtureSpec* spec) {
  RETURN_IF_ERROR(json.Read("batch_size", &spec->batch_size));
  RETURN_IF_ERROR(json.Read("read_interleave", &spec->read_interleave));
  RETURN_IF_ERROR(json.Read("decode_parallelism", &spec->decode_parallelism));
  RETURN_IF_ERROR(json.Read("pipeline_interleave", &spec->pipeline_interleave));
  RETURN_IF_ERROR(json.Read("mix_block_length", &spec->mix_block_length));
  RETURN_IF_ERROR(json.Read("shuffle_buffer", &spec->shuffle_buffer));
  RETURN_IF_ERROR(json.Read("queue_depth", &spec->queue_depth));
  RETURN_IF_ERROR(json.Read("samples_per_episode", &spec->samples_per_episode));
  RETURN_IF_ERROR(json.Read("pair_offset", &spec->pair_offset));
  RETURN_IF_ERROR(json.Read("metadata", &spec->metadata));
  RETURN_IF_ERROR(json.Read("prime_each_dataset_samples",
                            &spec->prime_each_dataset_samples));
  RETURN_IF_ERROR(json.Read("frame_height", &spec->frame_height));
  RETURN_IF_ERROR(json.Read("frame_width", &spec->frame_width));
  return json.Read("on_error", &spec->on_error);
}

absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources) {
  std::string text;
  for (const MixtureSource& source : sources) {
    absl::StrAppend(&text, JsonLine()
                               .Text("name", source.name)
                               .Double("weight", source.weight)
                               .Texts("shards", source.shards)
                               .Line());
  }
  return WriteMemoryFile(text, kList);
}

absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadMemoryFile(fd, kList));
  std::vector<MixtureSource> sources;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    JsonObject json;
    MixtureSource& source = sources.emplace_back();
    absl::Status read = json.Open(line);
    if (read.ok()) read = json.Read("name", &source.name);
    if (read.ok()) read = json.Read("weight", &source.weight);
    if (read.ok()) read = json.ReadList("shards", &source.shards);
    if (read.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", sources.size(), " of the ", kList, ": ", read.message()));
  }
  if (!sources.empty()) return sources;
  return absl::InvalidArgumentError(absl::StrCat("the ", kList, " is empty"));
}

std::string StopLine() { return JsonLine().Text("op", "stop").Line(); }

absl::StatusOr<StopReply> ParseStopReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  StopReply reply;
  RETURN_IF_ERROR(json.ReadMessage(&reply));
  return reply;
}

}  // namespace feedrate
