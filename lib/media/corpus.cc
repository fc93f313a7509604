#include "lib/media/corpus.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

absl::Status Fault(int fd, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("corpus (descriptor ", fd, ") ", what));
}

// Without these seals another process could change the data during a
// measurement, or truncate it under a reader.
absl::Status CheckSeals(int fd) {
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Fault(fd, "is not a memory file that can be sealed");
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
  // Owns the descriptor from here on, also on failure.
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

namespace {

// The number of bytes if all sizes are at least 1 and it does not overflow;
// otherwise -1.
int64_t BytesOfItem(const CorpusItem& item, DType dtype) {
  int64_t bytes = BytesOf(dtype);
  for (int64_t size : {item.frames, item.height, item.width, item.channels}) {
    // Readers keep sizes as int.
    if (size < 1 || size > INT_MAX) return -1;
    if (__builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

const char* FindItemFault(const CorpusItem& item, const CorpusHeader& header,
                          uint64_t size) {
  const int64_t bytes = BytesOfItem(item, static_cast<DType>(header.dtype));
  if (bytes < 0) return "has an item with an impossible size";
  if (bytes != item.bytes) return "has an item whose size and bytes disagree";
  const uint64_t offset = static_cast<uint64_t>(item.offset);
  if (item.offset < 0 || offset % kCorpusAlignment != 0) {
    return "has an item at an odd place";
  }
  if (offset < header.data_offset || offset > size ||
      static_cast<uint64_t>(bytes) > size - offset) {
    return "has an item that is outside the file";
  }
  return nullptr;
}

const char* FindHeaderFault(const CorpusHeader& header, uint64_t size) {
  if (std::memcmp(header.magic, kCorpusMagic, sizeof(kCorpusMagic)) != 0) {
    return "is not a corpus: it does not begin with FRCORPUS";
  }
  if (header.version != kCorpusVersion) {
    return "is of another version than 1; use programs of one build";
  }
  if (BytesOf(static_cast<DType>(header.dtype)) == 0) {
    return "has values of an unknown type";
  }
  if (header.layout > static_cast<uint32_t>(Layout::kChw)) {
    return "has an unknown layout";
  }
  if (header.reserved != 0 || header.zero != 0) {
    return "has fields that this version does not know";
  }
  if (header.file_bytes != size) return "is not as long as its header says";
  if (header.data_offset < sizeof(CorpusHeader) || header.data_offset > size) {
    return "has its items outside the file";
  }
  if (header.index_offset % alignof(CorpusItem) != 0 ||
      header.index_offset < sizeof(CorpusHeader) ||
      header.index_offset > size ||
      header.count > (size - header.index_offset) / sizeof(CorpusItem)) {
    return "has its index outside the file";
  }
  return nullptr;
}

}  // namespace

const char* FindCorpusFault(const void* data, uint64_t size) {
  if (size < sizeof(CorpusHeader)) return "is too short for a header";
  CorpusHeader header;
  std::memcpy(&header, data, sizeof(header));
  if (const char* fault = FindHeaderFault(header, size)) return fault;
  const auto* items = reinterpret_cast<const CorpusItem*>(
      static_cast<const char*>(data) + header.index_offset);
  for (uint64_t i = 0; i < header.count; ++i) {
    if (const char* fault = FindItemFault(items[i], header, size)) return fault;
  }
  return nullptr;
}

namespace {

// From Linux 5.14 and 6.1. Older headers lack them; older kernels return an
// error.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

// Number of chunks after which the times are meaningful.
constexpr int64_t kTrial = 4;

// CPU time, which excludes other processes.
int64_t ThreadNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// Writes one page, without which there is nothing to collapse, and asks the
// kernel to replace it by a large page.
bool MakeLarge(char* chunk) {
  return madvise(chunk, 4096, kPopulateWrite) == 0 &&
         madvise(chunk, PagePopulator::kChunk, kCollapse) == 0;
}

}  // namespace

void PagePopulator::Populate(char* map, int64_t size, int64_t begin,
                             int64_t end) {
  int64_t at = (begin + kChunk - 1) / kChunk * kChunk;
  for (; at < end && at + kChunk <= size; at += kChunk) {
    if (given_up_.load(std::memory_order_relaxed)) return;
    PopulateChunk(map + at);
  }
}

void PagePopulator::PopulateChunk(char* chunk) {
  const int64_t start = ThreadNanoseconds();
  int64_t unknown = 0;
  if (small_ns_.compare_exchange_strong(unknown, -1)) {
    // The first chunk measures the cost of small pages.
    if (madvise(chunk, kChunk, kPopulateWrite) != 0) given_up_ = true;
    small_ns_ = std::max<int64_t>(ThreadNanoseconds() - start, 1);
    return;
  }
  if (!MakeLarge(chunk)) {
    given_up_ = true;
    return;
  }
  const int64_t total = large_ns_ += ThreadNanoseconds() - start;
  const int64_t chunks = ++large_chunks_;
  const int64_t small = small_ns_;
  if (chunks >= kTrial && small > 0 && total > chunks * small) given_up_ = true;
}

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
  // Reserves room that contains such an address, maps the file there, and
  // releases what is left at both ends.
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

// Reopens the file without write access, so that readers can map it shared on
// every kernel. Returns `fd` itself where there is no /proc.
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
      // Frees the pages that lie wholly inside the gap. A kernel that cannot do
      // it only costs memory.
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

int64_t MemoryToUse() {
  return ReadAvailableMemory(Root()).value_or(
      std::numeric_limits<int64_t>::max());
}

absl::Status CheckFitsMemory(absl::string_view what,
                             const std::vector<int64_t>& item_bytes,
                             int64_t available) {
  const int64_t usable = available - kSpareMemory;
  int64_t total = 0;
  int64_t fitting = 0;
  for (int64_t bytes : item_bytes) {
    total += bytes;
    if (total <= usable) ++fitting;
  }
  const int64_t items = static_cast<int64_t>(item_bytes.size());
  if (fitting == items) return absl::OkStatus();
  constexpr double kMiB = 1 << 20;
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: %d decoded items take %.0f MiB of memory and %.0f MiB are "
      "available; %s",
      what, items, total / kMiB, available / kMiB,
      fitting > 0
          ? absl::StrFormat("num_items=%d is the most that fits", fitting)
          : "not even one of them fits"));
}

}  // namespace feedrate
