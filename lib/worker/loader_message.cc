#include "lib/worker/loader_message.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
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

std::string StorageJson(const StorageCounts& counts) {
  return JsonLine()
      .Int("requests", counts.requests)
      .Int("bytes", counts.bytes)
      .Int("retries", counts.retries)
      .Int("checksum_faults", counts.checksum_faults)
      .Double("busy_s", counts.busy_s)
      .Int("cache_hits", counts.cache_hits)
      .Int("cache_misses", counts.cache_misses)
      .Int("cache_bad_entries", counts.cache_bad_entries)
      .Int("cache_write_failures", counts.cache_write_failures)
      .Object();
}

absl::Status ReadStorage(const JsonFields& json, StorageCounts* counts) {
  JsonFields from;
  RETURN_IF_ERROR(json.ReadObject("storage", &from));
  RETURN_IF_ERROR(from.ReadAmount("requests", &counts->requests));
  RETURN_IF_ERROR(from.ReadAmount("bytes", &counts->bytes));
  RETURN_IF_ERROR(from.ReadAmount("retries", &counts->retries));
  RETURN_IF_ERROR(from.ReadAmount("checksum_faults", &counts->checksum_faults));
  RETURN_IF_ERROR(from.ReadAmount("busy_s", &counts->busy_s));
  RETURN_IF_ERROR(from.ReadAmount("cache_hits", &counts->cache_hits));
  RETURN_IF_ERROR(from.ReadAmount("cache_misses", &counts->cache_misses));
  RETURN_IF_ERROR(
      from.ReadAmount("cache_bad_entries", &counts->cache_bad_entries));
  return from.ReadAmount("cache_write_failures", &counts->cache_write_failures);
}

absl::Status ReadLimits(const JsonFields& json, DeviceLimits* limits) {
  JsonFields from;
  RETURN_IF_ERROR(json.ReadObject("device_limits", &from));
  RETURN_IF_ERROR(
      from.ReadAmount("engine_items_per_s", &limits->engine_items_per_s));
  return from.ReadAmount("copy_bytes_per_s", &limits->copy_bytes_per_s);
}

std::string StagesJson(const std::vector<StageTimes>& stages) {
  std::string text = "[";
  for (const StageTimes& stage : stages) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "",
                    JsonLine()
                        .Text("name", stage.name)
                        .Double("busy_s", stage.busy_s)
                        .Double("wait_in_s", stage.wait_in_s)
                        .Double("wait_out_s", stage.wait_out_s)
                        .Double("queue_fill", stage.queue_fill)
                        .Object());
  }
  return absl::StrCat(text, "]");
}

std::string ErrorsJson(const std::vector<LoaderError>& errors) {
  std::string text = "[";
  for (const LoaderError& error : errors) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "",
                    JsonLine()
                        .Int("item", error.item)
                        .Text("path", error.path)
                        .Text("reason", error.reason)
                        .Object());
  }
  return absl::StrCat(text, "]");
}

std::string CountsJson(const std::vector<std::vector<int64_t>>& counts) {
  std::string text = "[";
  for (const std::vector<int64_t>& batch : counts) {
    absl::StrAppend(&text, text.size() > 1 ? ",[" : "[",
                    absl::StrJoin(batch, ","), "]");
  }
  return absl::StrCat(text, "]");
}

absl::Status ReadMixturePart(const JsonFields& json, EpochReply* reply) {
  RETURN_IF_ERROR(json.ReadList("times_s", &reply->times_s));
  for (const double time : reply->times_s) {
    if (!(time >= 0)) return json.Missing("times_s");
  }
  RETURN_IF_ERROR(json.ReadLists("counts", &reply->counts));
  if (reply->counts.size() != reply->times_s.size()) {
    return json.Missing("counts");
  }
  for (const std::vector<int64_t>& batch : reply->counts) {
    if (batch.size() % 2 != 0) return json.Missing("counts");
    for (const int64_t number : batch) {
      if (number < 0) return json.Missing("counts");
    }
  }
  if (json.Has("left_out")) {
    RETURN_IF_ERROR(json.ReadList("left_out", &reply->left_out));
  }
  if (!json.Has("memory_bound_bytes")) return absl::OkStatus();
  return json.ReadAmount("memory_bound_bytes", &reply->memory_bound_bytes);
}

absl::Status ReadStages(const JsonFields& json,
                        std::vector<StageTimes>* stages) {
  std::vector<JsonFields> objects;
  RETURN_IF_ERROR(json.ReadObjects("stages", &objects));
  for (const JsonFields& from : objects) {
    StageTimes& stage = stages->emplace_back();
    RETURN_IF_ERROR(from.Read("name", &stage.name));
    RETURN_IF_ERROR(from.ReadAmount("busy_s", &stage.busy_s));
    RETURN_IF_ERROR(from.ReadAmount("wait_in_s", &stage.wait_in_s));
    RETURN_IF_ERROR(from.ReadAmount("wait_out_s", &stage.wait_out_s));
    RETURN_IF_ERROR(from.ReadAmount("queue_fill", &stage.queue_fill));
  }
  return absl::OkStatus();
}

