// The pipe on which this child answers, found from inside the child.
#ifndef FEEDRATE_LIB_ADAPTERS_FAULTY_REPLY_PIPE_H_
#define FEEDRATE_LIB_ADAPTERS_FAULTY_REPLY_PIPE_H_

#include <fcntl.h>
#include <sys/stat.h>

namespace feedrate {

// The first pipe beyond standard error that is open for writing; -1 when there
// is none. A worker tells its adapter nothing about pipes, and only a library
// that misbehaves on purpose wants to know.
inline int FindReplyPipe() {
  constexpr int kMostFds = 256;
  for (int fd = 3; fd < kMostFds; ++fd) {
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
        (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
      return fd;
    }
  }
  return -1;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_FAULTY_REPLY_PIPE_H_
