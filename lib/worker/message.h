// The lines between the runner and a measured process, whose messages are those
// of lib/records/worker.proto. docs/micro.md describes the protocol.
//
// Lines that do not parse are DataLoss; the error quotes their beginning. An
// answer of the form {"error":"…"} is Unknown with that text, or
// ResourceExhausted if the text says that memory ran out.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/records/worker.pb.h"

namespace feedrate {

// Scopes of a loader job.
inline constexpr char kMemoryScope[] = "memory_dataloader_augment";
inline constexpr char kDecodeScope[] = "decode_dataloader_augment";
inline constexpr char kCopyScope[] = "decode_dataloader_augment_batch_copy";

// A value of LoaderSpec.ablation.
inline constexpr char kDeviceLimits[] = "device_limits";

// At most this many errors are listed, in replies and in rows.
inline constexpr int kMaxNamedErrors = 1000;

// Prints a message as a line, with its newline: an answer, or a line of a list.
std::string ReplyLine(const google::protobuf::Message& reply);

// Prints one of the commands of ControlRequest and ChildCommand.
std::string CommandLine(const google::protobuf::Message& command);

// The answer of a server or a child that cannot do what was asked.
std::string ErrorLine(absl::string_view error,
                      absl::string_view traceback = "");

// Parses a line without its newline.
absl::Status ParseReplyLine(absl::string_view line,
                            google::protobuf::Message* reply);
template <typename Reply>
absl::StatusOr<Reply> ParseReply(absl::string_view line) {
  Reply reply;
  const absl::Status status = ParseReplyLine(line, &reply);
  if (!status.ok()) return status;
  return reply;
}
// Also checks what the fields of these answers say of each other.
absl::StatusOr<TimeReply> ParseTimeReply(absl::string_view line);
absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line);

absl::StatusOr<ControlRequest> ParseControlRequest(absl::string_view line);
absl::StatusOr<ChildCommand> ParseChildCommand(absl::string_view line);

// Returns InvalidArgument, which names the field, if a value makes no sense.
absl::Status CheckLoaderSpec(const LoaderSpec& spec);

// How many processes share each epoch of the loader, at least 1.
int RanksOf(const LoaderSpec& spec);

// Between the loader's own settings of a mixture and its command.
MixtureCommand CommandOf(const MixtureSpec& spec);
MixtureSpec SpecOf(const MixtureCommand& command);

// Writes a sealed memory file with one line per data set: the spawn request's
// fourth descriptor.
absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources);
// Reads the whole list, whatever the current offset of `fd`. InvalidArgument if
// a line is malformed (it is named) or the list is empty.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd);

}  // namespace feedrate
