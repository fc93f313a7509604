#include "lib/media/corpus.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

absl::Status Fault(int fd, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("corpus (descriptor ", fd, ") ", what));
}

// Without these seals another process could change what is being measured, or
// cut it off under a reader.
absl::Status CheckSeals(int fd) {
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Fault(fd, "is no memory file that can be sealed");
  if ((seals & kNeeded) != kNeeded) {
    return Fault(fd, "is not sealed against changes");
  }
  return absl::OkStatus();
}

void* MapReadOnly(int fd, size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED && errno == EPERM) {
    // Before Linux 6.7 a shared map of a sealed file that was opened for
    // writing is refused even for reading. A private one has the same pages.
    data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  return data;
}

}  // namespace

absl::StatusOr<Corpus> Corpus::Map(int fd) {
  // Owns the descriptor from here on, whatever comes.
  Corpus corpus(fd, nullptr, 0);
  struct stat info;
  if (fstat(fd, &info) != 0) return Fault(fd, std::strerror(errno));
  absl::Status sealed = CheckSeals(fd);
  if (!sealed.ok()) return sealed;
  if (info.st_size == 0) return Fault(fd, "is empty");
  void* data = MapReadOnly(fd, static_cast<size_t>(info.st_size));
  if (data == MAP_FAILED) {
    return Fault(fd, absl::StrCat("cannot be mapped: ", std::strerror(errno)));
  }
  corpus.data_ = data;
  corpus.bytes_ = info.st_size;
  if (const char* fault = FindCorpusFault(data, corpus.bytes_)) {
    return Fault(fd, fault);
  }
  return corpus;
}

Corpus::Corpus(Corpus&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Corpus& Corpus::operator=(Corpus&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Corpus::~Corpus() {
  if (data_ != nullptr) munmap(const_cast<void*>(data_), bytes_);
  if (fd_ >= 0) close(fd_);
}

void Corpus::Populate() const {
#ifdef MADV_POPULATE_READ
  madvise(const_cast<void*>(data_), bytes_, MADV_POPULATE_READ);
#endif
}

ItemView Corpus::item(int64_t i) const {
  const char* begin = static_cast<const char*>(data_);
  const CorpusItem& item =
      reinterpret_cast<const CorpusItem*>(begin + header().index_offset)[i];
  return {begin + item.offset,           item.bytes,
          static_cast<int>(item.frames), static_cast<int>(item.height),
          static_cast<int>(item.width),  static_cast<int>(item.channels)};
}

ImageView Corpus::image(int64_t i) const {
  const ItemView view = item(i);
  return {static_cast<const uint8_t*>(view.data), view.height, view.width,
          view.channels};
}

}  // namespace feedrate
