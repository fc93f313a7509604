#include "lib/worker/message.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/records/json.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::simdjson::dom::object;

// Enough to recognize what was written instead.
constexpr size_t kShown = 80;

std::string Shown(absl::string_view line) {
  return absl::StrCat("\"", absl::CHexEscape(line.substr(0, kShown)),
                      line.size() > kShown ? "…\"" : "\"");
}

// Returns the text of an exception without its type: `c10::Error: …`,
// `ValueError: …`.
absl::string_view WordsOf(absl::string_view error) {
  const size_t end = error.find(": ");
  if (end == absl::string_view::npos) return error;
  for (const char c : error.substr(0, end)) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != ':') return error;
  }
  // `CUDA: …` is not a type.
  return absl::StartsWith(error, "CUDA") ? error : error.substr(end + 2);
}

// Whether a GPU ran out of memory, as reported by CUDA, libraries on top of it,
// or CV-CUDA.
bool SaysGpuOutOfMemory(absl::string_view error) {
  const absl::string_view words =
      absl::StripLeadingAsciiWhitespace(WordsOf(error));
  const absl::string_view line = words.substr(0, words.find('\n'));
  if (absl::StartsWith(line, "CUDA") &&
      absl::StrContains(line, "out of memory")) {
    return true;
  }
  for (const absl::string_view code :
       {"CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
        "NVCV_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"}) {
    if (absl::StrContains(line, code)) return true;
  }
  return false;
}

bool SaysOutOfMemory(absl::string_view error) {
  for (const absl::string_view start :
       {"MemoryError", "std::bad_alloc", "OutOfMemoryError",
        "c10::OutOfMemoryError"}) {
    if (absl::StartsWith(error, start)) return true;
  }
  return SaysGpuOutOfMemory(error);
}

absl::Status Missing(std::string_view name, absl::string_view line) {
  return absl::DataLossError(absl::StrCat(
      "answered without a usable \"", std::string(name), "\": ", Shown(line)));
}

// Parses the object of a line, which `parser` owns. An answer {"error":"…"} is
// an error.
absl::StatusOr<object> Open(absl::string_view line,
                            simdjson::dom::parser* parser) {
  object found;
  if (parser->parse(line.data(), line.size()).get(found) != simdjson::SUCCESS) {
    return absl::DataLossError(
        absl::StrCat("wrote garbage instead of an answer: ", Shown(line)));
  }
  std::string_view error;
  if (found["error"].get(error) != simdjson::SUCCESS) return found;
  const std::string text(error);
  return SaysOutOfMemory(text) ? absl::ResourceExhaustedError(text)
                               : absl::UnknownError(text);
}

// Reads {"op":"time",…} into the field `time` of `command`.
absl::Status ParseCommand(absl::string_view line, Message* command) {
  simdjson::dom::parser parser;
  ASSIGN_OR_RETURN(const object json, Open(line, &parser));
  std::string_view op;
  const FieldDescriptor* const field =
      json["op"].get(op) == simdjson::SUCCESS
          ? command->GetDescriptor()->FindFieldByName(std::string(op))
          : nullptr;
  if (field == nullptr) return Missing("op", line);
  const std::string wrong = ReadUntrusted(
      json, command->GetReflection()->MutableMessage(command, field));
  return wrong.empty() ? absl::OkStatus() : Missing(wrong, line);
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
  if (spec.batch_size() < 1 || spec.workers() < 0 || spec.prefetch() < 1 ||
      spec.channels() < 1 || spec.crop() < 1 || !(spec.input_scale() > 0) ||
      spec.rank() < 0 || spec.rank() >= RanksOf(spec)) {
    return absl::InvalidArgumentError(
        "loader: needs batch_size, prefetch, channels and crop of at least 1, "
        "workers of at least 0, a rank from 0 to ranks - 1, and an input_scale "
        "above 0");
  }
  bool divides = !spec.std().empty() && spec.mean_size() == spec.std_size();
  for (const double value : spec.std()) divides = divides && value > 0;
  if (divides) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "loader: mean and std need one entry for each channel that they name, "
      "std above 0");
}

constexpr char kList[] = "list of data sets";

}  // namespace

std::string ReplyLine(const Message& reply) {
  std::string line;
  AppendJson(reply, &line);
  line.push_back('\n');
  return line;
}

std::string CommandLine(const Message& command) {
  absl::string_view type = command.GetDescriptor()->name();
  absl::ConsumeSuffix(&type, "Command");
  std::string fields;
  AppendJson(command, &fields);
  return absl::StrCat("{\"op\":\"", absl::AsciiStrToLower(type), "\"",
                      fields == "{}" ? "" : ",",
                      absl::string_view(fields).substr(1), "\n");
}

std::string ErrorLine(absl::string_view error, absl::string_view traceback) {
  ErrorReply reply;
  reply.set_error(std::string(error));
  if (!traceback.empty()) reply.set_traceback(std::string(traceback));
  return ReplyLine(reply);
}

