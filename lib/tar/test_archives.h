// Test archives that a reader of untrusted bytes must handle: one list for the
// reader's test, the extractor's test and the fuzzer's seed inputs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tar/status.h"

namespace feedrate::tar {

struct TestArchive {
  std::string name;   // snake_case; used as a file name.
  std::string bytes;  // The archive.

  // The error that the reader reports; kNone means it reads to the end.
  Error::Code reader = Error::Code::kNone;

  // Whether unpacking refuses the archive. True if the reader refuses it.
  bool refused = false;

  // A part of the error message, usually the entry's name.
  std::string message = {};
};

// Archives that unpack.
std::vector<TestArchive> GoodArchives();

// Archives whose bytes are wrong: the reader refuses them.
std::vector<TestArchive> BrokenArchives();

// Well-formed archives that try to do harm: the extractor refuses them.
std::vector<TestArchive> HostileArchives();

// All of the above, and the good ones truncated at every boundary.
std::vector<TestArchive> AllTestArchives();

struct Transcript {
  // Every entry with its fields and a checksum of its data, and the final
  // event. Must not depend on how the bytes were split into pieces.
  std::string text;
  Error error;
};

// Pushes `bytes` through a Reader in pieces of `piece` bytes; for the reader's
// test and the fuzzer. Aborts when the reader violates its contract: data
// beyond an entry's size, a wrong offset, an event out of order. With `skip`,
// skips bodies with SkipRest() instead of reading them.
Transcript ReadInPieces(std::string_view bytes, size_t piece, bool skip);

}  // namespace feedrate::tar
