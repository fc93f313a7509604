// A minimal web server, for tests that need to control every byte, and for the
// files of a folder.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace feedrate {

struct TinyAnswer {
  std::string bytes;   // Starting with "HTTP/1.1 200 OK\r\n".
  bool close = false;  // Close the connection afterwards.
  bool stall = false;  // Stall afterwards, until the server ends.
  bool drip = false;  // Send a space now and then, as long as somebody listens.
};

// Listens on a free port of 127.0.0.1, with one thread per connection.
class TinyServer {
 public:
  // Called with the head of each request, from several threads at once.
  using Handler = std::function<TinyAnswer(const std::string& head)>;

  explicit TinyServer(Handler handler);
  ~TinyServer();

  std::string url() const;  // "http://127.0.0.1:port".
  int connections() const { return connections_; }
  int most_at_once() const { return most_at_once_; }

 private:
  void Accept();
  void Serve(int fd);

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> in_handler_{0};
  std::atomic<int> most_at_once_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A "HTTP/1.1 200 OK" response with the body and its length.
TinyAnswer TinyOk(const std::string& body);

// Answers GET /NAME with a plain file of `folder`, or with one range of it, as
// the request says, and a strong ETag. Anything else is 404, a range that is
// not in the file 416.
TinyServer::Handler ServeFolder(std::string folder);

}  // namespace feedrate
