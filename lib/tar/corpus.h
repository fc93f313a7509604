// The archives that a reader of untrusted bytes has to get right: one list for
// the reader's test, the extractor's test and the fuzzer's first inputs.
#ifndef FEEDRATE_LIB_TAR_CORPUS_H_
#define FEEDRATE_LIB_TAR_CORPUS_H_

#include <string>
#include <vector>

#include "lib/tar/error.h"

namespace feedrate::tar {

struct CorpusCase {
  std::string name;   // snake_case, fit for a file name.
  std::string bytes;  // The archive.

  // What the reader says. kNone: it reads to the end.
  Error::Code reader = Error::Code::kNone;

  // Whether unpacking refuses it. A case that the reader refuses, unpacking
  // refuses too.
  bool refused = false;

  // Some text that the message of the refusal holds: the entry's name, mostly.
  std::string message = {};
};

// Archives that unpack.
std::vector<CorpusCase> GoodCorpus();

// Archives whose bytes are wrong: the reader refuses them.
std::vector<CorpusCase> BrokenCorpus();

// Archives in good order that want to do harm: the extractor refuses them.
std::vector<CorpusCase> HostileCorpus();

// All of them, and the good ones cut at every boundary.
std::vector<CorpusCase> WholeCorpus();

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_CORPUS_H_
