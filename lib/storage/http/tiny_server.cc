#include "lib/storage/http/tiny_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {

TinyServer::TinyServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 128) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TinyServer::~TinyServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

std::string TinyServer::url() const {
  return absl::StrCat("http://127.0.0.1:", port_);
}

void TinyServer::Accept() {
  while (!stopping_) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void TinyServer::Serve(int fd) {
  std::string unread;
  for (bool going = true; going;) {
    const size_t end = unread.find("\r\n\r\n");
    if (end == std::string::npos) {
      char buffer[4096];
      const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      unread.append(buffer, got);
      continue;
    }
    const int now = ++in_handler_;
    for (int most = most_at_once_;
         now > most && !most_at_once_.compare_exchange_weak(most, now);) {
    }
    const TinyAnswer answer = handler_(unread.substr(0, end + 2));
    --in_handler_;
    unread.erase(0, end + 4);
    for (size_t sent = 0; sent < answer.bytes.size();) {
      const ssize_t n = send(fd, answer.bytes.data() + sent,
                             answer.bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      sent += n;
    }
    while (answer.drip && !stopping_ && send(fd, " ", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    char byte;
    if (answer.stall) recv(fd, &byte, 1, 0);
    going = !answer.close && !answer.stall && !answer.drip;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(std::find(open_.begin(), open_.end(), fd));
  close(fd);
}

TinyAnswer TinyOk(const std::string& body) {
  return {absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                       "\r\n\r\n", body)};
}

namespace {

TinyAnswer Refuse(absl::string_view status) {
  return {absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Length: 0\r\n\r\n")};
}

// First and last byte of the header "range: bytes=FIRST-LAST", of which the
// last may be missing. Absent without such a header.
std::optional<std::pair<int64_t, int64_t>> RangeOf(absl::string_view head,
                                                   int64_t bytes) {
  for (absl::string_view line : absl::StrSplit(head, "\r\n")) {
    constexpr absl::string_view kRange = "range:";
    if (!absl::StartsWithIgnoreCase(line, kRange)) continue;
    line = absl::StripAsciiWhitespace(line.substr(kRange.size()));
    if (!absl::ConsumePrefix(&line, "bytes=")) continue;
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(line, absl::MaxSplits('-', 1));
    int64_t first = 0;
    int64_t last = bytes - 1;
    if (!absl::SimpleAtoi(ends.first, &first)) continue;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &last)) continue;
    return std::make_pair(first, std::min(last, bytes - 1));
  }
  return std::nullopt;
}

// Another file of the same name, or one that was written again, has another.
std::string EtagOf(const struct stat& info) {
  return absl::StrCat("\"", info.st_ino, "-", info.st_size, "-",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\"");
}

}  // namespace

TinyServer::Handler ServeFolder(std::string folder) {
  return [folder = std::move(folder)](const std::string& head) {
    const std::vector<std::string> words =
        absl::StrSplit(head.substr(0, head.find("\r\n")), ' ');
    if (words.size() != 3 || words[0] != "GET" || words[1].size() < 2 ||
        words[1].rfind('/') != 0 || words[1][1] == '.') {
      return Refuse("404 Not Found");
    }
    const int fd =
        open((folder + words[1]).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info = {};
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      if (fd >= 0) close(fd);
      return Refuse("404 Not Found");
    }
    const int64_t bytes = info.st_size;
    const auto range = RangeOf(head, bytes);
    const int64_t first = range.has_value() ? range->first : 0;
    const int64_t last = range.has_value() ? range->second : bytes - 1;
    TinyAnswer answer = Refuse("416 Range Not Satisfiable");
    if (!range.has_value() || (first >= 0 && first <= last)) {
      answer.bytes = absl::StrCat(
          "HTTP/1.1 ", range.has_value() ? "206 Partial Content" : "200 OK",
          "\r\nAccept-Ranges: bytes\r\nETag: ", EtagOf(info),
          "\r\nContent-Length: ", last - first + 1,
          range.has_value() ? absl::StrCat("\r\nContent-Range: bytes ", first,
                                           "-", last, "/", bytes)
                            : "",
          "\r\n\r\n");
      const size_t begin = answer.bytes.size();
      answer.bytes.resize(begin + last - first + 1);
      for (int64_t at = first; at <= last;) {
        const ssize_t n =
            pread(fd, &answer.bytes[begin + at - first], last - at + 1, at);
        if (n < 0 && errno == EINTR) continue;
        // The reader sees that bytes are missing.
        if (n <= 0) {
          answer.bytes.resize(begin + at - first);
          answer.close = true;
          break;
        }
        at += n;
      }
    }
    close(fd);
    return answer;
  };
}

}  // namespace feedrate
