// Headers of tar archives: numbers, the 512-byte header block, and the extended
// headers of pax and GNU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/tar/status.h"

namespace feedrate::tar {

// Reads a header field of `width` bytes: octal text surrounded by blanks or
// NULs, or, with the top bit of the first byte set, a big-endian
// two's-complement number (GNU and star use it for values too large for octal).
// An empty field is 0. Returns false for anything else and for values that do
// not fit an int64_t.
bool ParseNumber(const char* field, size_t width, int64_t* value);

// Reads all of `text` as decimal digits. Returns false when it has another
// character, is empty, or does not fit an int64_t.
bool ParseDecimal(std::string_view text, int64_t* value);

// A time stamp. `nanoseconds` is in [0, 1e9), also before 1970, as in struct
// timespec.
struct Time {
  int64_t seconds = 0;
  int32_t nanoseconds = 0;
};

// Reads pax's "[-]seconds[.fraction]"; digits after the ninth are dropped.
bool ParsePaxTime(std::string_view text, Time* time);

inline constexpr size_t kBlockSize = 512;

// The block at the start of every entry. Fields are in archive order. `prefix`
// is ustar's; GNU and v7 store other things there.
struct Header {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char padding[12];
};
static_assert(sizeof(Header) == kBlockSize);

// Whether all 512 bytes are zero: two such blocks end an archive.
bool IsZeroBlock(const void* block);

// Whether the checksum field matches. Old writers summed signed bytes, so
// either sum is accepted.
bool ChecksumMatches(const Header& header);

// The entry's name: ustar's prefix, a slash, and the name field.
std::string HeaderName(const Header& header);

// The name that a link points to.
std::string HeaderLink(const Header& header);

// Bytes from the end of `size` bytes of data to the next block.
inline uint64_t PaddingAfter(uint64_t size) {
  return (kBlockSize - size % kBlockSize) % kBlockSize;
}

// The pax records that this reader uses. Unknown records are skipped, as pax
// requires.
struct PaxFields {
  std::optional<std::string> path;
  std::optional<std::string> link;
  std::optional<int64_t> size;
  std::optional<Time> mtime;
  bool sparse = false;      // Any GNU.sparse.* record.
  bool has_xattrs = false;  // Any record of extended attributes or ACLs.
};

// Reads the body of an extended header, lines of "length key=value", into
// `fields`. A later record overrides an earlier one; an empty value removes it.
// Returns false, with the reason in `why` (a constant string), when the body is
// malformed.
bool ParsePax(std::string_view body, PaxFields* fields, const char** why);

// The longest name or link that is accepted.
inline constexpr uint64_t kMaxNameBytes = uint64_t{64} << 10;

// The largest extended header that is accepted. Linux limits a file's
// attributes to 64 KiB each; no tool writes headers near a megabyte.
inline constexpr uint64_t kMaxPaxBytes = uint64_t{1} << 20;

// The extended headers in front of an entry: pax headers and GNU long names.
// Collects their bodies and what they say about the next entry. Functions that
// can fail return false and fill in code and detail of `error`.
class Extensions {
 public:
  // Whether `header` is an extended header.
  static bool Handles(const Header& header);

  // Begins the body of an extended header. `*size` is set to the number of
  // bytes that follow.
  bool Start(const Header& header, uint64_t* size, Error* error);

  // Adds bytes of the body.
  void Append(std::string_view bytes) { body_.append(bytes); }

  // Reads the body, now that it is complete.
  bool Finish(Error* error);

  // Whether extended headers were read whose entry has not come yet.
  bool pending() const { return pending_; }

  // Drops what belonged to one entry. Global headers stay in force.
  void Clear();

  // What the extended headers say. Pax takes precedence over GNU.
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
