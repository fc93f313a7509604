#include "lib/storage/remote/range_exchange.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/remote/content_range.h"

namespace feedrate {
namespace {

class RangeExchange : public HttpExchange {
 public:
  RangeExchange(std::shared_ptr<RemoteRead> read, int64_t first, int64_t bytes)
      : read_(std::move(read)),
        offset_(read_->request().offset + first),
        bytes_(bytes),
        out_(read_->request().out + first) {}

  absl::StatusOr<HttpRequest> Request() override {
    if (read_->failed()) return absl::CancelledError("another part failed");
    // What came before is kept only where the next answer must be of the same
    // object.
    if (read_->version().empty()) received_ = 0;
    return read_->context().dialect->RangeRequest(
        read_->request().name, read_->version(), offset_ + received_,
        offset_ + bytes_ - 1);
  }

  absl::Status Head(const HttpResponse& response) override {
    int64_t total = -1;
    ASSIGN_OR_RETURN(total, response.status == 206 ? TotalOfRange(response)
                                                   : TotalOfWhole(response));
    return read_->TakeFacts(read_->context().dialect->FactsOf(response.headers),
                            total);
  }

  absl::Status Body(absl::string_view bytes) override {
    if (static_cast<int64_t>(bytes.size()) > BytesLeft()) {
      received_ = 0;
      return absl::DataLossError("the server sent more than it was asked for");
    }
    std::memcpy(out_ + received_, bytes.data(), bytes.size());
    received_ += static_cast<int64_t>(bytes.size());
    read_->context().bytes += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }

  absl::Status End() override {
    if (BytesLeft() == 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the answer lacks ", BytesLeft(), " bytes"));
  }

  absl::Status Refused(const HttpResponse& response) override {
    return read_->context().dialect->ErrorOf(response);
  }

  void Done(absl::Status status) override { read_->PartDone(status); }

  int64_t BytesLeft() const override { return bytes_ - received_; }

 private:
  // 206: it must be the range that was asked for.
  absl::StatusOr<int64_t> TotalOfRange(const HttpResponse& response) const {
    const std::string& text = response.headers.Get("content-range");
    const std::optional<ContentRange> range = ParseContentRange(text);
    const int64_t last = offset_ + bytes_ - 1;
    if (range.has_value() && range->total >= 0 && range->total <= last) {
      return TooShort(range->total);
    }
    if (!range.has_value() || range->first != offset_ + received_ ||
        range->last != last) {
      return absl::DataLossError("the server sent another range than asked");
    }
    return range->total;
  }

  // 200: a server that knows no ranges. Its answer will do where the whole is
  // what was asked for.
  absl::StatusOr<int64_t> TotalOfWhole(const HttpResponse& response) {
    int64_t total = -1;
    if (!absl::SimpleAtoi(response.headers.Get("content-length"), &total)) {
      total = -1;
    }
    if (offset_ != 0 || (total >= 0 && total > bytes_)) {
      return absl::DataLossError(
          "the server ignores ranges; read from one that serves them");
    }
    if (total >= 0 && total < bytes_) return TooShort(total);
    received_ = 0;
    return total;
  }

  absl::Status TooShort(int64_t total) const {
    return absl::OutOfRangeError(
        absl::StrCat("the object has ", total, " bytes; byte ",
                     offset_ + bytes_ - 1, " was asked for"));
  }

  const std::shared_ptr<RemoteRead> read_;
  const int64_t offset_;  // In the object.
  const int64_t bytes_;
  char* const out_;
  int64_t received_ = 0;
};

}  // namespace

std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes) {
  return std::make_unique<RangeExchange>(std::move(read), first, bytes);
}

}  // namespace feedrate
