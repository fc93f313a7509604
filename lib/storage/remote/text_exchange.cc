#include "lib/storage/remote/text_exchange.h"

#include <utility>

#include "absl/status/status.h"

namespace feedrate {
namespace {

class TextExchange : public HttpExchange {
 public:
  explicit TextExchange(TextWish wish) : wish_(std::move(wish)) {}

  absl::StatusOr<HttpRequest> Request() override {
    body_.clear();
    cut_off_ = false;
    return wish_.request();
  }
  absl::Status Head(const HttpResponse& response) override {
    head_ = response;
    return absl::OkStatus();
  }
  absl::Status Body(absl::string_view bytes) override {
    body_.append(bytes.data(), bytes.size());
    if (static_cast<int64_t>(body_.size()) <= wish_.max_bytes) {
      return absl::OkStatus();
    }
    if (!wish_.cut) {
      return absl::OutOfRangeError("the answer is too long to be one");
    }
    cut_off_ = true;
    return absl::CancelledError("enough");
  }
  absl::Status End() override { return wish_.answer(head_, body_); }
  absl::Status Refused(const HttpResponse& response) override {
    if (wish_.take_416 && response.status == 416) {
      return wish_.answer(response, "");
    }
    return wish_.refused(response);
  }
  void Done(absl::Status status) override {
    if (cut_off_ && absl::IsCancelled(status)) {
      status = wish_.answer(head_, body_);
    }
    wish_.done(std::move(status));
  }
  int64_t BytesLeft() const override { return wish_.max_bytes; }

 private:
  const TextWish wish_;
  HttpResponse head_;
  std::string body_;
  bool cut_off_ = false;
};

}  // namespace

std::unique_ptr<HttpExchange> NewTextExchange(TextWish wish) {
  return std::make_unique<TextExchange>(std::move(wish));
}

}  // namespace feedrate
