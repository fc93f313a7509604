// One request on the wire, by libcurl.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_ATTEMPT_H_
#define FEEDRATE_LIB_STORAGE_HTTP_ATTEMPT_H_

#include <curl/curl.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lib/storage/http/exchange.h"
#include "lib/storage/http/message.h"

namespace feedrate {

// Its handle is used again and again, an exchange at a time. Not thread-safe.
class HttpAttempt {
 public:
  HttpAttempt();
  ~HttpAttempt();
  HttpAttempt(const HttpAttempt&) = delete;
  HttpAttempt& operator=(const HttpAttempt&) = delete;

  // Sets the handle up for `request`, whose answer goes to `exchange`.
  // Connecting takes `timeout_s` at most; certificates to trust are in
  // `ca_file`, or the system's where that is empty.
  void Begin(HttpExchange* exchange, const HttpRequest& request,
             double timeout_s, const std::string& ca_file);

  // What became of it, once libcurl is done with the handle: `code` is what
  // libcurl says.
  absl::Status Finish(CURLcode code);

  CURL* easy() const { return easy_; }
  const HttpResponse& response() const { return response_; }
  // Of the answer so far.
  int64_t all_bytes() const { return all_bytes_; }

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  absl::Status TakeHeader(absl::string_view line);
  absl::Status TakeBody(absl::string_view bytes);

  CURL* const easy_;
  curl_slist* headers_ = nullptr;
  HttpExchange* exchange_ = nullptr;
  HttpResponse response_;
  absl::Status status_;  // Of the exchange's last call.
  bool head_taken_ = false;
  int64_t all_bytes_ = 0;
  char error_[CURL_ERROR_SIZE];
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_ATTEMPT_H_
