#include "lib/worker/message.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/worker/json_line.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

std::string DeviceJson(const DeviceReply& device) {
  JsonLine line;
  line.Ints("clocks_mhz", device.clocks_mhz)
      .Int("max_clock_mhz", device.max_clock_mhz)
      .Unsigned("throttle_reasons", device.throttle_reasons)
      .Int("peak_allocated_bytes", device.peak_allocated_bytes)
      .Int("peak_reserved_bytes", device.peak_reserved_bytes)
      .Int("bytes_in", device.bytes_in)
      .Int("bytes_out", device.bytes_out);
  if (device.cpu_frames > 0) line.Int("cpu_frames", device.cpu_frames);
  return line.Object();
}

}  // namespace

std::string HelloLine(const Hello& hello) {
  JsonLine versions;
  for (const auto& [library, version] : hello.versions) {
    versions.Text(library, version);
  }
  return JsonLine()
      .Int("hello", 1)
      .Int("pid", hello.pid)
      .Raw("versions", versions.Object())
      .Double("import_s", hello.import_s)
      .Line();
}

std::string ControlRequestLine(const ControlRequest& request) {
  if (request.op == ControlRequest::Op::kReap) {
    return JsonLine().Text("op", "reap").Int("pid", request.pid).Line();
  }
  return JsonLine().Text("op", "spawn").Text("library", request.library).Line();
}

std::string SpawnedLine(int64_t pid) {
  return JsonLine().Int("pid", pid).Line();
}

std::string ReapedLine(const ChildInfo& child) {
  return JsonLine()
      .Int("pid", child.pid)
      .Int("status", child.status)
      .Int("max_rss", child.max_rss)
      .Line();
}

std::string PrepareLine(const PrepareCommand& command) {
  JsonLine line;
  line.Text("op", "prepare")
      .Text("library", command.library)
      .Text("transform", command.transform)
      .Text("native_op", command.native_op)
      .Texts("params", command.params)
      .Text("wrap", command.wrap)
      .Text("scenario", command.scenario)
      .Text("device", command.device)
      .Int("seed", command.seed);
  if (command.opencv_threads >= 0) {
    line.Int("opencv_threads", command.opencv_threads);
  }
  line.Bool("opencv_opencl", command.opencv_opencl);
  if (command.torch_intra_op >= 0) {
    line.Int("torch_intra_op", command.torch_intra_op);
  }
  if (command.torch_inter_op >= 0) {
    line.Int("torch_inter_op", command.torch_inter_op);
  }
  if (command.batch > 0) line.Int("batch", command.batch);
  if (command.loader.has_value()) {
    line.Raw("loader", LoaderSpecJson(*command.loader));
  }
  if (command.decode.has_value()) {
    line.Raw("decode",
             JsonLine().Int("threads", command.decode->threads).Object());
  }
  if (command.mixture.has_value()) {
    line.Raw("mixture", MixtureSpecJson(*command.mixture));
  }
  return line.Line();
}

std::string PrepareReplyLine(const PrepareReply& reply) {
  JsonLine line;
  line.Text("version", reply.version)
      .Double("clock_pair_s", reply.clock_pair_s)
      .Int("threads", reply.threads);
  if (reply.device_copy_bytes_per_s > 0) {
    line.Double("device_copy_bytes_per_s", reply.device_copy_bytes_per_s);
  }
  if (reply.engine_items_per_s > 0) {
    line.Double("engine_items_per_s", reply.engine_items_per_s);
  }
  if (reply.per_sample_loop) line.Bool("per_sample_loop", true);
  return line.Line();
}

std::string TimeLine(const TimeCommand& command) {
  JsonLine line;
  line.Text("op", "time")
      .Int("first", command.first)
      .Int("count", command.count)
      .Int("chunk", command.chunk)
      .Double("limit_s", command.limit_s)
      .Unsigned("seed", command.seed);
  if (command.cold) line.Bool("cold", true);
  return line.Line();
}

std::string TimeReplyLine(const TimeReply& reply) {
  JsonLine line;
  line.Doubles("samples_s", reply.samples_s).Int("items", reply.items);
  if (reply.device.has_value()) line.Raw("device", DeviceJson(*reply.device));
  return line.Line();
}

