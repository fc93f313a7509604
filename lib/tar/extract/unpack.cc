#include "lib/tar/extract/unpack.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/tar/error.h"
#include "lib/tar/extract/block_pool.h"
#include "lib/tar/extract/dispatcher.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/tar/reader.h"

namespace feedrate::tar {
namespace {

// A window of a file that is read for its headers. Between large bodies a page
// is enough; while headers follow closely the window grows.
constexpr size_t kMinWindow = 4 << 10;

// From here on a body is read by its writer, straight from the file: smaller
// ones are in the window already, more likely than not.
constexpr uint64_t kMinRange = 16 << 10;

// A file larger than this is written in parts, so that a stream's blocks come
// free again. A quarter of the pool.
constexpr uint64_t kPartBytes = kPoolBlocks * kPoolBlockBytes / 4;

class Unpacker {
 public:
  Unpacker(Input* input, const std::string& name, int root_fd,
           const UnpackOptions& options)
      : input_(input),
        name_(name),
        options_(options),
        line_(options.listener),
        pool_(options.threads, name, &line_),
        dispatcher_(&pool_, &line_),
        placer_(root_fd, options.strip_components, options.max_bytes,
                &dispatcher_),
        random_access_(input->random_access_fd() >= 0) {}

  Status Run(UnpackResult* result) {
    Status status = ReadAll();
    pieces_.clear();
    partial_.reset();
    stretch_.reset();
    if (!status.ok()) line_.Freeze();
    dispatcher_.Drain();
    // A writer's failure came first: the reader stops because of it.
    if (Status written = pool_.status(); !written.ok()) status = written;
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

  // Reads on into the rest of the block, or into the next one.
  Status ReadWindow(std::string_view* window) {
    if (!shared_) filled_ = 0;  // No writer has seen the block.
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

  // Goes to the entry's end, by seeking past what is not in the window.
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
      stretch_ =
          dispatcher_.OpenLarge(file->target.path, reader_.entry().EndOffset());
      partial_ = std::move(file);
    }
    WriteJob job;
    job.partial = partial_;
    job.part_offset = part_offset_;
    job.pieces = std::exchange(pieces_, {});
    part_offset_ += std::exchange(collected_, 0);
    dispatcher_.AddPart(std::move(job), stretch_);
    return Status();
  }

  void EndEntry(const Entry& entry) {
    if (collecting_ && partial_ == nullptr) {
      WriteJob job;
      job.target = std::move(target_);
      job.pieces = std::exchange(pieces_, {});
      dispatcher_.Add(std::move(job), entry.EndOffset());
    } else if (collecting_) {
      if (collected_ > 0) (void)AddPart();  // Open already: cannot fail.
      partial_.reset();
      stretch_.reset();
    } else {
      dispatcher_.Advance(entry.EndOffset());
    }
    collecting_ = false;
  }

  // Padding, mostly. It is read so that a compressed archive's own checksum,
  // which comes last, is verified; a bomb may hide here too.
  Status PassTrailing(std::string_view window) {
    trailing_bytes_ += window.size();
    trailing_is_zero_ = trailing_is_zero_ && window.find_first_not_of('\0') ==
                                                 std::string_view::npos;
    if (trailing_bytes_ <= options_.max_bytes) return Status();
    return Failed(name_ + ": more than --max-bytes=" +
                  std::to_string(options_.max_bytes) +
                  " bytes follow the end of the archive");
  }

  // Belt and braces: no sentinel may ever stand for bytes that are missing.
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
  FinishLine line_;
  WriterPool pool_;
  Dispatcher dispatcher_;
  Placer placer_;
  Reader reader_;

  BlockRef block_;
  size_t filled_ = 0;
  size_t window_bytes_ = kMinWindow;
  uint64_t read_bytes_ = 0;

  // The file being collected from the stream.
  FileTarget target_;
  std::vector<Piece> pieces_;
  uint64_t collected_ = 0;
  std::shared_ptr<PartialFile> partial_;
  FinishLine::StretchRef stretch_;
  uint64_t part_offset_ = 0;
  uint64_t trailing_bytes_ = 0;

  const bool random_access_;
  bool shared_ = false;      // Pieces of the block went to writers.
  bool collecting_ = false;  // A file from the stream.
  bool ended_ = false;
  bool trailing_is_zero_ = true;
};

}  // namespace

Status Unpack(Input* input, const std::string& name, int root_fd,
              const UnpackOptions& options, UnpackResult* result) {
  return Unpacker(input, name, root_fd, options).Run(result);
}

}  // namespace feedrate::tar
