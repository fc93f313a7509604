// Requests whose whole response fits in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/message.h"

namespace feedrate {

// A request whose whole response fits in memory: a listing, the facts of an
// object, or credentials.
struct TextQuery {
  // Called for each attempt.
  std::function<absl::StatusOr<HttpRequest>()> request;
  // Receives the whole response. A transient error (see IsTransient) is
  // retried.
  std::function<absl::Status(const HttpResponse&, const std::string& body)>
      answer;
  // Converts an error response to a status.
  std::function<absl::Status(const HttpResponse&)> refused;
  // Called once, at the end.
  std::function<void(absl::Status)> done;
  int64_t max_bytes = 64 << 20;
  // Truncates a longer body and accepts it, instead of refusing it.
  bool cut = false;
  // Accepts a 416 as a response: there is no such byte.
  bool take_416 = false;
};

std::unique_ptr<HttpExchange> NewTextExchange(TextQuery query);

// Sends one request with a client of its own, and waits for the response. An
// error response is a status with its number alone, since the text may repeat
// secrets: NotFound for 404, Unauthenticated or PermissionDenied for 401 and
// 403.
struct FetchedText {
  HttpHeaders headers;
  std::string body;
};
absl::StatusOr<FetchedText> FetchText(const HttpRequest& request,
                                      const HttpClientOptions& options);

}  // namespace feedrate
