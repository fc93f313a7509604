#include "lib/worker/message.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/message.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/records/json.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/json_line.h"

namespace feedrate {

// The fields of each message, in order.

template <typename Fields>
void VisitFields(Fields& fields, LoaderSpec& spec) {
  fields("scope", spec.scope);
  fields("source", spec.source);
  fields("batch_size", spec.batch_size);
  fields("workers", spec.workers);
  fields("prefetch", spec.prefetch);
  fields("persistent", spec.persistent);
  fields("pin_memory", spec.pin_memory);
  fields("drop_last", spec.drop_last);
  fields("shuffle", spec.shuffle);
  fields.If(spec.ranks > 1, "rank", spec.rank);
  fields.If(spec.ranks > 1, "ranks", spec.ranks);
  fields("channels", spec.channels);
  fields("crop", spec.crop);
  fields("is_crop", spec.is_crop);
  fields("crop_position", spec.crop_position);
  fields("mean", spec.mean);
  fields("std", spec.std);
  fields("input_scale", spec.input_scale);
  fields("batch_transform", spec.batch_transform);
  fields("on_error", spec.on_error);
  fields("ablation", spec.ablation);
  fields.If(!spec.settings.empty(), "settings", spec.settings);
  fields.If(!spec.store.empty(), "store", spec.store);
}

template <typename Fields>
void VisitFields(Fields& fields, MixtureSpec& spec) {
  fields("batch_size", spec.batch_size);
  fields("read_interleave", spec.read_interleave);
  fields("decode_parallelism", spec.decode_parallelism);
  fields("pipeline_interleave", spec.pipeline_interleave);
  fields("mix_block_length", spec.mix_block_length);
  fields("shuffle_buffer", spec.shuffle_buffer);
  fields("queue_depth", spec.queue_depth);
  fields("samples_per_episode", spec.samples_per_episode);
  fields("pair_offset", spec.pair_offset);
  fields("metadata", spec.metadata);
  fields("prime_each_dataset_samples", spec.prime_each_dataset_samples);
  fields("action_chunk", spec.action_chunk);
  fields("frame_height", spec.frame_height);
  fields("frame_width", spec.frame_width);
  fields("on_error", spec.on_error);
}

template <typename Fields>
void VisitFields(Fields& fields, MixtureSource& source) {
  fields("name", source.name);
  fields("weight", source.weight);
  fields("shards", source.shards);
  fields("image", source.image);
  fields("action", source.action);
  fields("state", source.state);
  fields("instruction", source.instruction);
  fields("episode_id", source.episode_id);
}

template <typename Fields>
void VisitFields(Fields& fields, DecodeSpec& spec) {
  fields("threads", spec.threads);
}

template <typename Fields>
void VisitFields(Fields& fields, Hello& hello) {
  fields("pid", hello.pid);
  fields("versions", hello.versions);
  fields("import_s", hello.import_s);
}

template <typename Fields>
void VisitFields(Fields& fields, ChildInfo& child) {
  fields("pid", child.pid);
  fields("status", child.status);
  fields("max_rss", child.max_rss);
}

template <typename Fields>
void VisitFields(Fields& fields, PrepareCommand& command) {
  fields("library", command.library);
  fields("transform", command.transform);
  fields("native_op", command.native_op);
  fields("params", command.params);
  fields("wrap", command.wrap);
  fields("scenario", command.scenario);
  fields("device", command.device);
  fields("seed", command.seed);
  fields.If(command.opencv_threads >= 0, "opencv_threads",
            command.opencv_threads);
  fields("opencv_opencl", command.opencv_opencl);
  fields.If(command.torch_intra_op >= 0, "torch_intra_op",
            command.torch_intra_op);
  fields.If(command.torch_inter_op >= 0, "torch_inter_op",
            command.torch_inter_op);
  fields.If(command.batch > 0, "batch", command.batch);
  fields("loader", command.loader);
  fields("decode", command.decode);
  fields("mixture", command.mixture);
}

template <typename Fields>
void VisitFields(Fields& fields, TimeCommand& command) {
  fields("first", command.first);
  fields("count", command.count);
  fields("chunk", command.chunk);
  fields("limit_s", command.limit_s);
  fields("seed", command.seed);
  fields.If(command.cold, "cold", command.cold);
}

template <typename Fields>
void VisitFields(Fields& fields, EpochCommand& command) {
  fields("seed", command.seed);
  fields("first", command.first);
  fields("count", command.count);
  fields("limit_s", command.limit_s);
  fields("consumer_s", command.consumer_s);
  fields.If(command.ids, "ids", command.ids);
  fields.If(command.epoch > 0, "epoch", command.epoch);
  fields.If(command.batches > 0, "batches", command.batches);
  fields.If(!command.state.empty(), "state", command.state);
}

template <typename Fields>
void VisitFields(Fields& fields, OutputCommand& command) {
  fields("indexes", command.indexes);
  fields("seed", command.seed);
}

template <typename Fields>
void VisitFields(Fields& fields, OutputItem& item) {
  fields("offset", item.offset);
  fields("bytes", item.bytes);
  fields("dtype", item.dtype);
  fields("layout", item.layout);
  fields("shape", item.shape);
}

namespace {

template <typename Command>
std::string CommandLine(const char* op, const Command& command) {
  JsonLine line;
  line.Add("op", op);
  return AddFields(command, &line).Line();
}

template <typename Reply>
absl::StatusOr<Reply> ParseReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  Reply reply;
  RETURN_IF_ERROR(json.ReadMessage(&reply));
  return reply;
}

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
      spec.channels < 1 || spec.crop < 1 || !(spec.input_scale > 0) ||
      spec.rank < 0 || spec.rank >= spec.ranks) {
    return absl::InvalidArgumentError(
        "loader: needs batch_size, prefetch, channels and crop of at least 1, "
        "workers of at least 0, a rank from 0 to ranks - 1, and an input_scale "
        "above 0");
  }
  bool divides = !spec.std.empty() && spec.mean.size() == spec.std.size();
  for (const double value : spec.std) divides = divides && value > 0;
  if (divides) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "loader: mean and std need one entry for each channel that they name, "
      "std above 0");
}

