#include "lib/model/worker/answer.h"

#include <c10/util/Exception.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>

#include "lib/model/torch/json_text.h"

namespace feedrate {
namespace {

constexpr int kRunner = 3;

int AnswerFd() {
  struct stat info;
  const bool runner = fstat(kRunner, &info) == 0 && S_ISSOCK(info.st_mode);
  return runner ? kRunner : STDOUT_FILENO;
}

// The first line: libtorch adds where in it that was.
std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void AnswerError(const std::string& what, bool out_of_memory) {
  // The CPU's allocator is told apart by its words alone.
  const bool oom = out_of_memory ||
                   what.find("not enough memory") != std::string::npos ||
                   what.find("out of memory") != std::string::npos;
  Answer(JsonText()
             .Text("event", "error")
             .Text("kind", oom ? "oom" : "failed")
             .Text("error", FirstLine(what))
             .Object());
}

}  // namespace

void Answer(const std::string& json) {
  const std::string line = json + "\n";
  const int fd = AnswerFd();
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = write(fd, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // Nobody listens any more.
    written += n;
  }
}

int AnswerMain(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const c10::OutOfMemoryError& e) {
    AnswerError(e.what_without_backtrace(), true);
  } catch (const c10::Error& e) {
    AnswerError(e.what_without_backtrace(), false);
  } catch (const std::bad_alloc&) {
    AnswerError("no memory left", true);
  } catch (const std::exception& e) {
    AnswerError(e.what(), false);
  }
  return 1;
}

}  // namespace feedrate
