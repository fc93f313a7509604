// Reads tar archives: ustar, pax, GNU and v7, as a stream of untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/tar/header.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// One entry, as the archive describes it. Nothing is checked against a file
// system.
struct Entry {
  enum class Type { kFile, kFolder, kSymlink, kHardLink };

  Type type = Type::kFile;
  std::string path;   // May be absolute, hold "..", or end in a slash.
  std::string link;   // The target; only for links.
  uint64_t size = 0;  // Bytes of data; 0 unless it is a file.
  Time mtime;
  uint32_t mode = 0;    // All twelve bits, including setuid.
  uint64_t offset = 0;  // The first header, including extended headers.
  uint64_t body_offset = 0;

  // Offset of the next entry's first header.
  uint64_t EndOffset() const { return body_offset + size + PaddingAfter(size); }
};

// Takes bytes and returns events. The reader does no I/O, stores no bodies, and
// needs at most about 1.2 MB of memory, whatever the archive contains. A caller
// with a file can seek; a caller with a pipe pushes what arrives, in pieces of
// any size:
//
//   Reader reader;
//   while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
//     std::string_view input(buffer, n);
//     for (;;) {
//       switch (reader.Next(&input)) {
//         case Reader::Event::kEntry: Begin(reader.entry()); continue;
//         case Reader::Event::kBody: Append(reader.body()); continue;
//         case Reader::Event::kEntryEnd: Close(); continue;
//         ...
//       }
//     }
//   }
//   if (reader.Finish() != Reader::Event::kEnd) Report(reader.error());
//
// Errors name the entry and its offset. Anything doubtful is refused: a data
// set reader that guesses is worse than one that stops.
class Reader {
 public:
  enum class Event {
    kNeedInput,  // `input` is used up.
    kEntry,      // entry() is the next entry.
    kBody,       // body() is the next piece of data, within `input`.
    kEntryEnd,   // Body and padding have been read.
    kEnd,        // The end of the archive; further bytes are not part of it.
    kError,      // error() has the reason. No further events follow.
  };

  // Consumes bytes from the front of `input` up to the next event.
  Event Next(std::string_view* input);

  // Call when there are no more bytes. Returns kEnd, or kError when bytes are
  // missing: an archive without its end mark was truncated.
  Event Finish();

  // Valid from kEntry to kEntryEnd.
  const Entry& entry() const { return entry_; }

  // Valid until the next call.
  std::string_view body() const { return body_; }

  // Skips the rest of the entry's data and padding. Returns the number of bytes
  // that the caller must advance its input by, for example by seeking, before
  // it calls Next() again. REQUIRES: the last event was kEntry or kBody.
  uint64_t SkipRest();

  // Offset of the next input byte in the archive.
  uint64_t offset() const { return offset_; }

  // Number of extended headers with extended attributes or ACLs.
  uint64_t xattr_headers() const { return extensions_.xattr_headers(); }

  const Error& error() const { return error_; }

 private:
  enum class State { kHeader, kExtension, kBody, kEntryEnd, kEnd, kError };

  Event Fail();
  void Consume(std::string_view* input, uint64_t count);
  const Header* TakeBlock(std::string_view* input);
  void TakePadding(std::string_view* input);

  // Each does one step. kNeedInput means that there is no event yet.
  Event StepHeader(std::string_view* input);
  Event StepZeroBlock();
  Event StepExtension(std::string_view* input);
  Event StepEntry(const Header& header);
  Event StepBody(std::string_view* input);

  State state_ = State::kHeader;
  uint64_t offset_ = 0;

  // Assembles a header that arrives in pieces.
  char block_[kBlockSize];
  size_t block_filled_ = 0;
  bool seen_zero_block_ = false;

  Extensions extensions_;
  uint64_t group_offset_ = 0;  // Where the entry's extended headers begin.

  Entry entry_;
  std::string_view body_;
  uint64_t body_left_ = 0;
  uint64_t padding_left_ = 0;
  Error error_;
};

}  // namespace feedrate::tar