std::string OutputLine(const OutputCommand& command) {
  return JsonLine()
      .Text("op", "output")
      .Ints("indexes", command.indexes)
      .Unsigned("seed", command.seed)
      .Line();
}

std::string OutputReplyLine(const OutputReply& reply) {
  std::string outputs = "[";
  for (const OutputItem& item : reply.outputs) {
    absl::StrAppend(&outputs, outputs.size() > 1 ? "," : "",
                    JsonLine()
                        .Int("offset", item.offset)
                        .Int("bytes", item.bytes)
                        .Text("dtype", item.dtype)
                        .Text("layout", item.layout)
                        .Ints("shape", item.shape)
                        .Object());
  }
  return JsonLine()
      .Int("fd", reply.fd)
      .Raw("outputs", absl::StrCat(outputs, "]"))
      .Line();
}

std::string ErrorLine(absl::string_view error, absl::string_view traceback) {
  JsonLine line;
  line.Text("error", error);
  if (!traceback.empty()) line.Text("traceback", traceback);
  return line.Line();
}

namespace {

absl::Status ReadPrepare(const JsonFields& json, PrepareCommand* command) {
  RETURN_IF_ERROR(json.Read("library", &command->library));
  RETURN_IF_ERROR(json.Read("transform", &command->transform));
  RETURN_IF_ERROR(json.Read("native_op", &command->native_op));
  RETURN_IF_ERROR(json.ReadList("params", &command->params));
  RETURN_IF_ERROR(json.Read("wrap", &command->wrap));
  RETURN_IF_ERROR(json.Read("scenario", &command->scenario));
  RETURN_IF_ERROR(json.Read("device", &command->device));
  RETURN_IF_ERROR(json.Read("seed", &command->seed));
  RETURN_IF_ERROR(json.Read("opencv_opencl", &command->opencv_opencl));
  if (json.Has("opencv_threads")) {
    RETURN_IF_ERROR(json.Read("opencv_threads", &command->opencv_threads));
  }
  if (json.Has("torch_intra_op")) {
    RETURN_IF_ERROR(json.Read("torch_intra_op", &command->torch_intra_op));
  }
  if (json.Has("torch_inter_op")) {
    RETURN_IF_ERROR(json.Read("torch_inter_op", &command->torch_inter_op));
  }
  if (json.Has("batch")) {
    RETURN_IF_ERROR(json.ReadAmount("batch", &command->batch));
  }
  if (json.Has("decode")) {
    JsonFields decode;
    RETURN_IF_ERROR(json.ReadObject("decode", &decode));
    RETURN_IF_ERROR(decode.Read("threads", &command->decode.emplace().threads));
  }
  if (json.Has("mixture")) {
    JsonFields mixture;
    RETURN_IF_ERROR(json.ReadObject("mixture", &mixture));
    RETURN_IF_ERROR(ReadMixtureSpec(mixture, &command->mixture.emplace()));
  }
  if (!json.Has("loader")) return absl::OkStatus();
  JsonFields loader;
  RETURN_IF_ERROR(json.ReadObject("loader", &loader));
  return ReadLoaderSpec(loader, &command->loader.emplace());
}

absl::Status ReadTime(const JsonFields& json, TimeCommand* command) {
  RETURN_IF_ERROR(json.Read("first", &command->first));
  RETURN_IF_ERROR(json.Read("count", &command->count));
  RETURN_IF_ERROR(json.Read("chunk", &command->chunk));
  RETURN_IF_ERROR(json.Read("limit_s", &command->limit_s));
  if (json.Has("cold")) RETURN_IF_ERROR(json.Read("cold", &command->cold));
  return json.Read("seed", &command->seed);
}

absl::Status ReadDevice(const JsonFields& json, DeviceReply* device) {
  RETURN_IF_ERROR(json.ReadList("clocks_mhz", &device->clocks_mhz));
  RETURN_IF_ERROR(json.ReadAmount("max_clock_mhz", &device->max_clock_mhz));
  RETURN_IF_ERROR(json.Read("throttle_reasons", &device->throttle_reasons));
  RETURN_IF_ERROR(
      json.ReadAmount("peak_allocated_bytes", &device->peak_allocated_bytes));
  RETURN_IF_ERROR(
      json.ReadAmount("peak_reserved_bytes", &device->peak_reserved_bytes));
  RETURN_IF_ERROR(json.ReadAmount("bytes_in", &device->bytes_in));
  RETURN_IF_ERROR(json.ReadAmount("bytes_out", &device->bytes_out));
  if (!json.Has("cpu_frames")) return absl::OkStatus();
  return json.ReadAmount("cpu_frames", &device->cpu_frames);
}

absl::Status ReadOutput(const JsonFields& from, OutputItem* item) {
  RETURN_IF_ERROR(from.Read("offset", &item->offset));
  RETURN_IF_ERROR(from.Read("bytes", &item->bytes));
  RETURN_IF_ERROR(from.Read("dtype", &item->dtype));
  RETURN_IF_ERROR(from.Read("layout", &item->layout));
  return from.ReadList("shape", &item->shape);
}

}  // namespace

