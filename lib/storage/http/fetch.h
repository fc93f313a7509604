// Requests whose whole response fits in memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  // A page of a listing has 1,000 names of up to 3 kB, percent-encoded.
  int64_t max_bytes = 8 << 20;
  // No attempt begins later.
  std::optional<std::chrono::steady_clock::time_point> give_up_at;
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
