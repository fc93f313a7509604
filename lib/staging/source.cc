#include "lib/staging/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/hash/sha256.h"
#include "lib/tar/extract/placer.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/url/secrets.h"

namespace feedrate::tar {
namespace {

class Walker {
 public:
  Walker(const std::string& name, const TreeVisitor& visitor)
      : name_(name), visitor_(visitor) {}

  // Visits everything in `folder`, which is at `path` below the root.
  Status Walk(const FolderRef& folder, const std::string& path) {
    std::vector<std::string> names;
    TAR_RETURN_IF_ERROR(List(*folder, path, &names));
    for (const std::string& leaf : names) {
      TAR_RETURN_IF_ERROR(
          Visit(folder, path.empty() ? leaf : path + "/" + leaf, leaf));
    }
    return Status();
  }

 private:
  Status Failure(const std::string& path) const {
    return SystemFailure("cannot read", name_ + "/" + path, errno);
  }

  Status List(const Folder& folder, const std::string& path,
              std::vector<std::string>* names) const {
    const int fd = openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return Failure(path);
    DIR* listing = fdopendir(fd);
    errno = 0;
    while (const dirent* item = readdir(listing)) {
      if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
        names->push_back(item->d_name);
      }
      errno = 0;
    }
    const int error = errno;
    closedir(listing);
    if (error != 0) {
      return SystemFailure("cannot read", name_ + "/" + path, error);
    }
    std::sort(names->begin(), names->end());
    return Status();
  }

