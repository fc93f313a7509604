#include "lib/tar/stage/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lib/tar/error.h"
#include "lib/tar/extract/dispatcher.h"
#include "lib/tar/extract/finish_line.h"
#include "lib/tar/extract/placer.h"
#include "lib/tar/extract/writer_pool.h"

namespace feedrate::tar {
namespace {

class Walker {
 public:
  Walker(const std::string& name, const TreeVisitor& visitor)
      : name_(name), visitor_(visitor) {}

  // Everything in `folder`, which lies at `path` below the root.
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

class Copier {
 public:
  Copier(const std::string& name, int dest_fd, const UnpackOptions& options)
      : options_(options),
        line_(options.listener),
        pool_(options.threads, name, &line_),
        dispatcher_(&pool_, &line_),
        placer_(dest_fd, options.strip_components, options.max_bytes,
                &dispatcher_) {}

  Status Copy(const Entry& entry, const FolderRef& folder,
              const std::string& leaf) {
    ++ordinal_;
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

  Status Finish(Status status, UnpackResult* result) {
    if (!status.ok()) line_.Freeze();
    dispatcher_.Drain();
    if (Status written = pool_.status(); !written.ok()) status = written;
    result->counts = *placer_.counts();
    result->archive_bytes = result->counts.bytes;
    return status;
  }

 private:
  const UnpackOptions& options_;
  FinishLine line_;
  WriterPool pool_;
  Dispatcher dispatcher_;
  Placer placer_;
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
  *summary = TreeSummary();
  return WalkTree(
      root_fd, name,
      [summary](const Entry& entry, const FolderRef&, const std::string&) {
        ++summary->count;
        summary->bytes += entry.size;
        if (Later(entry.mtime, summary->newest)) {
          summary->newest = entry.mtime;
        }
        return Status();
      });
}

Status CopyTree(int root_fd, const std::string& name, int dest_fd,
                const UnpackOptions& options, UnpackResult* result) {
  Copier copier(name, dest_fd, options);
  Status status =
      WalkTree(root_fd, name,
               [&copier](const Entry& entry, const FolderRef& folder,
                         const std::string& leaf) {
                 return copier.Copy(entry, folder, leaf);
               });
  return copier.Finish(status, result);
}

}  // namespace feedrate::tar
