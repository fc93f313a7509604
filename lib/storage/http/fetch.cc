#include "lib/storage/http/fetch.h"

#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr int64_t kMaxFetched = 1 << 20;

class TextExchange : public HttpExchange {
 public:
  explicit TextExchange(TextQuery query) : query_(std::move(query)) {}

  absl::StatusOr<HttpRequest> Request() override {
    body_.clear();
    cut_off_ = false;
    if (query_.give_up_at.has_value() &&
        std::chrono::steady_clock::now() > *query_.give_up_at) {
      return absl::DeadlineExceededError("it takes too long");
    }
    return query_.request();
  }
  absl::Status Head(const HttpResponse& response) override {
    head_ = response;
    return absl::OkStatus();
  }
  absl::Status Body(absl::string_view bytes) override {
    body_.append(bytes.data(), bytes.size());
    if (static_cast<int64_t>(body_.size()) <= query_.max_bytes) {
      return absl::OkStatus();
    }
    if (!query_.cut) {
      return absl::OutOfRangeError("the answer is too long to be one");
    }
    cut_off_ = true;
    return absl::CancelledError("enough");
  }
  absl::Status End() override { return query_.answer(head_, body_); }
  absl::Status Refused(const HttpResponse& response) override {
    if (query_.take_416 && response.status == 416) {
      return query_.answer(response, "");
    }
    return query_.refused(response);
  }
  void Done(absl::Status status) override {
    if (cut_off_ && absl::IsCancelled(status)) {
      status = query_.answer(head_, body_);
    }
    query_.done(std::move(status));
  }

 private:
  const TextQuery query_;
  HttpResponse head_;
  std::string body_;
  bool cut_off_ = false;
};

absl::Status StatusOfRefusal(const HttpResponse& response) {
  const std::string text = absl::StrCat("HTTP ", response.status);
  switch (response.status) {
    case 401:
      return absl::UnauthenticatedError(text);
    case 403:
      return absl::PermissionDeniedError(text);
    case 404:
      return absl::NotFoundError(text);
    case 408:
    case 429:
      return absl::UnavailableError(text);
    default:
      return response.status >= 500 ? absl::UnavailableError(text)
                                    : absl::FailedPreconditionError(text);
  }
}

}  // namespace

std::unique_ptr<HttpExchange> NewTextExchange(TextQuery query) {
  return std::make_unique<TextExchange>(std::move(query));
}

absl::StatusOr<FetchedText> FetchText(const HttpRequest& request,
                                      const HttpClientOptions& options) {
  FetchedText fetched;
  std::promise<absl::Status> done;
  TextQuery query;
  query.max_bytes = kMaxFetched;
  query.request = [&] { return request; };
  query.answer = [&](const HttpResponse& response, const std::string& body) {
    fetched = {response.headers, body};
    return absl::OkStatus();
  };
  query.refused = &StatusOfRefusal;
  query.done = [&](absl::Status status) { done.set_value(std::move(status)); };
  HttpClient client(options);
  client.Start(NewTextExchange(std::move(query)));
  RETURN_IF_ERROR(done.get_future().get());
  return fetched;
}

}  // namespace feedrate
