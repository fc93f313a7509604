#include "lib/media/corpus_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr int64_t kAlignment = kCorpusAlignment;

absl::Status Failed(absl::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "shared memory for decoded inputs: ", what, ": ", std::strerror(errno)));
}

int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Bytes of the values. -1 when a size is impossible.
int64_t ValueBytes(const ItemSize& size, DType dtype) {
  // Sums of sizes below this do not overflow.
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t bytes = BytesOf(dtype);
  for (int64_t side : {size.frames, size.height, size.width, size.channels}) {
    if (side < 1 || side > INT_MAX) return -1;
    if (__builtin_mul_overflow(bytes, side, &bytes)) return -1;
    if (bytes > kMost) return -1;
  }
  return bytes;
}

// Maps the file at an address that suits large pages. Null when it fails.
char* MapAligned(int fd, int64_t bytes) {
  constexpr int64_t kChunk = PagePopulator::kChunk;
  // Room in which such an address is, then the file over it, then what is left
  // at both ends given back.
  void* room = mmap(nullptr, bytes + kChunk, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(room);
  const int64_t skip =
      (kChunk - reinterpret_cast<uintptr_t>(begin) % kChunk) % kChunk;
  if (skip > 0) munmap(begin, skip);
  void* map = mmap(begin + skip, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd, 0);
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t mapped = (bytes + page - 1) / page * page;
  munmap(begin + skip + mapped, kChunk - skip);
  return map == MAP_FAILED ? nullptr : static_cast<char*>(map);
}

// The same file without the right to write, so that readers may map it shared
// on every kernel. `fd` itself where /proc is not there.
int ReopenForReading(int fd) {
  const std::string path = absl::StrCat("/proc/self/fd/", fd);
  const int reading = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (reading < 0) return fd;
  close(fd);
  return reading;
}

}  // namespace

int64_t CorpusBytesOf(const ItemSize& size, DType dtype) {
  const int64_t bytes = ValueBytes(size, dtype);
  if (bytes < 0) return -1;
  return Aligned(bytes) + static_cast<int64_t>(sizeof(CorpusItem));
}

absl::StatusOr<CorpusWriter> CorpusWriter::Create(DType dtype, Layout layout) {
  const int fd =
      memfd_create("feedrate-corpus", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return Failed("cannot be made");
  return CorpusWriter(fd, dtype, layout);
}

CorpusWriter::CorpusWriter(int fd, DType dtype, Layout layout)
    : fd_(fd),
      dtype_(dtype),
      layout_(layout),
      populator_(std::make_unique<PagePopulator>()) {}

CorpusWriter::CorpusWriter(CorpusWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      dtype_(other.dtype_),
      layout_(other.layout_),
      map_(std::exchange(other.map_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      end_(other.end_),
      items_(std::move(other.items_)),
      populator_(std::move(other.populator_)) {}

CorpusWriter::~CorpusWriter() {
  Unmap();
  if (fd_ >= 0) close(fd_);
}

void CorpusWriter::Unmap() {
  if (map_ != nullptr) munmap(map_, mapped_bytes_);
  map_ = nullptr;
}

absl::Status CorpusWriter::Grow(int64_t bytes) {
  if (ftruncate(fd_, bytes) != 0) return Failed("cannot grow");
  Unmap();
  map_ = MapAligned(fd_, bytes);
  if (map_ == nullptr) return Failed("cannot be mapped");
  mapped_bytes_ = bytes;
  return absl::OkStatus();
}

void CorpusWriter::Populate(int64_t i) {
  const int64_t begin = items_[i].offset;
  // The header's chunk begins before the first item.
  populator_->Populate(map_, mapped_bytes_, i == 0 ? 0 : begin,
                       begin + Aligned(items_[i].bytes));
}

absl::Status CorpusWriter::Write(int64_t i, const void* values) {
  const char* from = static_cast<const char*>(values);
  int64_t done = 0;
  while (done < items_[i].bytes) {
    const ssize_t written = pwrite(fd_, from + done, items_[i].bytes - done,
                                   items_[i].offset + done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed("cannot be written");
    done += written;
  }
  return absl::OkStatus();
}

absl::Status CorpusWriter::AddRoom(const std::vector<ItemSize>& sizes) {
  int64_t end = end_;
  std::vector<CorpusItem> items = items_;
  items.reserve(items.size() + sizes.size());
  for (const ItemSize& size : sizes) {
    const int64_t bytes = ValueBytes(size, dtype_);
    if (bytes < 0 || end > INT64_MAX / 2 - Aligned(bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an input of ", size.frames, " x ", size.height, " x ",
                       size.width, " x ", size.channels, " cannot be held"));
    }
    items.push_back(
        {end, bytes, size.frames, size.height, size.width, size.channels});
    end += Aligned(bytes);
  }
  RETURN_IF_ERROR(Grow(end));
  end_ = end;
  items_ = std::move(items);
  return absl::OkStatus();
}

void CorpusWriter::Keep(const std::vector<bool>& keep) {
  std::vector<CorpusItem> kept;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (keep[i]) {
      kept.push_back(items_[i]);
    } else {
      // Pages that lie wholly inside the gap. A kernel that cannot do it only
      // costs memory.
      fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                items_[i].offset, Aligned(items_[i].bytes));
    }
  }
  items_ = std::move(kept);
}

absl::StatusOr<Corpus> CorpusWriter::Finish() && {
  const int64_t index_bytes =
      static_cast<int64_t>(items_.size() * sizeof(CorpusItem));
  RETURN_IF_ERROR(Grow(end_ + index_bytes));
  CorpusHeader header = {};
  std::memcpy(header.magic, kCorpusMagic, sizeof(kCorpusMagic));
  header.version = kCorpusVersion;
  header.dtype = static_cast<uint32_t>(dtype_);
  header.layout = static_cast<uint32_t>(layout_);
  header.count = items_.size();
  header.index_offset = end_;
  header.data_offset = sizeof(CorpusHeader);
  header.file_bytes = mapped_bytes_;
  std::memcpy(map_, &header, sizeof(header));
  if (index_bytes > 0) std::memcpy(map_ + end_, items_.data(), index_bytes);
  Unmap();
  if (!SealMemory(fd_)) {
    return Failed("cannot be sealed");
  }
  return Corpus::Map(ReopenForReading(std::exchange(fd_, -1)));
}

}  // namespace feedrate
