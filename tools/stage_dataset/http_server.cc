#include "tools/stage_dataset/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace feedrate {
namespace {

void SendAll(int connection, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent =
        send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += sent;
  }
}

}  // namespace

HttpServer::HttpServer(std::string body) : body_(std::move(body)) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket_, any, size) != 0 || listen(socket_, 16) != 0 ||
      getsockname(socket_, any, &size) != 0) {
    abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  shutdown(socket_, SHUT_RDWR);
  thread_.join();
  close(socket_);
}

std::string HttpServer::Url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void HttpServer::SetBody(std::string body, std::string etag) {
  std::lock_guard<std::mutex> lock(mutex_);
  body_ = std::move(body);
  etag_ = std::move(etag);
}

void HttpServer::Run() {
  while (!stop_) {
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection);
    shutdown(connection, SHUT_RDWR);
    close(connection);
  }
}

void HttpServer::Answer(int connection) {
  std::string request;
  char buffer[4096];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
    if (got <= 0) return;
    request.append(buffer, got);
  }
  const size_t space = request.find(' ');
  const std::string method = request.substr(0, space);
  const std::string path =
      request.substr(space + 1, request.find(' ', space + 1) - space - 1);
  if (method == "GET") ++gets_;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string end = "Connection: close\r\n\r\n";
  if (path == "/moved") {
    SendAll(connection, "HTTP/1.1 302 Found\r\nLocation: " + Url("/set.tar") +
                            "\r\nContent-Length: 0\r\n" + end);
  } else if (path == "/set.tar" || path == "/broken") {
    SendAll(connection, "HTTP/1.1 200 OK\r\nContent-Length: " +
                            std::to_string(body_.size()) +
                            "\r\nETag: " + etag_ + "\r\n" + end);
    if (method != "GET") return;
    SendAll(connection,
            path == "/broken" ? body_.substr(0, body_.size() / 2) : body_);
  } else {
    SendAll(connection,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n" + end);
  }
}

}  // namespace feedrate