absl::Status ReadErrors(const JsonFields& json,
                        std::vector<LoaderError>* errors) {
  std::vector<JsonFields> objects;
  RETURN_IF_ERROR(json.ReadObjects("errors", &objects));
  for (const JsonFields& from : objects) {
    LoaderError& error = errors->emplace_back();
    RETURN_IF_ERROR(from.Read("item", &error.item));
    RETURN_IF_ERROR(from.Read("path", &error.path));
    RETURN_IF_ERROR(from.Read("reason", &error.reason));
  }
  return absl::OkStatus();
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

std::string EpochReplyLine(const EpochReply& reply) {
  JsonLine line;
  line.Int("items", reply.items)
      .Int("batches", reply.batches)
      .Double("elapsed_s", reply.elapsed_s)
      .Double("startup_s", reply.startup_s)
      .Double("first_batch_s", reply.first_batch_s)
      .Double("teardown_s", reply.teardown_s)
      .Doubles("samples_s", reply.samples_s)
      .Double("consumer_s", reply.consumer_s)
      .Double("cpu_s", reply.cpu_s)
      .Raw("stages", StagesJson(reply.stages))
      .Raw("errors", ErrorsJson(reply.errors))
      .Int("errors_total", reply.errors_total)
      .Int("bytes_out", reply.bytes_out);
  if (reply.gpu_reserved_bytes > 0) {
    line.Int("gpu_allocated_bytes", reply.gpu_allocated_bytes)
        .Int("gpu_reserved_bytes", reply.gpu_reserved_bytes);
  }
  if (reply.cpu_frames > 0) line.Int("cpu_frames", reply.cpu_frames);
  if (reply.device_limits.has_value()) {
    line.Raw(
        "device_limits",
        JsonLine()
            .Double("engine_items_per_s",
                    reply.device_limits->engine_items_per_s)
            .Double("copy_bytes_per_s", reply.device_limits->copy_bytes_per_s)
            .Object());
  }
  if (reply.storage.has_value()) {
    line.Raw("storage", StorageJson(*reply.storage));
  }
  if (!reply.times_s.empty()) {
    line.Doubles("times_s", reply.times_s)
        .Raw("counts", CountsJson(reply.counts))
        .Texts("left_out", reply.left_out)
        .Int("memory_bound_bytes", reply.memory_bound_bytes);
  }
  return line.Line();
}

absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  EpochReply reply;
  RETURN_IF_ERROR(json.ReadAmount("items", &reply.items));
  RETURN_IF_ERROR(json.ReadAmount("batches", &reply.batches));
  RETURN_IF_ERROR(json.ReadAmount("elapsed_s", &reply.elapsed_s));
  RETURN_IF_ERROR(json.ReadAmount("startup_s", &reply.startup_s));
  RETURN_IF_ERROR(json.ReadAmount("first_batch_s", &reply.first_batch_s));
  RETURN_IF_ERROR(json.ReadAmount("teardown_s", &reply.teardown_s));
  RETURN_IF_ERROR(json.ReadList("samples_s", &reply.samples_s));
  for (const double sample : reply.samples_s) {
    if (!(sample >= 0)) return json.Missing("samples_s");
  }
  RETURN_IF_ERROR(json.ReadAmount("consumer_s", &reply.consumer_s));
  RETURN_IF_ERROR(json.ReadAmount("cpu_s", &reply.cpu_s));
  RETURN_IF_ERROR(ReadStages(json, &reply.stages));
  RETURN_IF_ERROR(ReadErrors(json, &reply.errors));
  RETURN_IF_ERROR(json.ReadAmount("errors_total", &reply.errors_total));
  RETURN_IF_ERROR(json.ReadAmount("bytes_out", &reply.bytes_out));
  if (json.Has("gpu_reserved_bytes")) {
    RETURN_IF_ERROR(
        json.ReadAmount("gpu_allocated_bytes", &reply.gpu_allocated_bytes));
    RETURN_IF_ERROR(
        json.ReadAmount("gpu_reserved_bytes", &reply.gpu_reserved_bytes));
  }
  if (json.Has("cpu_frames")) {
    RETURN_IF_ERROR(json.ReadAmount("cpu_frames", &reply.cpu_frames));
  }
  if (json.Has("device_limits")) {
    RETURN_IF_ERROR(ReadLimits(json, &reply.device_limits.emplace()));
  }
  if (json.Has("storage")) {
    RETURN_IF_ERROR(ReadStorage(json, &reply.storage.emplace()));
  }
  if (json.Has("times_s")) RETURN_IF_ERROR(ReadMixturePart(json, &reply));
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

std::string StopReplyLine(const StopReply& reply) {
  return JsonLine().Double("teardown_s", reply.teardown_s).Line();
}

absl::StatusOr<StopReply> ParseStopReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  StopReply reply;
  RETURN_IF_ERROR(json.ReadAmount("teardown_s", &reply.teardown_s));
  return reply;
}

}  // namespace feedrate
