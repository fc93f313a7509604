// An HTTP client: many requests at once from one thread, with retries.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/retry.h"

namespace feedrate {

class HttpAttempt;

struct HttpClientOptions {
  int connections = 8;    // Maximum number of requests in flight.
  double timeout_s = 30;  // Longest time without receiving a byte.
  RetryPolicy retry;
  std::string ca_file;  // Certificates to trust; empty for the system's.
  uint64_t seed = 0;    // For the jitter; 0 takes one from the system.
};

struct HttpCounts {
  int64_t requests = 0;  // All attempts.
  int64_t retries = 0;
  double busy_s = 0;  // Time with at least one request in flight.
};

// Runs exchanges with libcurl's multi interface. Connections are reused, and
// shared with HTTP/2 if the server offers it over TLS. An exchange that waits
// for its next attempt holds no connection. Thread-safe.
class HttpClient {
 public:
  explicit HttpClient(const HttpClientOptions& options);
  // Ends all exchanges with CANCELLED, after calling Done for each of them.
  ~HttpClient();

  // Returns immediately. The exchange is destroyed after its Done.
  void Start(std::unique_ptr<HttpExchange> exchange);

  // While it is set, every exchange, also one that is started, ends with
  // CANCELLED at once: connections are dropped, nothing is waited for.
  void SetCancelled(bool cancelled);

  HttpCounts counts() const;

 private:
  struct Waiting {
    std::unique_ptr<HttpExchange> exchange;
    int failed = 0;  // Number of failed attempts.
  };
  struct Running {
    std::unique_ptr<HttpAttempt> attempt;
    Waiting work;
    double begin_s = 0;  // Its patience included.
    int64_t seen_bytes = 0;
    double seen_at_s = 0;  // When seen_bytes last grew.
    int redirects = 0;     // Followed in this attempt.
  };

  enum class Order { kWork, kCancel, kStop };

  void Run();
  Order TakeInbox();
  void StartWaiting();
  void StartAttempt(Waiting work);
  void Send(HttpRequest request, Waiting work, int redirects);
  void ReapFinished();
  void EndStalled();
  void EndAttempt(Running running, absl::Status status);
  void CancelAll();
  double EndsAtS(const Running& running) const;
  int WaitMilliseconds() const;
  void SetBusy(bool busy);

  const HttpClientOptions options_;
  void* const multi_;  // CURLM.

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HttpExchange>> inbox_;
  bool stopping_ = false;
  bool cancelled_ = false;
  HttpCounts counts_;
  double busy_since_s_ = -1;  // Negative when idle.

  // The rest is used only by the thread.
  RetrySchedule schedule_;
  std::deque<Waiting> ready_;
  std::multimap<double, Waiting> later_;
  std::map<void*, Running> running_;
  std::vector<std::unique_ptr<HttpAttempt>> idle_;
  std::thread thread_;
};

}  // namespace feedrate
