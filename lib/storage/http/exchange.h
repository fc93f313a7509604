// One thing wanted of a web server, with as many attempts as it takes.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_EXCHANGE_H_
#define FEEDRATE_LIB_STORAGE_HTTP_EXCHANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/http/message.h"

namespace feedrate {

// What HttpClient calls, in its own thread, never two at once. An attempt is
//
//   Request, [Head, Body..., End | Refused]
//
// and ends with the first error. Whether there is another decides the error's
// code: see IsTransient. No call may block.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  // What to send. Asked for each attempt: signatures age, and an attempt may go
  // on where the last one broke off. An error ends the exchange.
  virtual absl::StatusOr<HttpRequest> Request() = 0;

  // The head of an answer that is no error.
  virtual absl::Status Head(const HttpResponse& response) = 0;

  // The next bytes of its body.
  virtual absl::Status Body(absl::string_view bytes) = 0;

  // The server says that this was all.
  virtual absl::Status End() = 0;

  // An answer that is an error: what it means.
  virtual absl::Status Refused(const HttpResponse& response) = 0;

  // The last call: OK, or the error of the last attempt, followed by the number
  // of attempts where there were several.
  virtual void Done(absl::Status status) = 0;

  // Bytes at most still to come, which bounds the time of an attempt.
  virtual int64_t BytesLeft() const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_EXCHANGE_H_
