// Reads tar archives: ustar, pax, GNU and v7, as a stream of untrusted bytes.
//
// Bytes go in, events come out; the reader does no I/O, keeps no body, and
// needs at most some 1.2 MB, whatever the archive says. A caller with a file
// reads where it likes; one with a pipe pushes what arrives, in pieces of any
// size:
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
// What it refuses, it refuses with the entry's name and offset: a reader of
// data sets that guesses is worse than one that stops.
#ifndef FEEDRATE_LIB_TAR_READER_H_
#define FEEDRATE_LIB_TAR_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/tar/entry.h"
#include "lib/tar/error.h"
#include "lib/tar/extensions.h"
#include "lib/tar/header.h"

namespace feedrate::tar {

class Reader {
 public:
  enum class Event {
    kNeedInput,  // `input` is used up.
    kEntry,      // entry() is the next one.
    kBody,       // body() is the next piece of its data, within `input`.
    kEntryEnd,   // Body and padding are through.
    kEnd,        // The archive's end; what follows is not the archive's.
    kError,      // error() says why. Final.
  };

  // Takes bytes off the front of `input` up to the next event.
  Event Next(std::string_view* input);

  // Says that there are no more bytes: kEnd, or kError when some are missing.
  // An archive without its end mark is one that lost its tail.
  Event Finish();

  // Valid from kEntry to kEntryEnd.
  const Entry& entry() const { return entry_; }

  // Valid until the next call.
  std::string_view body() const { return body_; }

  // Passes over what is left of the entry's data and padding. Returns how many
  // bytes that is: the caller goes that far on in its input before Next(), by
  // seeking if it can. REQUIRES: after kEntry or kBody.
  uint64_t SkipRest();

  // Where in the archive the next byte of input lies.
  uint64_t offset() const { return offset_; }

  // How many extended headers carried extended attributes or ACLs.
  uint64_t xattr_headers() const { return extensions_.xattr_headers(); }

  const Error& error() const { return error_; }

 private:
  enum class State { kHeader, kExtension, kBody, kEntryEnd, kEnd, kError };

  Event Fail();
  void Consume(std::string_view* input, uint64_t count);
  const Header* TakeBlock(std::string_view* input);
  void TakePadding(std::string_view* input);

  // One step each. kNeedInput means that there is no event yet.
  Event StepHeader(std::string_view* input);
  Event StepZeroBlock();
  Event StepExtension(std::string_view* input);
  Event StepEntry(const Header& header);
  Event StepBody(std::string_view* input);

  State state_ = State::kHeader;
  uint64_t offset_ = 0;

  // A header that arrives in pieces is put together here.
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

#endif  // FEEDRATE_LIB_TAR_READER_H_
