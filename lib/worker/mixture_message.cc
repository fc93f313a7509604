#include "lib/worker/mixture_message.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/json_line.h"
#include "lib/worker/json_object.h"
#include "lib/worker/memory_file.h"
#include "lib/worker/mixture_message_json.h"

namespace feedrate {
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