constexpr char kList[] = "list of data sets";

}  // namespace

std::string HelloLine(const Hello& hello) {
  JsonLine line;
  line.Add("hello", 1);
  return AddFields(hello, &line).Line();
}

std::string ControlRequestLine(const ControlRequest& request) {
  if (request.op == ControlRequest::Op::kReap) {
    return JsonLine().Add("op", "reap").Add("pid", request.pid).Line();
  }
  return JsonLine().Add("op", "spawn").Add("library", request.library).Line();
}

std::string SpawnedLine(int64_t pid) {
  return JsonLine().Add("pid", pid).Line();
}

std::string ReapedLine(const ChildInfo& child) {
  JsonLine line;
  return AddFields(child, &line).Line();
}

std::string PrepareLine(const PrepareCommand& command) {
  return CommandLine("prepare", command);
}

std::string TimeLine(const TimeCommand& command) {
  return CommandLine("time", command);
}

std::string EpochLine(const EpochCommand& command) {
  return CommandLine("epoch", command);
}

std::string OutputLine(const OutputCommand& command) {
  return CommandLine("output", command);
}

std::string StopLine() { return JsonLine().Add("op", "stop").Line(); }

std::string OutputReplyLine(const OutputReply& reply) {
  std::string outputs = "[";
  for (const OutputItem& item : reply.outputs) {
    JsonLine line;
    absl::StrAppend(&outputs, outputs.size() > 1 ? "," : "",
                    AddFields(item, &line).Object());
  }
  return JsonLine()
      .Add("fd", reply.fd)
      .Raw("outputs", absl::StrCat(outputs, "]"))
      .Line();
}

std::string ReplyLine(const google::protobuf::Message& reply) {
  std::string line;
  AppendJson(reply, &line);
  line.push_back('\n');
  return line;
}

