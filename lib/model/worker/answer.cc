#include "lib/model/worker/answer.h"

#include <c10/util/Exception.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <new>
#include <string>

#include "lib/records/json.h"

namespace feedrate {
namespace {

constexpr int kRunner = 3;

int AnswerFd() {
  struct stat info;
  const bool runner = fstat(kRunner, &info) == 0 && S_ISSOCK(info.st_mode);
  return runner ? kRunner : STDOUT_FILENO;
}

// The first line: libtorch appends its source location.
std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void AnswerError(const std::string& kind, const std::string& what) {
  // Errors of the CPU's allocator can be recognized only by their text.
  const bool oom = what.find("not enough memory") != std::string::npos ||
                   what.find("out of memory") != std::string::npos;
  TrainReply reply;
  reply.set_event("error");
  reply.set_kind(oom ? "oom" : kind);
  reply.set_error(FirstLine(what));
  Answer(reply);
}

}  // namespace

void CheckFinite(double value, const std::string& what, int64_t step) {
  if (std::isfinite(value)) return;
  throw Diverged(what + " of step " + std::to_string(step) + " is " +
                 (std::isnan(value) ? "no number" : "infinite") +
                 "; try a lower --learning_rate, or --clip_norm");
}

void Answer(const TrainReply& reply) {
  std::string line;
  AppendJson(reply, &line);
  line.push_back('\n');
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
    AnswerError("oom", e.what_without_backtrace());
  } catch (const c10::Error& e) {
    AnswerError("failed", e.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    AnswerError("oom", "no memory left");
  } catch (const Diverged& e) {
    AnswerError("diverged", e.what());
  } catch (const std::exception& e) {
    AnswerError("failed", e.what());
  }
  return 1;
}

}  // namespace feedrate
