// Parses any bytes as a line from a measured process, which may write anything.
// What parses must give the same result after printing and parsing again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Returns `line` without its newline.
absl::string_view Inside(const std::string& line) {
  return absl::string_view(line).substr(0, line.size() - 1);
}

template <typename Parse, typename Print>
void RoundTrip(absl::string_view line, Parse parse, Print print) {
  const auto message = parse(line);
  if (!message.ok()) return;
  const std::string once = print(*message);
  const auto again = parse(Inside(once));
  CHECK(again.ok()) << again.status() << " " << once;
  CHECK_EQ(print(*again), once);
}

std::string PrintCommand(const ChildCommand& command) {
  switch (command.op) {
    case ChildCommand::Op::kPrepare:
      return PrepareLine(command.prepare);
    case ChildCommand::Op::kTime:
      return TimeLine(command.time);
    case ChildCommand::Op::kEpoch:
      return EpochLine(command.epoch);
    case ChildCommand::Op::kOutput:
      return OutputLine(command.output);
    case ChildCommand::Op::kStop:
      return StopLine();
  }
  return "\n";
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedrate;  // NOLINT(build/namespaces)
  const absl::string_view line(reinterpret_cast<const char*>(data), size);
  RoundTrip(line, ParseHello, HelloLine);
  RoundTrip(line, ParseControlRequest, ControlRequestLine);
  RoundTrip(line, ParseChildInfo, ReapedLine);
  RoundTrip(line, ParsePrepareReply, ReplyLine);
  RoundTrip(line, ParseTimeReply, ReplyLine);
  RoundTrip(line, ParseOutputReply, OutputReplyLine);
  RoundTrip(line, ParseEpochReply, ReplyLine);
  RoundTrip(line, ParseStopReply, ReplyLine);
  RoundTrip(line, ParseChildCommand, PrintCommand);
  return 0;
}
