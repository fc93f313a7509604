// The messages between the runner and a measured process: one JSON object per
// line in both directions. docs/micro.md describes the protocol.
//
// Answers that rows are made of are messages of lib/records/worker.proto; the
// others are structs. Each has a function that prints it as a line (including
// the newline) and one that parses it (without the newline). Lines that do not
// parse are DataLoss; the message quotes their beginning. An answer of the form
// {"error":"…"} is Unknown with that text, or ResourceExhausted if the text
// says that memory ran out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/worker/loader_message.h"

namespace google {
namespace protobuf {
class Message;
}
}  // namespace google

namespace feedrate {

// lib/records/worker.pb.h. Not included here, so that adapters that include
// large libraries do not also compile protobuf's headers.
class PrepareReply;
class TimeReply;

// Messages on the control socket.

// First line from a server: its library is loaded.
struct Hello {
  int64_t pid = 0;
  // Versions of the libraries that it serves.
  std::map<std::string, std::string> versions;
  // Seconds spent loading them.
  double import_s = 0;
};
std::string HelloLine(const Hello& hello);
absl::StatusOr<Hello> ParseHello(absl::string_view line);

// A request from the runner to a server.
struct ControlRequest {
  enum class Op { kSpawn, kReap };
  Op op = Op::kSpawn;
  std::string library;  // kSpawn.
  int64_t pid = 0;      // kReap.
};
std::string ControlRequestLine(const ControlRequest& request);
absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line);

// Answer to kSpawn: only `pid`. Answer to kReap: all fields.
struct ChildInfo {
  int64_t pid = 0;
  int status = 0;       // As waitpid gives it.
  int64_t max_rss = 0;  // Bytes.
};
std::string SpawnedLine(int64_t pid);
std::string ReapedLine(const ChildInfo& child);
absl::StatusOr<ChildInfo> ParseChildInfo(absl::string_view line);

// Messages on the pipes of a child.

// The object `decode` in a prepare command: the job measures a decoder. The
// spawn request's fourth descriptor is a list of videos (source_list.h), and an
// item is a clip of one of them: opened, decoded, and assembled as uint8 THWC
// in RGB.
struct DecodeSpec {
  // Threads of the decoder itself. 0 lets the decoder choose.
  int threads = 1;
};

// Prepares the transform.
struct PrepareCommand {
  std::string library;
  std::string transform;
  // As in the catalog.
  std::string native_op;
  std::vector<std::string> params;
  std::string wrap;
  std::string scenario;
  std::string device;
  int64_t seed = 0;
  // Thread counts of the thread policy; -1 means not set.
  int opencv_threads = -1;
  bool opencv_opencl = true;
  int torch_intra_op = -1;
  int torch_inter_op = -1;
  // On a GPU: items per call, 0 if each call takes one item.
  int64_t batch = 0;
  // Present if the job measures a loader.
  std::optional<LoaderSpec> loader;
  // Present if the job measures a decoder.
  std::optional<DecodeSpec> decode;
  // Present if the job measures a mixture.
  std::optional<MixtureSpec> mixture;
};
absl::StatusOr<PrepareReply> ParsePrepareReply(absl::string_view line);

// Calls the transform on items first … first+count-1, modulo their number, and
// times each chunk of `chunk` calls.
struct TimeCommand {
  int64_t first = 0;
  int64_t count = 0;
  int64_t chunk = 1;
  // No new chunk starts after this many seconds. 0 means no limit.
  double limit_s = 0;
  uint64_t seed = 0;
  // On a GPU: fill the L2 cache with other data before each sample.
  bool cold = false;
};

absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line);

// Requests the outputs for some items.
struct OutputCommand {
  std::vector<int64_t> indexes;
  uint64_t seed = 0;
};
struct OutputItem {
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string dtype;   // `uint8` or `float32`, the latter 0 to 1.
  std::string layout;  // `HWC`, `CHW`; of a clip `THWC`, `TCHW`.
  std::vector<int64_t> shape;
};
struct OutputReply {
  // The child's descriptor of a memory file with the outputs, valid until the
  // next command.
  int fd = -1;
  std::vector<OutputItem> outputs;
};
std::string OutputReplyLine(const OutputReply& reply);
absl::StatusOr<OutputReply> ParseOutputReply(absl::string_view line);

// Any command to a child.
struct ChildCommand {
  enum class Op { kPrepare, kTime, kEpoch, kOutput, kStop };
  Op op = Op::kPrepare;
  PrepareCommand prepare;
  TimeCommand time;
  EpochCommand epoch;
  OutputCommand output;
};
std::string PrepareLine(const PrepareCommand& command);
std::string TimeLine(const TimeCommand& command);
std::string OutputLine(const OutputCommand& command);
absl::StatusOr<ChildCommand> ParseChildCommand(absl::string_view line);

// Any answer of worker.proto.
std::string ReplyLine(const google::protobuf::Message& reply);

// {"error":"…"}: the answer of a server or a child that cannot do what was
// asked.
std::string ErrorLine(absl::string_view error,
                      absl::string_view traceback = "");

}  // namespace feedrate
