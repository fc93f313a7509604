// Writes tar archives: shards of data sets, and valid and broken archives for
// tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/tar/header.h"

namespace feedrate::tar {

// Appends entry after entry; each call returns the builder for the next.
//
//   std::string bytes = Builder().Folder("a").File("a/b", "data").Finish();
class Builder {
 public:
  Builder& File(std::string_view name, std::string_view data,
                uint32_t mode = 0644);
  Builder& Folder(std::string_view name, uint32_t mode = 0755);
  Builder& Symlink(std::string_view name, std::string_view target);
  Builder& HardLink(std::string_view name, std::string_view target);

  // An entry of any type. `data` is padded to whole blocks.
  Builder& Add(char type, std::string_view name, std::string_view link,
               std::string_view data, uint32_t mode = 0644);

  // A header made by hand, with its checksum filled in, and the data after it.
  Builder& Add(Header header, std::string_view data);

  // One extended header with one record.
  Builder& Pax(std::string_view key, std::string_view value, char type = 'x');

  // GNU's long name ('L') or link ('K'), written as given; GNU ends it with a
  // NUL.
  Builder& GnuLong(char type, std::string_view text);

  Builder& Raw(std::string_view bytes);

  // The archive without and with its end mark.
  const std::string& bytes() const { return bytes_; }
  std::string Finish() const;

 private:
  std::string bytes_;
};

// A ustar header with a plain octal size, its checksum not yet filled in.
Header MakeHeader(char type, std::string_view name, uint64_t size,
                  uint32_t mode = 0644);

// Writes a field as base-256; `value` may be negative.
void SetBase256(int64_t value, char* field, size_t width);

// Fills in the checksum.
void SetChecksum(Header* header);

// "length key=value\n", with the length that counts itself.
std::string PaxRecord(std::string_view key, std::string_view value);

}  // namespace feedrate::tar