absl::StatusOr<Hello> ParseHello(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  Hello hello;
  RETURN_IF_ERROR(json.Read("pid", &hello.pid));
  RETURN_IF_ERROR(json.Read("import_s", &hello.import_s));
  RETURN_IF_ERROR(json.ReadMap("versions", &hello.versions));
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
  RETURN_IF_ERROR(json.Read("pid", &child.pid));
  if (json.Has("status")) {
    RETURN_IF_ERROR(json.Read("status", &child.status));
    RETURN_IF_ERROR(json.Read("max_rss", &child.max_rss));
  }
  return child;
}

absl::StatusOr<PrepareReply> ParsePrepareReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  PrepareReply reply;
  RETURN_IF_ERROR(json.Read("version", &reply.version));
  RETURN_IF_ERROR(json.Read("clock_pair_s", &reply.clock_pair_s));
  RETURN_IF_ERROR(json.Read("threads", &reply.threads));
  if (json.Has("device_copy_bytes_per_s")) {
    RETURN_IF_ERROR(json.ReadAmount("device_copy_bytes_per_s",
                                    &reply.device_copy_bytes_per_s));
  }
  if (json.Has("engine_items_per_s")) {
    RETURN_IF_ERROR(
        json.ReadAmount("engine_items_per_s", &reply.engine_items_per_s));
  }
  if (json.Has("per_sample_loop")) {
    RETURN_IF_ERROR(json.Read("per_sample_loop", &reply.per_sample_loop));
  }
  return reply;
}

absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line) {
  JsonObject json;
  RETURN_IF_ERROR(json.Open(line));
  TimeReply reply;
  RETURN_IF_ERROR(json.ReadList("samples_s", &reply.samples_s));
  RETURN_IF_ERROR(json.Read("items", &reply.items));
  for (const double sample : reply.samples_s) {
    if (!(sample >= 0)) return json.Missing("samples_s");
  }
  if (!json.Has("device")) return reply;
  JsonFields device;
  RETURN_IF_ERROR(json.ReadObject("device", &device));
  RETURN_IF_ERROR(ReadDevice(device, &reply.device.emplace()));
  // There is one clock per sample, or none.
  const size_t clocks = reply.device->clocks_mhz.size();
  if (clocks > 0 && clocks != reply.samples_s.size()) {
    return device.Missing("clocks_mhz");
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
    RETURN_IF_ERROR(ReadOutput(from, &reply.outputs.emplace_back()));
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
    RETURN_IF_ERROR(ReadPrepare(json, &command.prepare));
  } else if (op == "time") {
    command.op = ChildCommand::Op::kTime;
    RETURN_IF_ERROR(ReadTime(json, &command.time));
  } else if (op == "epoch") {
    command.op = ChildCommand::Op::kEpoch;
    RETURN_IF_ERROR(ReadEpoch(json, &command.epoch));
  } else if (op == "output") {
    command.op = ChildCommand::Op::kOutput;
    RETURN_IF_ERROR(json.ReadList("indexes", &command.output.indexes));
    RETURN_IF_ERROR(json.Read("seed", &command.output.seed));
  } else if (op == "stop") {
    command.op = ChildCommand::Op::kStop;
  } else {
    return json.Missing("op");
  }
  return command;
}

}  // namespace feedrate
