// Where a data set comes from: a file, a folder, stdin, or a URL that a client
// program (curl, gcloud, gsutil, aws) fetches.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/staging/remote.h"
#include "lib/tar/extract/safe_path.h"
#include "lib/tar/extract/unpack.h"
#include "lib/tar/header.h"
#include "lib/tar/reader.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// Summary of a folder that changes when its content does.
struct TreeSummary {
  uint64_t count = 0;  // Everything below the folder.
  uint64_t bytes = 0;  // Data in files.
  Time newest;
  std::string digest;  // Covers all names, kinds, sizes and times.
};

// Called for each entry below the folder, with the folder that contains it and
// its name there. Parents come before their children.
using TreeVisitor = std::function<Status(
    const Entry& entry, const FolderRef& folder, const std::string& leaf)>;

// Walks the tree below `root_fd` in name order, so that two walks of an
// unchanged tree are the same. Links are not followed. Devices, pipes and
// sockets are errors. `name` is for messages.
Status WalkTree(int root_fd, const std::string& name,
                const TreeVisitor& visitor);

Status SummarizeTree(int root_fd, const std::string& name,
                     TreeSummary* summary);

// Copies the tree into `dest_fd` by the same rules as for archives. All
// offsets, including those in `options`, are numbers of entries. `*summary` is
// set to the summary of what was copied.
Status CopyTree(int root_fd, const std::string& name, int dest_fd,
                const UnpackOptions& options, UnpackResult* result,
                TreeSummary* summary);

// An open source.
class Source {
 public:
  enum class Kind { kFile, kFolder, kStdin, kRemote };

  Source() = default;
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // `text` is a path, "-", file://, or a URL for a client program. Files and
  // folders stay open; a client program is asked for size and version, and has
  // `timeout_s` for it (0: no limit).
  Status Open(const std::string& text, int timeout_s = 0);

  // Fails when a file or an object has changed since Open().
  Status CheckUnchanged() const;
  // Fails when a folder has: `copied` is the summary of what was copied.
  Status CheckUnchanged(const TreeSummary& copied) const;

  Kind kind() const { return kind_; }
  int fd() const { return fd_; }
  // For messages and files: the absolute path, or the URL without its secrets.
  const std::string& name() const { return name_; }
  // REQUIRES: kRemote. Never write it anywhere.
  const std::string& url() const { return url_; }
  // REQUIRES: kRemote.
  const RemoteInfo& remote() const { return remote_; }
  int timeout_s() const { return timeout_s_; }
  // Size in bytes, if it is known in advance.
  std::optional<uint64_t> size() const { return size_; }
  // One line that identifies the source and its version. Empty when that is
  // unknown.
  const std::string& identity() const { return identity_; }

 private:
  Status OpenPath(const std::string& path);
  Status OpenFolder(const std::string& path);
  Status OpenRemote(const std::string& url);
  std::string RemoteIdentity(const RemoteInfo& info) const;

  Kind kind_ = Kind::kStdin;
  int fd_ = -1;
  std::string name_;
  std::string url_;
  RemoteInfo remote_;
  int timeout_s_ = 0;
  std::optional<uint64_t> size_;
  std::string identity_;
};

}  // namespace feedrate::tar
