// What a process wrote to its standard error, the last of it.
#ifndef FEEDRATE_LIB_WORKER_LAST_WORDS_H_
#define FEEDRATE_LIB_WORKER_LAST_WORDS_H_

#include <string>

#include "lib/base/unique_fd.h"
#include "lib/worker/line_inbox.h"

namespace feedrate {

// Keeps the end of a stream, so that the reason of a death can quote it.
class LastWords {
 public:
  explicit LastWords(UniqueFd fd) : inbox_(std::move(fd)) {}

  // For poll. -1 once closed.
  int fd() const { return inbox_.fd(); }
  // Takes in what is there without waiting. To be called while the process
  // runs: one that fills its pipe would stand still.
  void Drain();
  // The last few lines as one, joined by ` | `, cut in front when too long.
  // Empty when there are none.
  std::string Text() const;

 private:
  LineInbox inbox_;
  std::string kept_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_LAST_WORDS_H_
