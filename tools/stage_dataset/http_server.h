// A small HTTP server on the loopback, for tests.
#ifndef FEEDRATE_TOOLS_STAGE_DATASET_HTTP_SERVER_H_
#define FEEDRATE_TOOLS_STAGE_DATASET_HTTP_SERVER_H_

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

namespace feedrate {

// Answers GET and HEAD, one connection at a time:
//   /set.tar   the body, with its ETag
//   /moved     a redirection to /set.tar
//   /broken    promises the whole body and hangs up in the middle
//   others     404
class HttpServer {
 public:
  explicit HttpServer(std::string body);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string Url(const std::string& path) const;
  void SetBody(std::string body, std::string etag);
  // How many GETs came in.
  int gets() const { return gets_; }

 private:
  void Run();
  void Answer(int connection);

  std::mutex mutex_;
  std::string body_;
  std::string etag_ = "\"one\"";
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> gets_{0};
  std::thread thread_;
};

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_HTTP_SERVER_H_
