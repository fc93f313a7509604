// Many requests at once, from one thread.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_CLIENT_H_
#define FEEDRATE_LIB_STORAGE_HTTP_CLIENT_H_

#include <curl/curl.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lib/storage/http/attempt.h"
#include "lib/storage/http/exchange.h"
#include "lib/storage/http/retry_policy.h"

namespace feedrate {

struct HttpClientOptions {
  int connections = 8;    // Requests in flight at most.
  double timeout_s = 30;  // Without a byte.
  RetryPolicy retry;
  std::string ca_file;  // Certificates to trust; empty: the system's.
  uint64_t seed = 0;    // Of the jitter; 0 takes one from the system.
};

struct HttpCounts {
  int64_t requests = 0;  // Attempts, all of them.
  int64_t retries = 0;
  double busy_s = 0;  // At least one request in flight.
};

// Runs exchanges over libcurl's multi interface: connections are kept and used
// again, and shared by HTTP/2 where the server offers it over TLS. An exchange
// that waits for its next attempt holds no connection. Thread-safe.
class HttpClient {
 public:
  explicit HttpClient(const HttpClientOptions& options);
  // Ends everything with CANCELLED; Done has been called for all of it.
  ~HttpClient();

  // Comes back at once. The exchange is destroyed after its Done.
  void Start(std::unique_ptr<HttpExchange> exchange);

  HttpCounts counts() const;

 private:
  struct Waiting {
    std::unique_ptr<HttpExchange> exchange;
    int failed = 0;  // Attempts.
  };
  struct Running {
    std::unique_ptr<HttpAttempt> attempt;
    Waiting work;
    int64_t seen_bytes = 0;
    double seen_at_s = 0;  // When seen_bytes last grew.
    double end_by_s = 0;   // However busy it looks.
  };

  void Run();
  bool TakeInbox();
  void StartWaiting();
  void StartAttempt(Waiting work);
  void ReapFinished();
  void EndStalled();
  void EndAttempt(Running running, absl::Status status);
  void CancelAll();
  int WaitMilliseconds() const;
  void SetBusy(bool busy);

  const HttpClientOptions options_;
  CURLM* const multi_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HttpExchange>> inbox_;
  bool stopping_ = false;
  HttpCounts counts_;
  double busy_since_s_ = -1;  // Negative: idle.

  // The rest belongs to the thread.
  RetrySchedule schedule_;
  std::deque<Waiting> ready_;
  std::multimap<double, Waiting> later_;
  std::map<CURL*, Running> running_;
  std::vector<std::unique_ptr<HttpAttempt>> idle_;
  std::thread thread_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_CLIENT_H_
