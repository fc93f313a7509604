// The 512-byte block at the head of every entry of a tar archive.
#ifndef FEEDRATE_LIB_TAR_HEADER_H_
#define FEEDRATE_LIB_TAR_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace feedrate::tar {

inline constexpr size_t kBlockSize = 512;

// The fields in the order of the archive. `prefix` is ustar's; GNU and v7 keep
// other things there.
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

// Whether the checksum field matches. Old writers summed signed bytes: either
// sum will do.
bool ChecksumMatches(const Header& header);

// The entry's name: ustar's prefix, a slash, and the name field.
std::string HeaderName(const Header& header);

// The name that a link points to.
std::string HeaderLink(const Header& header);

// Bytes from the end of `size` bytes of data to the next block.
inline uint64_t PaddingAfter(uint64_t size) {
  return (kBlockSize - size % kBlockSize) % kBlockSize;
}

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_HEADER_H_
