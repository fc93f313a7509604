// What the runner and a measured process say to each other: JSON, one object
// a line, both directions. docs/micro.md describes the conversation.
//
// Each message is a struct with a function that prints it as a line (newline
// included) and one that parses it (newline left out). What does not parse is
// DataLoss with the beginning of what was there. An answer of the form
// {"error":"…"} is Unknown, or ResourceExhausted when the text says that
// memory ran out, with that text.
#ifndef FEEDRATE_LIB_WORKER_MESSAGE_H_
#define FEEDRATE_LIB_WORKER_MESSAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/mixture_message.h"

namespace feedrate {

// Control socket.

// First line of a server: its library is loaded.
struct Hello {
  int64_t pid = 0;
  // Version of each library that it serves.
  std::map<std::string, std::string> versions;
  // Seconds that loading them took.
  double import_s = 0;
};
std::string HelloLine(const Hello& hello);
absl::StatusOr<Hello> ParseHello(absl::string_view line);

// What the runner asks of a server.
struct ControlRequest {
  enum class Op { kSpawn, kReap };
  Op op = Op::kSpawn;
  std::string library;  // kSpawn.
  int64_t pid = 0;      // kReap.
};
std::string ControlRequestLine(const ControlRequest& request);
absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line);

// Answer to kSpawn: only `pid`.  Answer to kReap: all of it.
struct ChildInfo {
  int64_t pid = 0;
  int status = 0;       // As waitpid gives it.
  int64_t max_rss = 0;  // Bytes.
};
std::string SpawnedLine(int64_t pid);
std::string ReapedLine(const ChildInfo& child);
absl::StatusOr<ChildInfo> ParseChildInfo(absl::string_view line);

// Child.

// The object `decode` of a prepare: the job measures a decoder. The spawn's
// fourth descriptor is a list of videos (source_list.h), and an item is the
// clip of one of them: opened, decoded, and put together as uint8 THWC in RGB.
struct DecodeSpec {
  // Of the decoder itself. 0: as many as it likes.
  int threads = 1;
};

// Makes the transform ready.
struct PrepareCommand {
  std::string library;
  std::string transform;
  // As in the catalogue.
  std::string native_op;
  std::vector<std::string> params;
  std::string wrap;
  std::string scenario;
  std::string device;
  int64_t seed = 0;
  // What the thread policy tells the libraries; -1: nothing is set.
  int opencv_threads = -1;
  bool opencv_opencl = true;
  int torch_intra_op = -1;
  int torch_inter_op = -1;
  // On a GPU: items of one call, 0 when each is called by itself.
  int64_t batch = 0;
  // Of a job that measures a loader.
  std::optional<LoaderSpec> loader;
  // Of a job that measures a decoder.
  std::optional<DecodeSpec> decode;
  // Of a job that measures a mixture.
  std::optional<MixtureSpec> mixture;
};
struct PrepareReply {
  std::string version;
  // What two readings of the clock cost.
  double clock_pair_s = 0;
  // Threads that the library says it uses.
  int threads = 1;
  // Bytes read plus bytes written a second by a copy within the memory of the
  // device. 0 on the CPU.
  double device_copy_bytes_per_s = 0;
  // Items a second that engines of the device decode when nothing else is done.
  // 0: none does.
  double engine_items_per_s = 0;
  // Whether a batch was asked for, and its items go one by one.
  bool per_sample_loop = false;
};
std::string PrepareReplyLine(const PrepareReply& reply);
absl::StatusOr<PrepareReply> ParsePrepareReply(absl::string_view line);

// Calls the transform on items first … first+count-1, modulo their number,
// and times each `chunk` of calls.
struct TimeCommand {
  int64_t first = 0;
  int64_t count = 0;
  int64_t chunk = 1;
  // No new chunk starts after this many seconds. 0: no limit.
  double limit_s = 0;
  uint64_t seed = 0;
  // On a GPU: its L2 is filled with other data before each sample.
  bool cold = false;
};

// What a GPU tells beside the times.
struct DeviceReply {
  // Of its processors, read after each sample; empty where it cannot be read.
  std::vector<int64_t> clocks_mhz;
  // What they may run at, 0: not known.
  int64_t max_clock_mhz = 0;
  // Why the clock was lower than that: NVML's bits, of all readings together.
  uint64_t throttle_reasons = 0;
  // Most memory in use, and most that was taken from the device.
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  // Inputs that were read and outputs that were written, all items together.
  int64_t bytes_in = 0;
  int64_t bytes_out = 0;
  // Frames of clips that the CPU decoded in place of an engine.
  int64_t cpu_frames = 0;
};

struct TimeReply {
  // One a chunk; the last may be shorter.
  std::vector<double> samples_s;
  // Items that the calls went through.
  int64_t items = 0;
  // Absent on the CPU.
  std::optional<DeviceReply> device;
};
std::string TimeReplyLine(const TimeReply& reply);
absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line);

// Wants the outputs for some items.
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
  // Descriptor in the child of a memory file that holds them, valid until the
  // next command.
  int fd = -1;
  std::vector<OutputItem> outputs;
};
std::string OutputReplyLine(const OutputReply& reply);
absl::StatusOr<OutputReply> ParseOutputReply(absl::string_view line);

// Any command, as the child sees it.
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

// {"error":"…"}: what a server or a child says when it cannot.
std::string ErrorLine(absl::string_view error,
                      absl::string_view traceback = "");

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MESSAGE_H_
