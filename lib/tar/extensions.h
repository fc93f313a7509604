// The extended headers in front of an entry: pax's, and GNU's long names.
#ifndef FEEDRATE_LIB_TAR_EXTENSIONS_H_
#define FEEDRATE_LIB_TAR_EXTENSIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/tar/error.h"
#include "lib/tar/header.h"
#include "lib/tar/pax.h"

namespace feedrate::tar {

// The longest name or link a header may carry.
inline constexpr uint64_t kMaxNameBytes = uint64_t{64} << 10;

// The largest extended header. Linux caps a file's attributes at 64 KiB each; a
// megabyte is far past any that a tool writes.
inline constexpr uint64_t kMaxPaxBytes = uint64_t{1} << 20;

// Collects the bodies of extended headers and what they say of the entry to
// come. Functions that can fail return false and fill in code and detail of
// `error`.
class Extensions {
 public:
  // Whether `header` is one of ours.
  static bool Handles(const Header& header);

  // Begins the body of such a header; `size` is how many bytes will follow.
  bool Start(const Header& header, uint64_t* size, Error* error);

  // Adds bytes of the body.
  void Append(std::string_view bytes) { body_.append(bytes); }

  // Reads the body, now that it is complete.
  bool Finish(Error* error);

  // Whether there is something that waits for its entry.
  bool pending() const { return pending_; }

  // Forgets what belonged to one entry. Global headers stay in force.
  void Clear();

  // What the extended headers say; pax counts more than GNU.
  const std::string* path() const;
  const std::string* link() const;
  std::optional<int64_t> size() const { return pax_.size; }
  std::optional<Time> mtime() const;
  bool sparse() const { return pax_.sparse; }

  // How many headers carried extended attributes or ACLs.
  uint64_t xattr_headers() const { return xattr_headers_; }

 private:
  bool FinishPax(Error* error);
  bool FinishGlobal(Error* error);
  bool FinishName(std::string* name, Error* error);

  char type_ = 0;
  std::string body_;
  bool pending_ = false;
  PaxFields pax_;
  std::string gnu_name_;
  std::string gnu_link_;
  std::optional<Time> global_mtime_;
  uint64_t xattr_headers_ = 0;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTENSIONS_H_
