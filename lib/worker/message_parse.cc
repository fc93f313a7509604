#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/worker/message.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::simdjson::dom::array;
using ::simdjson::dom::element;
using ::simdjson::dom::object;

// Enough to recognise what was written instead.
constexpr size_t kShown = 80;

std::string Shown(absl::string_view line) {
  return absl::StrCat("\"", absl::CHexEscape(line.substr(0, kShown)),
                      line.size() > kShown ? "…\"" : "\"");
}

bool SaysOutOfMemory(absl::string_view error) {
  for (const absl::string_view start :
       {"MemoryError", "std::bad_alloc", "OutOfMemoryError"}) {
    if (absl::StartsWith(error, start)) return true;
  }
  return false;
}

// One line, and what is to be found in it.
class Object {
 public:
  // Fails on what is no object, and on {"error":"…"}.
  absl::Status Open(absl::string_view line) {
    line_ = line;
    if (parser_.parse(line.data(), line.size()).get(object_) !=
        simdjson::SUCCESS) {
      return absl::DataLossError(
          absl::StrCat("wrote garbage instead of an answer: ", Shown(line)));
    }
    std::string_view error;
    if (object_["error"].get(error) != simdjson::SUCCESS) {
      return absl::OkStatus();
    }
    const std::string text(error);
    return SaysOutOfMemory(text) ? absl::ResourceExhaustedError(text)
                                 : absl::UnknownError(text);
  }

  bool Has(std::string_view name) const {
    element value;
    return object_[name].get(value) == simdjson::SUCCESS;
  }

  // Each reads a field that must be there.
  absl::Status Read(std::string_view name, std::string* value) const {
    std::string_view text;
    if (object_[name].get(text) != simdjson::SUCCESS) return Missing(name);
    *value = std::string(text);
    return absl::OkStatus();
  }
  absl::Status Read(std::string_view name, bool* value) const {
    return object_[name].get(*value) == simdjson::SUCCESS ? absl::OkStatus()
                                                          : Missing(name);
  }
  absl::Status Read(std::string_view name, int64_t* value) const {
    return object_[name].get(*value) == simdjson::SUCCESS ? absl::OkStatus()
                                                          : Missing(name);
  }
  absl::Status Read(std::string_view name, uint64_t* value) const {
    return object_[name].get(*value) == simdjson::SUCCESS ? absl::OkStatus()
                                                          : Missing(name);
  }
  absl::Status Read(std::string_view name, int* value) const {
    int64_t wide = 0;
    RETURN_IF_ERROR(Read(name, &wide));
    if (wide < std::numeric_limits<int>::min() ||
        wide > std::numeric_limits<int>::max()) {
      return Missing(name);
    }
    *value = static_cast<int>(wide);
    return absl::OkStatus();
  }
  // Whole numbers will do.
  absl::Status Read(std::string_view name, double* value) const {
    return object_[name].get(*value) == simdjson::SUCCESS ? absl::OkStatus()
                                                          : Missing(name);
  }
  template <typename Read, typename Value>
  absl::Status ReadList(std::string_view name,
                        std::vector<Value>* values) const {
    array list;
    if (object_[name].get(list) != simdjson::SUCCESS) return Missing(name);
    values->reserve(list.size());
    for (const element item : list) {
      Read value;
      if (item.get(value) != simdjson::SUCCESS) return Missing(name);
      values->emplace_back(value);
    }
    return absl::OkStatus();
  }

  const object& json() const { return object_; }
  absl::Status Missing(std::string_view name) const {
    return absl::DataLossError(absl::StrCat("answered without a usable \"",
                                            std::string(name),
                                            "\": ", Shown(line_)));
  }

 private:
  absl::string_view line_;
  simdjson::dom::parser parser_;
  object object_;
};

absl::Status ReadPrepare(const Object& json, PrepareCommand* command) {
  RETURN_IF_ERROR(json.Read("library", &command->library));
  RETURN_IF_ERROR(json.Read("transform", &command->transform));
  RETURN_IF_ERROR(json.Read("native_op", &command->native_op));
  RETURN_IF_ERROR(json.ReadList<std::string_view>("params", &command->params));
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
  return absl::OkStatus();
}

