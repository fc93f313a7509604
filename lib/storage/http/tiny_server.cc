#include "lib/storage/http/tiny_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

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
    send(fd, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL);
    char byte;
    if (answer.stall) recv(fd, &byte, 1, 0);
    going = !answer.close && !answer.stall;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(std::find(open_.begin(), open_.end(), fd));
  close(fd);
}

TinyAnswer TinyOk(const std::string& body) {
  return {absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                       "\r\n\r\n", body)};
}

}  // namespace feedrate
