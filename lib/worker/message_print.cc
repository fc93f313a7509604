#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/worker/json_line.h"
#include "lib/worker/loader_message_json.h"
#include "lib/worker/message.h"
#include "lib/worker/mixture_message_json.h"

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

}  // namespace feedrate
