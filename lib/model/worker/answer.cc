#include "lib/model/worker/answer.h"

#include <c10/util/Exception.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <new>

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

void AnswerError(const std::string& what, bool out_of_memory) {
  // Errors of the CPU's allocator can be recognized only by their text.
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

std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      json += c;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      json += escaped;
    }
  }
  return json + "\"";
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "0";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string JsonArray(const std::vector<std::string>& values) {
  std::string json = "[";
  for (const std::string& value : values) {
    json += (json.size() > 1 ? "," : "") + value;
  }
  return json + "]";
}

JsonText& JsonText::Numbers(const std::string& name,
                            const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(JsonNumber(value));
  return Raw(name, JsonArray(texts));
}

JsonText& JsonText::Raw(const std::string& name, const std::string& json) {
  text_ += (text_.empty() ? "" : ",") + JsonString(name) + ":" + json;
  return *this;
}

}  // namespace feedrate