absl::Status ParseReplyLine(absl::string_view line, Message* reply) {
  simdjson::dom::parser parser;
  ASSIGN_OR_RETURN(const object json, Open(line, &parser));
  const std::string wrong = ReadUntrusted(json, reply);
  return wrong.empty() ? absl::OkStatus() : Missing(wrong, line);
}

absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line) {
  ASSIGN_OR_RETURN(TimeReply reply, ParseReply<TimeReply>(line));
  // There is one clock per sample, or none.
  const int clocks = reply.device().clocks_mhz_size();
  if (clocks > 0 && clocks != reply.samples_s_size()) {
    return Missing("clocks_mhz", line);
  }
  return reply;
}

absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line) {
  ASSIGN_OR_RETURN(EpochReply reply, ParseReply<EpochReply>(line));
  if (reply.has_gpu_reserved_bytes() && !reply.has_gpu_allocated_bytes()) {
    return Missing("gpu_allocated_bytes", line);
  }
  if (reply.counts_size() != reply.times_s_size()) {
    return Missing("counts", line);
  }
  for (const BatchCounts& batch : reply.counts()) {
    if (batch.list_size() % 2 != 0) return Missing("counts", line);
  }
  return reply;
}

absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line) {
  ControlRequest request;
  RETURN_IF_ERROR(ParseCommand(line, &request));
  return request;
}

absl::StatusOr<ChildCommand> ParseChildCommand(absl::string_view line) {
  ChildCommand command;
  RETURN_IF_ERROR(ParseCommand(line, &command));
  return command;
}

int RanksOf(const LoaderSpec& spec) {
  return spec.has_ranks() ? spec.ranks() : 1;
}

absl::Status CheckLoaderSpec(const LoaderSpec& spec) {
  RETURN_IF_ERROR(CheckWord("scope", spec.scope(),
                            {kMemoryScope, kDecodeScope, kCopyScope}));
  RETURN_IF_ERROR(CheckWord(
      "source", spec.source(),
      {"corpus", "files", "shards", "tfrecord", "parquet", "lmdb", "objects"}));
  RETURN_IF_ERROR(
      CheckWord("crop_position", spec.crop_position(), {"random", "center"}));
  RETURN_IF_ERROR(CheckWord("batch_transform", spec.batch_transform(),
                            {"", "mixup", "cutmix"}));
  RETURN_IF_ERROR(CheckWord("on_error", spec.on_error(), {"skip", "fail"}));
  RETURN_IF_ERROR(CheckWord(
      "ablation", spec.ablation(),
      {"", "no_augment", "no_decode", "cached_batch", kDeviceLimits}));
  return CheckNumbers(spec);
}

MixtureCommand CommandOf(const MixtureSpec& spec) {
  MixtureCommand command;
  command.set_batch_size(spec.batch_size);
  for (const MixtureNumber& number : MixtureNumbers()) {
    command.GetReflection()->SetInt32(
        &command, command.GetDescriptor()->FindFieldByName(number.name),
        spec.*number.field);
  }
  command.set_metadata(spec.metadata);
  command.set_frame_height(spec.frame_height);
  command.set_frame_width(spec.frame_width);
  command.set_on_error(spec.on_error);
  return command;
}

MixtureSpec SpecOf(const MixtureCommand& command) {
  MixtureSpec spec;
  spec.batch_size = command.batch_size();
  for (const MixtureNumber& number : MixtureNumbers()) {
    spec.*number.field = command.GetReflection()->GetInt32(
        command, command.GetDescriptor()->FindFieldByName(number.name));
  }
  spec.metadata = command.metadata();
  spec.frame_height = command.frame_height();
  spec.frame_width = command.frame_width();
  spec.on_error = command.on_error();
  return spec;
}

absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources) {
  std::string text;
  for (const MixtureSource& source : sources) {
    MixtureSourceLine line;
    line.set_name(source.name);
    line.set_weight(source.weight);
    *line.mutable_shards() = {source.shards.begin(), source.shards.end()};
    line.set_image(source.image);
    *line.mutable_action() = {source.action.begin(), source.action.end()};
    *line.mutable_state() = {source.state.begin(), source.state.end()};
    line.set_instruction(source.instruction);
    line.set_episode_id(source.episode_id);
    absl::StrAppend(&text, ReplyLine(line));
  }
  return WriteMemoryFile(text, kList);
}

absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadMemoryFile(fd, kList));
  std::vector<MixtureSource> sources;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto read = ParseReply<MixtureSourceLine>(line);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", sources.size() + 1, " of the ", kList, ": ",
                       read.status().message()));
    }
    sources.push_back({read->name(),
                       read->weight(),
                       {read->shards().begin(), read->shards().end()},
                       read->image(),
                       {read->action().begin(), read->action().end()},
                       {read->state().begin(), read->state().end()},
                       read->instruction(),
                       read->episode_id()});
  }
  if (!sources.empty()) return sources;
  return absl::InvalidArgumentError(absl::StrCat("the ", kList, " is empty"));
}

}  // namespace feedrate