absl::Status ReadTime(const Object& json, TimeCommand* command) {
  RETURN_IF_ERROR(json.Read("first", &command->first));
  RETURN_IF_ERROR(json.Read("count", &command->count));
  RETURN_IF_ERROR(json.Read("chunk", &command->chunk));
  RETURN_IF_ERROR(json.Read("limit_s", &command->limit_s));
  return json.Read("seed", &command->seed);
}

absl::Status ReadOutput(const Object& json, const object& from,
                        OutputItem* item) {
  std::string_view dtype, layout;
  array shape;
  if (from["offset"].get(item->offset) != simdjson::SUCCESS ||
      from["bytes"].get(item->bytes) != simdjson::SUCCESS ||
      from["dtype"].get(dtype) != simdjson::SUCCESS ||
      from["layout"].get(layout) != simdjson::SUCCESS ||
      from["shape"].get(shape) != simdjson::SUCCESS) {
    return json.Missing("outputs");
  }
  item->dtype = std::string(dtype);
  item->layout = std::string(layout);
  for (const element size : shape) {
    int64_t value;
    if (size.get(value) != simdjson::SUCCESS) return json.Missing("shape");
    item->shape.push_back(value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Hello> ParseHello(absl::string_view line) {
  Object json;
  RETURN_IF_ERROR(json.Open(line));
  Hello hello;
  RETURN_IF_ERROR(json.Read("pid", &hello.pid));
  RETURN_IF_ERROR(json.Read("import_s", &hello.import_s));
  object versions;
  if (json.json()["versions"].get(versions) != simdjson::SUCCESS) {
    return json.Missing("versions");
  }
  for (const simdjson::dom::key_value_pair item : versions) {
    std::string_view version;
    if (item.value.get(version) != simdjson::SUCCESS) {
      return json.Missing("versions");
    }
    hello.versions[std::string(item.key)] = std::string(version);
  }
  return hello;
}

absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line) {
  Object json;
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
  Object json;
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
  Object json;
  RETURN_IF_ERROR(json.Open(line));
  PrepareReply reply;
  RETURN_IF_ERROR(json.Read("version", &reply.version));
  RETURN_IF_ERROR(json.Read("clock_pair_s", &reply.clock_pair_s));
  RETURN_IF_ERROR(json.Read("threads", &reply.threads));
  return reply;
}

absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line) {
  Object json;
  RETURN_IF_ERROR(json.Open(line));
  TimeReply reply;
  RETURN_IF_ERROR(json.ReadList<double>("samples_s", &reply.samples_s));
  RETURN_IF_ERROR(json.Read("items", &reply.items));
  for (const double sample : reply.samples_s) {
    if (!(sample >= 0)) return json.Missing("samples_s");
  }
  return reply;
}

absl::StatusOr<OutputReply> ParseOutputReply(absl::string_view line) {
  Object json;
  RETURN_IF_ERROR(json.Open(line));
  OutputReply reply;
  RETURN_IF_ERROR(json.Read("fd", &reply.fd));
  array outputs;
  if (json.json()["outputs"].get(outputs) != simdjson::SUCCESS) {
    return json.Missing("outputs");
  }
  for (const element item : outputs) {
    object from;
    if (item.get(from) != simdjson::SUCCESS) return json.Missing("outputs");
    RETURN_IF_ERROR(ReadOutput(json, from, &reply.outputs.emplace_back()));
  }
  return reply;
}

absl::StatusOr<ChildCommand> ParseChildCommand(absl::string_view line) {
  Object json;
  RETURN_IF_ERROR(json.Open(line));
  ChildCommand command;
  std::string op;
  RETURN_IF_ERROR(json.Read("op", &op));
  if (op == "prepare") {
    RETURN_IF_ERROR(ReadPrepare(json, &command.prepare));
  } else if (op == "time") {
    command.op = ChildCommand::Op::kTime;
    RETURN_IF_ERROR(ReadTime(json, &command.time));
  } else if (op == "output") {
    command.op = ChildCommand::Op::kOutput;
    RETURN_IF_ERROR(json.ReadList<int64_t>("indexes", &command.output.indexes));
    RETURN_IF_ERROR(json.Read("seed", &command.output.seed));
  } else {
    return json.Missing("op");
  }
  return command;
}

}  // namespace feedrate