  Status Visit(const FolderRef& folder, const std::string& path,
               const std::string& leaf) {
    struct stat info;
    if (fstatat(folder->fd(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return Failure(path);
    }
    Entry entry;
    entry.path = path;
    entry.mode = info.st_mode & 07777;
    entry.mtime = {info.st_mtim.tv_sec,
                   static_cast<int32_t>(info.st_mtim.tv_nsec)};
    if (S_ISREG(info.st_mode)) {
      entry.type = Entry::Type::kFile;
      entry.size = info.st_size;
    } else if (S_ISDIR(info.st_mode)) {
      entry.type = Entry::Type::kFolder;
    } else if (S_ISLNK(info.st_mode)) {
      entry.type = Entry::Type::kSymlink;
      TAR_RETURN_IF_ERROR(ReadLink(*folder, path, leaf, &entry.link));
    } else {
      return Failed("entry " + Quote(path) +
                    ": devices, pipes and sockets are not supported");
    }
    TAR_RETURN_IF_ERROR(visitor_(entry, folder, leaf));
    if (entry.type != Entry::Type::kFolder) return Status();
    const int fd = openat(folder->fd(), leaf.c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return Failure(path);
    return Walk(std::make_shared<Folder>(fd), path);
  }

  Status ReadLink(const Folder& folder, const std::string& path,
                  const std::string& leaf, std::string* target) const {
    char buffer[PATH_MAX];
    const ssize_t got =
        readlinkat(folder.fd(), leaf.c_str(), buffer, sizeof(buffer));
    if (got <= 0) return Failure(path);
    target->assign(buffer, got);
    return Status();
  }

  const std::string& name_;
  const TreeVisitor& visitor_;
};

bool Later(const Time& a, const Time& b) {
  return a.seconds != b.seconds ? a.seconds > b.seconds
                                : a.nanoseconds > b.nanoseconds;
}

std::string Decimal(int64_t seconds, int32_t nanoseconds) {
  char text[48];
  snprintf(text, sizeof(text), "%lld.%09d", static_cast<long long>(seconds),
           nanoseconds);
  return text;
}

class Summarizer {
 public:
  void Add(const Entry& entry) {
    ++summary_.count;
    summary_.bytes += entry.size;
    if (Later(entry.mtime, summary_.newest)) summary_.newest = entry.mtime;
    const std::string facts =
        std::to_string(static_cast<int>(entry.type)) + " " +
        std::to_string(entry.size) + " " +
        Decimal(entry.mtime.seconds, entry.mtime.nanoseconds);
    // With their zeros, which end them.
    for (const std::string* text : {&entry.path, &entry.link, &facts}) {
      hash_.Update(text->c_str(), text->size() + 1);
    }
  }

  TreeSummary Finish() {
    char hex[Sha256::kHexSize + 1];
    hash_.FinishHex(hex);
    summary_.digest = hex;
    return summary_;
  }

 private:
  TreeSummary summary_;
  Sha256 hash_;
};

class Copier {
 public:
  Copier(const std::string& name, int dest_fd, const UnpackOptions& options)
      : options_(options),
        written_(options.listener, options.listener_step),
        pool_(options.threads, name, &written_),
        dispatcher_(&pool_, &written_),
        placer_(dest_fd, options.strip_components, options.max_bytes,
                &dispatcher_) {}

  Status Copy(const Entry& entry, const FolderRef& folder,
              const std::string& leaf) {
    ++ordinal_;
    summarizer_.Add(entry);
    TAR_RETURN_IF_ERROR(pool_.status());
    WriteJob job;
    bool is_file = false;
    const bool write = ordinal_ > options_.resume_offset;
    TAR_RETURN_IF_ERROR(placer_.Place(entry, write, &job.target, &is_file));
    if (is_file) {
      job.source_folder = folder;
      job.source_leaf = leaf;
      dispatcher_.Add(std::move(job), ordinal_);
    } else {
      dispatcher_.Advance(ordinal_);
    }
    if (options_.read_offset != nullptr) *options_.read_offset += entry.size;
    return Status();
  }

  Status Finish(Status status, UnpackResult* result, TreeSummary* summary) {
    *summary = summarizer_.Finish();
    if (!status.ok()) written_.Freeze();
    dispatcher_.Drain();
    if (Status written = pool_.status(); !written.ok()) status = written;
    if (status.ok()) status = placer_.CheckNothingIsLost();
    result->counts = *placer_.counts();
    result->lost = placer_.lost();
    result->archive_bytes = result->counts.bytes;
    return status;
  }

 private:
  const UnpackOptions& options_;
  WrittenPrefix written_;
  WriterPool pool_;
  Dispatcher dispatcher_;
  Placer placer_;
  Summarizer summarizer_;
  uint64_t ordinal_ = 0;
};

}  // namespace

Status WalkTree(int root_fd, const std::string& name,
                const TreeVisitor& visitor) {
  const int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemFailure("cannot read", name, errno);
  return Walker(name, visitor).Walk(std::make_shared<Folder>(fd), "");
}

Status SummarizeTree(int root_fd, const std::string& name,
                     TreeSummary* summary) {
  Summarizer summarizer;
  TAR_RETURN_IF_ERROR(WalkTree(
      root_fd, name,
      [&summarizer](const Entry& entry, const FolderRef&, const std::string&) {
        summarizer.Add(entry);
        return Status();
      }));
  *summary = summarizer.Finish();
  return Status();
}

Status CopyTree(int root_fd, const std::string& name, int dest_fd,
                const UnpackOptions& options, UnpackResult* result,
                TreeSummary* summary) {
  Copier copier(name, dest_fd, options);
  Status status =
      WalkTree(root_fd, name,
               [&copier](const Entry& entry, const FolderRef& folder,
                         const std::string& leaf) {
                 return copier.Copy(entry, folder, leaf);
               });
  return copier.Finish(status, result, summary);
}

namespace {

constexpr std::string_view kFileScheme = "file://";

std::string FileIdentity(const std::string& path, const struct stat& info) {
  return "file " + path + " size " + std::to_string(info.st_size) + " mtime " +
         Decimal(info.st_mtim.tv_sec,
                 static_cast<int32_t>(info.st_mtim.tv_nsec));
}

std::string FolderIdentity(const std::string& path,
                           const TreeSummary& summary) {
  return "folder " + path + " count " + std::to_string(summary.count) +
         " bytes " + std::to_string(summary.bytes) + " newest " +
         Decimal(summary.newest.seconds, summary.newest.nanoseconds) +
         " names " + summary.digest;
}

Status Changed(const std::string& name) {
  return Failed(name + " changed while it was staged; run again");
}

std::string AbsolutePath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string absolute = resolved != nullptr ? resolved : path;
  free(resolved);
  return absolute;
}

}  // namespace

Source::~Source() {
  if (fd_ > 0) close(fd_);
}

Status Source::Open(const std::string& text, int timeout_s) {
  timeout_s_ = timeout_s;
  if (text == "-") {
    kind_ = Kind::kStdin;
    fd_ = STDIN_FILENO;
    name_ = "stdin";
    return Status();
  }
  if (IsRemote(text)) return OpenRemote(text);
  if (text.compare(0, kFileScheme.size(), kFileScheme) == 0) {
    const std::string path = text.substr(kFileScheme.size());
    if (path.empty() || path[0] != '/') {
      return CallersMistake("--source=" + text +
                            ": want file:/// and an absolute path");
    }
    return OpenPath(path);
  }
  const size_t scheme = text.find("://");
  if (scheme != std::string::npos && access(text.c_str(), F_OK) != 0) {
    return CallersMistake("--source=" + ShownUrl(text) + ": " +
                          text.substr(0, scheme) +
                          ":// is unknown; use a path, -, file://, https://, "
                          "gs:// or s3://");
  }
  return OpenPath(text);
}

Status Source::OpenPath(const std::string& path) {
  name_ = AbsolutePath(path);
  // O_NONBLOCK: opening a named pipe must not hang before we can check it.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0 && errno == ENOENT) {
    return CallersMistake("--source=" + path + ": there is no such file");
  }
  struct stat info;
  if (fd_ < 0 || fstat(fd_, &info) != 0) {
    return SystemFailure("cannot read", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return OpenFolder(path);
  if (!S_ISREG(info.st_mode)) {
    return CallersMistake("--source=" + path +
                          ": neither a file nor a folder; for a pipe use "
                          "--source=- and redirect it");
  }
  kind_ = Kind::kFile;
  size_ = info.st_size;
  identity_ = FileIdentity(name_, info);
  return Status();
}

Status Source::OpenFolder(const std::string& path) {
  kind_ = Kind::kFolder;
  TreeSummary summary;
  TAR_RETURN_IF_ERROR(SummarizeTree(fd_, name_, &summary));
  size_ = summary.bytes;
  identity_ = FolderIdentity(name_, summary);
  return Status();
}

Status Source::OpenRemote(const std::string& url) {
  kind_ = Kind::kRemote;
  url_ = url;
  name_ = ShownUrl(url);
  TAR_RETURN_IF_ERROR(Hidden(DescribeRemote(url, timeout_s_, &remote_), url));
  size_ = remote_.size;
  identity_ = RemoteIdentity(remote_);
  return Status();
}

std::string Source::RemoteIdentity(const RemoteInfo& info) const {
  if (!info.size || info.version.empty()) return "";
  std::string identity = "url " + name_;
  // The values of a query are hidden, and tell two objects apart.
  if (name_.find('?') != std::string::npos) {
    identity += " object " + Sha256Hex(ObjectUrl(url_));
  }
  return identity + " size " + std::to_string(*info.size) + " version " +
         info.version;
}

Status Source::CheckUnchanged() const {
  if (kind_ == Kind::kRemote && !identity_.empty()) {
    RemoteInfo now;
    const Status described = DescribeRemote(url_, timeout_s_, &now);
    if (described.ok() && RemoteIdentity(now) != identity_) {
      return Changed(name_);
    }
    // A signed URL may have expired; the version was asked for by curl.
    return remote_.condition.empty() ? Hidden(described, url_) : Status();
  }
  if (kind_ != Kind::kFile) return Status();
  struct stat info;
  if (fstat(fd_, &info) == 0 && FileIdentity(name_, info) == identity_) {
    return Status();
  }
  return Changed(name_);
}

Status Source::CheckUnchanged(const TreeSummary& copied) const {
  return FolderIdentity(name_, copied) == identity_ ? Status() : Changed(name_);
}

}  // namespace feedrate::tar
