// HTTP requests, responses, and exchanges of the two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct HttpRequest {
  std::string method = "GET";
  std::string url;                   // Percent-encoded.
  std::vector<std::string> headers;  // "name: value".
  std::string body;                  // Not sent with GET and HEAD.
  // Redirects may lead to any host, so never set it if a header contains
  // credentials.
  bool follow_redirects = false;
  // If set, makes the request for the address to which the server redirects,
  // with a signature for that host. An error ends the exchange.
  std::function<absl::StatusOr<HttpRequest>(const std::string& location)>
      redirected;
  // How much longer the answer may take than its bytes explain, if some keep
  // coming.
  double patience_s = 0;
  // Asks the server itself, whatever proxies are set.
  bool no_proxy = false;
};

// Names are in lower case. Repeated headers are joined by a comma.
class HttpHeaders {
 public:
  void Add(absl::string_view name, absl::string_view value) {
    std::string& held = values_[absl::AsciiStrToLower(name)];
    if (!held.empty()) held += ", ";
    held.append(value.data(), value.size());
  }
  void Clear() { values_.clear(); }
  // Empty if there is no such header. `name` is in lower case.
  const std::string& Get(const std::string& name) const {
    static const std::string& kNone = *new std::string;
    const auto found = values_.find(name);
    return found == values_.end() ? kNone : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

struct HttpResponse {
  int status = 0;  // 0 if there was no response.
  HttpHeaders headers;
  // The beginning of the body of an error response. Other bodies go to
  // HttpExchange::Body.
  std::string error_body;

  bool ok() const { return status >= 200 && status < 300; }
};

// One request with its retries. HttpClient calls these functions from its own
// thread, never two at once. An attempt is
//
//   Request, [Head, Body..., End | Refused]
//
// and ends with the first error. The error's code decides whether there is
// another attempt: see IsTransient. No call may block.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  // The request to send. Called for each attempt, because signatures expire and
  // an attempt may continue where the last one broke off. An error ends the
  // exchange.
  virtual absl::StatusOr<HttpRequest> Request() = 0;

  // The head of a successful response.
  virtual absl::Status Head(const HttpResponse& response) = 0;

  // The next bytes of its body.
  virtual absl::Status Body(absl::string_view bytes) = 0;

  // The body is complete.
  virtual absl::Status End() = 0;

  // Converts an error response to a status.
  virtual absl::Status Refused(const HttpResponse& response) = 0;

  // The last call: OK, or the error of the last attempt, followed by the number
  // of attempts if there were several.
  virtual void Done(absl::Status status) = 0;
};

}  // namespace feedrate
