#include "lib/adapters/worker/output_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// A cache line, so that the runner may look at it with any vector loads.
constexpr int64_t kAlignment = 64;

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Create() {
  const int fd = memfd_create("feedrate outputs", MFD_CLOEXEC);
  if (fd >= 0) return OutputFile(fd);
  return absl::UnavailableError(
      absl::StrCat("cannot make a memory file: ", std::strerror(errno)));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : contents_(std::exchange(other.contents_, {})), end_(other.end_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(contents_, other.contents_);
  std::swap(end_, other.end_);
  return *this;
}

OutputFile::~OutputFile() {
  if (contents_.fd >= 0) close(contents_.fd);
}

absl::Status OutputFile::Append(const Output& output) {
  const auto* bytes = static_cast<const char*>(output.data);
  for (int64_t done = 0; done < output.bytes;) {
    const ssize_t count =
        pwrite(contents_.fd, bytes + done, output.bytes - done, end_ + done);
    if (count >= 0) {
      done += count;
    } else if (errno != EINTR) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot write an output: ", std::strerror(errno)));
    }
  }
  contents_.outputs.push_back(
      {end_, output.bytes, output.dtype, output.layout, output.shape});
  end_ = (end_ + output.bytes + kAlignment - 1) / kAlignment * kAlignment;
  return absl::OkStatus();
}

}  // namespace feedrate
