#include "lib/worker/child_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Larger than any image; keeps a wrong number from taking our own memory.
constexpr int64_t kMaxOutputBytes = int64_t{4} << 30;

bool IsSound(const OutputItem& item) {
  int64_t bytes = item.dtype == "uint8" ? 1 : item.dtype == "float32" ? 4 : 0;
  const bool is_image = item.layout == "HWC" || item.layout == "CHW";
  const bool is_clip = item.layout == "THWC" || item.layout == "TCHW";
  if (bytes == 0 || item.offset < 0 || (!is_image && !is_clip) ||
      item.shape.size() != item.layout.size()) {
    return false;
  }
  for (const int64_t size : item.shape) {
    if (size <= 0 || size > kMaxOutputBytes / bytes) return false;
    bytes *= size;
  }
  return bytes == item.bytes;
}

bool ReadAll(int fd, int64_t offset, std::string* bytes) {
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got =
        pread(fd, &(*bytes)[done], bytes->size() - done, offset + done);
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

}  // namespace

absl::StatusOr<TimeReply> CheckTimeReply(const TimeCommand& command,
                                         absl::StatusOr<TimeReply> reply) {
  if (!reply.ok()) return reply;
  const int64_t chunks = (reply->items + command.chunk - 1) / command.chunk;
  const bool all = reply->items == command.count;
  if (reply->items < 0 || reply->items > command.count ||
      (!all && command.limit_s <= 0) ||
      chunks != static_cast<int64_t>(reply->samples_s.size())) {
    return absl::DataLossError(
        absl::StrCat("answered with ", reply->samples_s.size(), " timings of ",
                     reply->items, " items when asked for ", command.count,
                     " in chunks of ", command.chunk));
  }
  return reply;
}

absl::StatusOr<EpochReply> CheckEpochReply(const EpochCommand& command,
                                           absl::StatusOr<EpochReply> reply) {
  if (!reply.ok()) return reply;
  const int64_t samples = static_cast<int64_t>(reply->samples_s.size());
  if (reply->items > command.count || reply->batches != samples ||
      (reply->items > 0) != (reply->batches > 0)) {
    return absl::DataLossError(
        absl::StrCat("answered with ", samples, " timings of ", reply->batches,
                     " batches and ", reply->items, " items when asked for ",
                     command.count, " items"));
  }
  // What the clocks of two processes may differ by.
  const double most = reply->elapsed_s + 1e-3;
  if (reply->startup_s > most || reply->first_batch_s > most ||
      reply->teardown_s > most) {
    return absl::DataLossError(absl::StrCat(
        "answered with a part of the epoch that is longer than its ",
        reply->elapsed_s, " s"));
  }
  return reply;
}

absl::StatusOr<std::vector<ChildOutput>> CopyOutputs(int64_t pid, size_t wanted,
                                                     const OutputReply& reply) {
  const UniqueFd file(
      open(absl::StrCat("/proc/", pid, "/fd/", reply.fd).c_str(),
           O_RDONLY | O_CLOEXEC));
  if (!file.valid() || reply.outputs.size() != wanted) {
    return absl::DataLossError(absl::StrCat("gave ", reply.outputs.size(),
                                            " outputs of ", wanted,
                                            ", or no file with them"));
  }
  std::vector<ChildOutput> outputs;
  for (const OutputItem& item : reply.outputs) {
    if (!IsSound(item)) {
      return absl::DataLossError(
          absl::StrCat("described an output that cannot be: ", item.bytes,
                       " bytes of ", item.dtype, " ", item.layout));
    }
    ChildOutput& output = outputs.emplace_back();
    output.info = item;
    output.bytes.resize(item.bytes);
    if (!ReadAll(file.get(), item.offset, &output.bytes)) {
      return absl::DataLossError("gave an output that ends too early");
    }
  }
  return outputs;
}

}  // namespace feedrate
