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

// Prints the command that is set.
std::string PrintCommand(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  return CommandLine(reflection.GetMessage(
      message, reflection.GetOneofFieldDescriptor(
                   message, message.GetDescriptor()->oneof_decl(0))));
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedrate;  // NOLINT(build/namespaces)
  const absl::string_view line(reinterpret_cast<const char*>(data), size);
  RoundTrip(line, ParseReply<Hello>, ReplyLine);
  RoundTrip(line, ParseReply<ChildInfo>, ReplyLine);
  RoundTrip(line, ParseReply<PrepareReply>, ReplyLine);
  RoundTrip(line, ParseTimeReply, ReplyLine);
  RoundTrip(line, ParseReply<OutputReply>, ReplyLine);
  RoundTrip(line, ParseEpochReply, ReplyLine);
  RoundTrip(line, ParseReply<StopReply>, ReplyLine);
  RoundTrip(line, ParseReply<SourceFileLine>, ReplyLine);
  RoundTrip(line, ParseReply<MixtureSourceLine>, ReplyLine);
  RoundTrip(line, ParseControlRequest, PrintCommand);
  RoundTrip(line, ParseChildCommand, PrintCommand);
  return 0;
}
