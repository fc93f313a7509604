#include "lib/tar/extract/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "lib/tar/error.h"

namespace feedrate::tar {
namespace {

constexpr int kFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Status WriteFailure(const FileTarget& target, int error) {
  return SystemFailure("cannot write", target.path, error);
}

// All of `count` bytes, or a failure.
Status WriteAll(const FileTarget& target, int fd, const char* data,
                size_t count) {
  while (count > 0) {
    const ssize_t written = write(fd, data, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return WriteFailure(target, errno);
    data += written;
    count -= written;
  }
  return Status();
}

}  // namespace

bool RemoveLeaf(int folder_fd, const char* leaf) {
  return unlinkat(folder_fd, leaf, 0) == 0 || errno == ENOENT;
}

Status CreateFile(const FileTarget& target, int* fd) {
  const int folder_fd = target.folder->fd();
  const uint32_t mode = target.mode & 0777;
  *fd = openat(folder_fd, target.leaf_name(), kFlags, mode);
  if (*fd < 0 && errno == EEXIST) {
    if (!RemoveLeaf(folder_fd, target.leaf_name())) {
      if (errno == EISDIR) {
        return Failed("entry " + Quote(target.path) +
                      ": a folder of that name is already there; remove it or "
                      "choose another --dest");
      }
      return SystemFailure("cannot replace", target.path, errno);
    }
    *fd = openat(folder_fd, target.leaf_name(), kFlags, mode);
  }
  if (*fd < 0) return SystemFailure("cannot create", target.path, errno);
  return Status();
}

Status WritePieces(const FileTarget& target, int fd, uint64_t offset,
                   const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    size_t done = 0;
    while (done < piece.size) {
      const ssize_t written = pwrite(fd, piece.data + done, piece.size - done,
                                     static_cast<off_t>(offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return WriteFailure(target, errno);
      done += written;
    }
    offset += piece.size;
  }
  return Status();
}

Status CopyRange(const FileTarget& target, int fd, int source_fd,
                 uint64_t source_offset, const std::string& source_name,
                 char* buffer, size_t buffer_size) {
  uint64_t done = 0;
  while (done < target.size) {
    const size_t want = std::min<uint64_t>(buffer_size, target.size - done);
    const ssize_t got = pread(source_fd, buffer, want,
                              static_cast<off_t>(source_offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemFailure("cannot read", source_name, errno);
    if (got == 0) {
      return Failed(source_name + ": ended in the middle of " +
                    Quote(target.path) + "; it changed while it was read");
    }
    TAR_RETURN_IF_ERROR(WriteAll(target, fd, buffer, got));
    done += got;
  }
  return Status();
}

Status FinishFile(const FileTarget& target, int fd) {
  struct timespec times[2] = {};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = target.mtime.seconds;
  times[1].tv_nsec = target.mtime.nanoseconds;
  // A file system without times is no reason to stop.
  (void)futimens(fd, times);
  if (close(fd) != 0 && errno != EINTR) return WriteFailure(target, errno);
  return Status();
}

}  // namespace feedrate::tar
