// Requests whose whole answer fits in memory: listings and facts of an object.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_TEXT_EXCHANGE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_TEXT_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/http/exchange.h"
#include "lib/storage/http/message.h"

namespace feedrate {

struct TextWish {
  // For each attempt.
  std::function<absl::StatusOr<HttpRequest>()> request;
  // Takes the whole answer. A transient error (see IsTransient) has it asked
  // for again.
  std::function<absl::Status(const HttpResponse&, const std::string& body)>
      answer;
  // What an answer means that is an error.
  std::function<absl::Status(const HttpResponse&)> refused;
  // Once, at the end.
  std::function<void(absl::Status)> done;
  int64_t max_bytes = 64 << 20;
  // A body that is longer is cut off there and taken, instead of refused.
  bool cut = false;
  // 416 is an answer: there is no such byte.
  bool take_416 = false;
};

std::unique_ptr<HttpExchange> NewTextExchange(TextWish wish);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_TEXT_EXCHANGE_H_
