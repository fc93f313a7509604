#include "lib/worker/message.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "lib/base/status_macros.h"
#include "lib/records/json.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/json_line.h"

namespace feedrate {

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

std::string ReplyLine(const google::protobuf::Message& reply) {
  std::string line;
  AppendJson(reply, &line);
  line.push_back('\n');
  return line;
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
  RETURN_IF_ERROR(json.ReadMessage(&reply));
  return reply;
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
