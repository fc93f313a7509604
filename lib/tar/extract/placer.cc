#include "lib/tar/extract/placer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <utility>

namespace feedrate::tar {
namespace {

// Creating an empty file takes about 3 us: with 32 files per batch, a lock and
// a wake-up no longer matter. Two photographs fill a batch.
constexpr size_t kBatchJobs = 32;
constexpr uint64_t kBatchBytes = 256 << 10;

// Two megabytes of memory. An archive has so many hard links between two
// recorded offsets only if it has nothing else.
constexpr size_t kMaxRead = 1 << 16;

// More than all the writers of many killed runs can leave.
constexpr size_t kMaxGone = 1000;

uint64_t HashOf(const std::string& path) {
  return std::hash<std::string>()(path);
}

}  // namespace

void Dispatcher::Settle(const std::string& path) {
  const uint64_t name = HashOf(path);
  const bool in_batch =
      std::find(names_.begin(), names_.end(), name) != names_.end();
  if (in_batch || written_->IsOpen(name)) Drain();
}

Status Dispatcher::BeforeReading(const std::string& path) {
  Settle(path);
  if (read_.size() >= kMaxRead) TAR_RETURN_IF_ERROR(RecordOffset());
  read_.insert(HashOf(path));
  return Status();
}

Status Dispatcher::BeforeWriting(const std::string& path) {
  Settle(path);
  return read_.count(HashOf(path)) > 0 ? RecordOffset() : Status();
}

Status Dispatcher::RecordOffset() {
  Drain();
  TAR_RETURN_IF_ERROR(pool_->status());
  if (!written_->Tell()) {
    return Failed(
        "the journal cannot be written; a killed run could not be "
        "resumed: free some space and run again");
  }
  read_.clear();
  return Status();
}

void Dispatcher::Add(WriteJob job, uint64_t end_offset) {
  names_.push_back(HashOf(job.target.path));
  bytes_ += job.target.size;
  end_offset_ = end_offset;
  jobs_.push_back(std::move(job));
  if (jobs_.size() >= kBatchJobs || bytes_ >= kBatchBytes) Flush();
}

WrittenPrefix::SpanRef Dispatcher::OpenLarge(const std::string& path,
                                             uint64_t end_offset) {
  Flush();
  end_offset_ = flushed_offset_ = end_offset;
  return written_->Open(end_offset, {HashOf(path)});
}

void Dispatcher::AddPart(WriteJob job, WrittenPrefix::SpanRef span) {
  WriteBatch batch;
  batch.jobs.push_back(std::move(job));
  batch.span = std::move(span);
  pool_->Add(std::move(batch));
}

void Dispatcher::Flush() {
  if (end_offset_ == flushed_offset_) return;
  flushed_offset_ = end_offset_;
  WriteBatch batch;
  batch.span = written_->Open(end_offset_, std::exchange(names_, {}));
  batch.jobs = std::exchange(jobs_, {});
  bytes_ = 0;
  // Without jobs, the span is finished when it goes out of scope.
  if (!batch.jobs.empty()) pool_->Add(std::move(batch));
}

void Dispatcher::Drain() {
  Flush();
  written_->WaitUntilClear();
}

namespace {

Status Refuse(const Entry& entry, std::string_view why) {
  std::string message = "entry " + Quote(entry.path) + ": refused: ";
  return Failed(message.append(why));
}

bool IsRegularFile(int folder_fd, const char* leaf) {
  struct stat info;
  return fstatat(folder_fd, leaf, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode);
}

// Calls `make`; if something is in the way, removes it and calls `make` again.
template <typename Make>
int MakeAnew(int folder_fd, const char* leaf, const Make& make) {
  if (make() == 0) return 0;
  if (errno != EEXIST) return errno;
  if (!RemoveLeaf(folder_fd, leaf)) return errno;
  return make() == 0 ? 0 : errno;
}

}  // namespace

Placer::Placer(int root_fd, int strip, uint64_t max_bytes,
               Dispatcher* dispatcher)
    : strip_(strip),
      max_bytes_(max_bytes),
      dispatcher_(dispatcher),
      folders_(root_fd, [dispatcher](const std::string& path) {
        dispatcher->Settle(path);
      }) {}

Status Placer::Place(const Entry& entry, bool write, FileTarget* target,
                     bool* is_target) {
  *is_target = false;
  PlacedName name = PlaceName(entry.path, strip_);
  if (name.refusal != nullptr) return Refuse(entry, name.refusal);
  if (name.path.size() >= PATH_MAX) {
    return Refuse(entry, "its name is longer than the system allows");
  }
  PlacedName link;
  if (entry.type == Entry::Type::kHardLink) {
    link = PlaceName(entry.link, strip_);
    if (link.refusal != nullptr) {
      return Refuse(entry, "it links to " + Quote(entry.link) +
                               ", outside of the destination");
    }
    // A link to a skipped entry is skipped too.
    if (name.skip == Skip::kNone) name.skip = link.skip;
  } else if (entry.type == Entry::Type::kSymlink) {
    const char* refusal = SymlinkRefusal(name.path, entry.link);
    if (refusal != nullptr) {
      return Refuse(entry, std::string(refusal) + ": " + Quote(entry.link));
    }
  }
  if (name.skip != Skip::kNone) {
    ++counts_.skipped[static_cast<int>(name.skip)];
    return Status();
  }
  if (name.path.empty() && entry.type != Entry::Type::kFolder) {
    return Refuse(entry, "it has the destination's own name");
  }
  TAR_RETURN_IF_ERROR(Count(entry));
  Status made = write ? Make(entry, name.path, link.path, target, is_target)
                      : CheckWritten(entry, name.path);
  if (write && made.ok() && !gone_.empty()) gone_.erase(name.path);
  if (made.ok()) return made;
  return Failed("entry " + Quote(entry.path) + ": " + made.message());
}

Status Placer::Count(const Entry& entry) {
  switch (entry.type) {
    case Entry::Type::kFolder:
      ++counts_.folders;
      break;
    case Entry::Type::kSymlink:
      ++counts_.symlinks;
      break;
    case Entry::Type::kHardLink:
      ++counts_.hard_links;
      break;
    case Entry::Type::kFile:
      if (entry.size > max_bytes_ - counts_.bytes) {
        return Refuse(entry, "with it there is more data than --max-bytes=" +
                                 std::to_string(max_bytes_) + " allows");
      }
      ++counts_.files;
      counts_.bytes += entry.size;
      break;
  }
  return Status();
}

Status Placer::Make(const Entry& entry, const std::string& path,
                    const std::string& link, FileTarget* target,
                    bool* is_target) {
  FolderRef folder;
  switch (entry.type) {
    case Entry::Type::kFolder:
      return folders_.Make(path, entry.mode, &folder);
    case Entry::Type::kSymlink:
      return PlaceSymlink(entry, path);
    case Entry::Type::kHardLink:
      return PlaceHardLink(path, link);
    case Entry::Type::kFile:
      *is_target = true;
      return PlaceFile(entry, path, target);
  }
  return Status();
}

Status Placer::Parent(const std::string& path, FolderRef* folder,
                      size_t* leaf) {
  const size_t slash = path.rfind('/');
  const bool top = slash == std::string::npos;
  *leaf = top ? 0 : slash + 1;
  return folders_.Get(top ? std::string() : path.substr(0, slash), folder);
}

// Only the name is checked: a later entry may have replaced the file.
Status Placer::CheckWritten(const Entry& entry, const std::string& path) {
  FolderRef folder;
  if (entry.type == Entry::Type::kFolder) {
    return folders_.Make(path, entry.mode, &folder);
  }
  size_t leaf = 0;
  TAR_RETURN_IF_ERROR(Parent(path, &folder, &leaf));
  struct stat info;
  if (fstatat(folder->fd(), path.c_str() + leaf, &info, AT_SYMLINK_NOFOLLOW) ==
      0) {
    return Status();
  }
  gone_.insert(path);
  return gone_.size() > kMaxGone ? Lost(path) : Status();
}

Status Placer::Lost(const std::string& path) {
  lost_ = true;
  return Failed("an earlier run wrote " + Quote(path) + ", and it is gone");
}

Status Placer::CheckNothingIsLost() {
  return gone_.empty() ? Status() : Lost(*gone_.begin());
}

Status Placer::PlaceFile(const Entry& entry, const std::string& path,
                         FileTarget* target) {
  TAR_RETURN_IF_ERROR(dispatcher_->BeforeWriting(path));
  TAR_RETURN_IF_ERROR(Parent(path, &target->folder, &target->leaf));
  target->path = path;
  target->mode = entry.mode;
  target->mtime = entry.mtime;
  target->size = entry.size;
  return Status();
}

Status Placer::PlaceSymlink(const Entry& entry, const std::string& path) {
  TAR_RETURN_IF_ERROR(dispatcher_->BeforeWriting(path));
  FolderRef folder;
  size_t leaf = 0;
  TAR_RETURN_IF_ERROR(Parent(path, &folder, &leaf));
  const char* name = path.c_str() + leaf;
  const int error = MakeAnew(folder->fd(), name, [&] {
    return symlinkat(entry.link.c_str(), folder->fd(), name);
  });
  if (error == 0) return Status();
  return SystemFailure("cannot make symbolic link", path, error);
}

// A second name for a symbolic link would change what it points to, possibly to
// a place outside. So only files are linked, and the result is checked again in
// case another process has changed it in the meantime.
Status Placer::PlaceHardLink(const std::string& path, const std::string& link) {
  if (path == link) return Failed("a hard link to itself");
  TAR_RETURN_IF_ERROR(dispatcher_->BeforeWriting(path));
  TAR_RETURN_IF_ERROR(dispatcher_->BeforeReading(link));
  FolderRef from, to;
  size_t from_leaf = 0, to_leaf = 0;
  TAR_RETURN_IF_ERROR(Parent(link, &from, &from_leaf));
  TAR_RETURN_IF_ERROR(Parent(path, &to, &to_leaf));
  const char* source = link.c_str() + from_leaf;
  const char* name = path.c_str() + to_leaf;
  if (!IsRegularFile(from->fd(), source)) {
    if (gone_.count(link) > 0) return Lost(link);
    return Failed("it links to " + Quote(link) +
                  ", which is not a file that came before it");
  }
  const int error = MakeAnew(to->fd(), name, [&] {
    return linkat(from->fd(), source, to->fd(), name, 0);
  });
  if (error != 0) return SystemFailure("cannot make hard link", path, error);
  if (!IsRegularFile(to->fd(), name)) {
    RemoveLeaf(to->fd(), name);
    return Failed("the file it links to changed under us");
  }
  return Status();
}

}  // namespace feedrate::tar
