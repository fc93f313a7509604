// Where a data set comes from: what it is, and its bytes.
#ifndef FEEDRATE_LIB_TAR_STAGE_SOURCE_H_
#define FEEDRATE_LIB_TAR_STAGE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "lib/tar/stage/tree.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A source that has been looked at. Files and folders are open.
class Source {
 public:
  enum class Kind { kFile, kFolder, kStdin, kRemote };

  Source() = default;
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Looks at `text`: a path, "-", file://, or a URL for a client.
  Status Open(const std::string& text);

  // Whether a file is still what Open() saw.
  Status CheckUnchanged() const;

  Kind kind() const { return kind_; }
  int fd() const { return fd_; }
  // The absolute path or the URL.
  const std::string& name() const { return name_; }
  // Bytes, where they are known beforehand.
  std::optional<uint64_t> size() const { return size_; }
  // Says in one line what the source is and which state of it this is. Empty
  // when nothing can tell.
  const std::string& identity() const { return identity_; }

 private:
  Status OpenPath(const std::string& path);
  Status OpenFolder(const std::string& path);
  Status OpenRemote(const std::string& url);

  Kind kind_ = Kind::kStdin;
  int fd_ = -1;
  std::string name_;
  std::optional<uint64_t> size_;
  std::string identity_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_SOURCE_H_
