#include "lib/tar/extract/unpack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "lib/tar/reader.h"

namespace feedrate::tar {
namespace {

// The most that an unprivileged process may request. A larger pipe means fewer
// switches between its two ends.
constexpr int kPipeBytes = 1 << 20;

Status Outcome(ssize_t got, const std::string& name, size_t* count) {
  if (got < 0) return SystemFailure("cannot read", name, errno);
  *count = static_cast<size_t>(got);
  return Status();
}

}  // namespace

FileInput::FileInput(int fd, uint64_t size, std::string name)
    : fd_(fd), size_(size), name_(std::move(name)) {
  // Twice the usual read-ahead, for files that are not in the page cache.
  posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

Status FileInput::Read(char* buffer, size_t count, size_t* got) {
  ssize_t result;
  do {
    result = pread(fd_, buffer, count, static_cast<off_t>(offset_));
  } while (result < 0 && errno == EINTR);
  if (result > 0) offset_ += result;
  return Outcome(result, name_, got);
}

StreamInput::StreamInput(int fd, std::string name)
    : fd_(fd), name_(std::move(name)) {
  (void)fcntl(fd_, F_SETPIPE_SZ,
              kPipeBytes);  // Fails if it is not a pipe, which does not matter.
}

Status StreamInput::Read(char* buffer, size_t count, size_t* got) {
  ssize_t result;
  do {
    result = read(fd_, buffer, count);
  } while (result < 0 && errno == EINTR);
  return Outcome(result, name_, got);
}

namespace {

// The window of a file that is read for its headers. One page is enough between
// large bodies; the window grows while headers follow closely.
constexpr size_t kMinWindow = 4 << 10;

// A body of at least this size is read by its writer, directly from the file.
// Smaller ones are usually in the window already.
constexpr uint64_t kMinRange = 16 << 10;

// A larger file is written in parts, so that a stream's blocks become free
// again. A quarter of the pool.
constexpr uint64_t kPartBytes = kPoolBlocks * kPoolBlockBytes / 4;

class Unpacker {
 public:
  Unpacker(Input* input, const std::string& name, int root_fd,
           const UnpackOptions& options)
      : input_(input),
        name_(name),
        options_(options),
        written_(options.listener, options.listener_step),
        pool_(options.threads, name, &written_),
        dispatcher_(&pool_, &written_),
        placer_(root_fd, options.strip_components, options.max_bytes,
                &dispatcher_),
        random_access_(input->random_access_fd() >= 0) {}

  Status Run(UnpackResult* result) {
    Status status = ReadAll();
    pieces_.clear();
    partial_.reset();
    span_.reset();
    if (!status.ok()) written_.Freeze();
    dispatcher_.Drain();
    // A writer's failure came first; it made the reader stop.
    if (Status written = pool_.status(); !written.ok()) status = written;
    if (status.ok()) status = placer_.CheckNothingIsLost();
    result->lost = placer_.lost();
    if (!status.ok()) return status;
    result->counts = *placer_.counts();
    result->counts.xattr_headers = reader_.xattr_headers();
    result->archive_bytes = read_bytes_;
    result->trailing_bytes = trailing_is_zero_ ? 0 : trailing_bytes_;
    return CheckWritten(result->counts);
  }

 private:
  Status ReadAll() {
    for (;;) {
      std::string_view window;
      TAR_RETURN_IF_ERROR(ReadWindow(&window));
      if (window.empty()) break;
      if (ended_) {
        TAR_RETURN_IF_ERROR(PassTrailing(window));
      } else {
        TAR_RETURN_IF_ERROR(ReadEvents(window));
      }
      TAR_RETURN_IF_ERROR(pool_.status());
    }
    if (reader_.Finish() == Reader::Event::kError) return ReaderFailure();
    return Status();
  }

  Status ReaderFailure() const {
    return Failed(name_ + ": " + Describe(reader_.error()));
  }

  // Continues reading into the rest of the block, or into the next one.
  Status ReadWindow(std::string_view* window) {
    if (!shared_) filled_ = 0;  // No writer uses the block.
    if (block_ == nullptr || filled_ + kMinWindow > kPoolBlockBytes) {
      block_.reset();
      block_ = pool_of_blocks_.TryTake();
      if (block_ == nullptr) {
        dispatcher_.Flush();
        block_ = pool_of_blocks_.Take();
      }
      filled_ = 0;
      shared_ = false;
    }
    size_t want = kPoolBlockBytes - filled_;
    if (random_access_) want = std::min(want, window_bytes_);
    size_t got = 0;
    TAR_RETURN_IF_ERROR(input_->Read(block_.get() + filled_, want, &got));
    *window = {block_.get() + filled_, got};
    filled_ += got;
    read_bytes_ += got;
    window_bytes_ = std::min(2 * window_bytes_, kPoolBlockBytes);
    if (options_.read_offset != nullptr) *options_.read_offset = read_bytes_;
    return Status();
  }

  Status ReadEvents(std::string_view window) {
    for (;;) {
      switch (reader_.Next(&window)) {
        case Reader::Event::kNeedInput:
          return Status();
        case Reader::Event::kError:
          return ReaderFailure();
        case Reader::Event::kEnd:
          ended_ = true;
          return PassTrailing(window);
        case Reader::Event::kEntry:
          TAR_RETURN_IF_ERROR(BeginEntry(reader_.entry(), &window));
          break;
        case Reader::Event::kBody:
          if (collecting_) TAR_RETURN_IF_ERROR(Collect(reader_.body()));
          break;
        case Reader::Event::kEntryEnd:
          EndEntry(reader_.entry());
          break;
      }
    }
  }

  Status BeginEntry(const Entry& entry, std::string_view* window) {
    collecting_ = false;
    if (random_access_ && entry.EndOffset() > input_->size()) {
      return Failed(name_ + ": entry " + Quote(entry.path) + ": the archive " +
                    "is cut short, or the entry lies: it claims " +
                    std::to_string(entry.size) + " bytes at byte " +
                    std::to_string(entry.body_offset) + " of " +
                    std::to_string(input_->size()));
    }
    const bool write = entry.EndOffset() > options_.resume_offset;
    FileTarget target;
    bool is_file = false;
    TAR_RETURN_IF_ERROR(placer_.Place(entry, write, &target, &is_file));
    const bool beyond = random_access_ && entry.size > window->size();
    if (!is_file) {
      if (beyond) SkipBody(window);
      return Status();
    }
    if (beyond && entry.size >= kMinRange) {
      AddRange(entry, std::move(target));
      SkipBody(window);
      return Status();
    }
    collecting_ = true;
    target_ = std::move(target);
    pieces_.clear();
    collected_ = 0;
    part_offset_ = 0;
    return Status();
  }

  void AddRange(const Entry& entry, FileTarget target) {
    WriteJob job;
    job.target = std::move(target);
    job.source_fd = input_->random_access_fd();
    job.source_offset = entry.body_offset;
    dispatcher_.Add(std::move(job), entry.EndOffset());
  }

  // Advances to the entry's end; seeks past what is not in the window.
  void SkipBody(std::string_view* window) {
    const uint64_t count = reader_.SkipRest();
    const uint64_t have = std::min<uint64_t>(count, window->size());
    window->remove_prefix(have);
    if (count == have) return;
    input_->Skip(count - have);
    read_bytes_ += count - have;
    window_bytes_ = kMinWindow;
  }

  Status Collect(std::string_view body) {
    if (!pieces_.empty() &&
        pieces_.back().data + pieces_.back().size == body.data()) {
      pieces_.back().size += body.size();
    } else {
      pieces_.push_back({block_, body.data(), body.size()});
      shared_ = true;
    }
    collected_ += body.size();
    if (collected_ < kPartBytes) return Status();
    return AddPart();
  }

  Status AddPart() {
    if (partial_ == nullptr) {
      auto file = std::make_shared<PartialFile>();
      TAR_RETURN_IF_ERROR(CreateFile(target_, &file->fd));
      file->target = std::move(target_);
      file->left = file->target.size;
      span_ =
          dispatcher_.OpenLarge(file->target.path, reader_.entry().EndOffset());
      partial_ = std::move(file);
    }
    WriteJob job;
    job.partial = partial_;
    job.part_offset = part_offset_;
    job.pieces = std::exchange(pieces_, {});
    part_offset_ += std::exchange(collected_, 0);
    dispatcher_.AddPart(std::move(job), span_);
    return Status();
  }

  void EndEntry(const Entry& entry) {
    if (collecting_ && partial_ == nullptr) {
      WriteJob job;
      job.target = std::move(target_);
      job.pieces = std::exchange(pieces_, {});
      dispatcher_.Add(std::move(job), entry.EndOffset());
    } else if (collecting_) {
      if (collected_ > 0) (void)AddPart();  // Already open, so it cannot fail.
      partial_.reset();
      span_.reset();
    } else {
      dispatcher_.Advance(entry.EndOffset());
    }
    collecting_ = false;
  }

  // Usually padding. It is read so that a compressed archive's own checksum,
  // which comes last, is verified. A decompression bomb may hide here too.
  Status PassTrailing(std::string_view window) {
    trailing_bytes_ += window.size();
    trailing_is_zero_ = trailing_is_zero_ && window.find_first_not_of('\0') ==
                                                 std::string_view::npos;
    if (trailing_bytes_ <= options_.max_bytes) return Status();
    return Failed(name_ + ": more than --max-bytes=" +
                  std::to_string(options_.max_bytes) +
                  " bytes follow the end of the archive");
  }

  // An extra check: a sentinel must never stand for missing bytes.
  Status CheckWritten(const Counts& counts) {
    if (options_.resume_offset > 0) return Status();
    if (pool_.bytes_written() == counts.bytes) return Status();
    return Failed(name_ + ": " + std::to_string(pool_.bytes_written()) +
                  " bytes were written instead of " +
                  std::to_string(counts.bytes));
  }

  Input* const input_;
  const std::string& name_;
  const UnpackOptions& options_;

  BlockPool pool_of_blocks_;
  WrittenPrefix written_;
  WriterPool pool_;
  Dispatcher dispatcher_;
  Placer placer_;
  Reader reader_;

  BlockRef block_;
  size_t filled_ = 0;
  size_t window_bytes_ = kMinWindow;
  uint64_t read_bytes_ = 0;

  // The file that is being collected from the stream.
  FileTarget target_;
  std::vector<Piece> pieces_;
  uint64_t collected_ = 0;
  std::shared_ptr<PartialFile> partial_;
  WrittenPrefix::SpanRef span_;
  uint64_t part_offset_ = 0;
  uint64_t trailing_bytes_ = 0;

  const bool random_access_;
  bool shared_ = false;      // Writers use pieces of the block.
  bool collecting_ = false;  // Collecting a file from the stream.
  bool ended_ = false;
  bool trailing_is_zero_ = true;
};

}  // namespace

Status Unpack(Input* input, const std::string& name, int root_fd,
              const UnpackOptions& options, UnpackResult* result) {
  return Unpacker(input, name, root_fd, options).Run(result);
}

}  // namespace feedrate::tar