std::string ErrorLine(absl::string_view error, absl::string_view traceback) {
  JsonLine line;
  line.Add("error", error);
  if (!traceback.empty()) line.Add("traceback", traceback);
  return line.Line();
}

absl::StatusOr<Hello> ParseHello(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  Hello hello;
  RETURN_IF_ERROR(ReadFields(json, &hello));
  return hello;
}

absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  ControlRequest request;
  std::string op;
  RETURN_IF_ERROR(json.Read("op", &op));
  if (op == "spawn") {
    RETURN_IF_ERROR(json.Read("library", &request.library));
    return request;
  }
  if (op != "reap") return json.Missing("op");
  request.op = ControlRequest::Op::kReap;
  RETURN_IF_ERROR(json.Read("pid", &request.pid));
  return request;
}

absl::StatusOr<ChildInfo> ParseChildInfo(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  ChildInfo child;
  RETURN_IF_ERROR(json.Has("status") ? ReadFields(json, &child)
                                     : json.Read("pid", &child.pid));
  return child;
}

absl::StatusOr<PrepareReply> ParsePrepareReply(absl::string_view line) {
  return ParseReply<PrepareReply>(line);
}

absl::StatusOr<StopReply> ParseStopReply(absl::string_view line) {
  return ParseReply<StopReply>(line);
}

absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  TimeReply reply;
  RETURN_IF_ERROR(json.ReadMessage(&reply));
  // There is one clock per sample, or none.
  const int clocks = reply.device().clocks_mhz_size();
  if (clocks > 0 && clocks != reply.samples_s_size()) {
    return json.Missing("clocks_mhz");
  }
  return reply;
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

absl::StatusOr<OutputReply> ParseOutputReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  OutputReply reply;
  RETURN_IF_ERROR(json.Read("fd", &reply.fd));
  std::vector<JsonFields> outputs;
  RETURN_IF_ERROR(json.ReadObjects("outputs", &outputs));
  for (const JsonFields& from : outputs) {
    RETURN_IF_ERROR(ReadFields(from, &reply.outputs.emplace_back()));
  }
  return reply;
}

absl::StatusOr<ChildCommand> ParseChildCommand(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  ChildCommand command;
  std::string op;
  RETURN_IF_ERROR(json.Read("op", &op));
  if (op == "prepare") {
    RETURN_IF_ERROR(ReadFields(json, &command.prepare));
    if (command.prepare.batch < 0) return json.Missing("batch");
  } else if (op == "time") {
    command.op = ChildCommand::Op::kTime;
    RETURN_IF_ERROR(ReadFields(json, &command.time));
  } else if (op == "epoch") {
    command.op = ChildCommand::Op::kEpoch;
    RETURN_IF_ERROR(ReadFields(json, &command.epoch));
  } else if (op == "output") {
    command.op = ChildCommand::Op::kOutput;
    RETURN_IF_ERROR(ReadFields(json, &command.output));
  } else if (op == "stop") {
    command.op = ChildCommand::Op::kStop;
  } else {
    return json.Missing("op");
  }
  return command;
}

absl::Status CheckLoaderSpec(const LoaderSpec& spec) {
  RETURN_IF_ERROR(
      CheckWord("scope", spec.scope, {kMemoryScope, kDecodeScope, kCopyScope}));
  RETURN_IF_ERROR(CheckWord(
      "source", spec.source,
      {"corpus", "files", "shards", "tfrecord", "parquet", "lmdb", "objects"}));
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

absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources) {
  std::string text;
  for (const MixtureSource& source : sources) {
    JsonLine line;
    absl::StrAppend(&text, AddFields(source, &line).Line());
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
    if (read.ok()) read = ReadFields(json, &source);
    if (read.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", sources.size(), " of the ", kList, ": ", read.message()));
  }
  if (!sources.empty()) return sources;
  return absl::InvalidArgumentError(absl::StrCat("the ", kList, " is empty"));
}

}  // namespace feedrate
