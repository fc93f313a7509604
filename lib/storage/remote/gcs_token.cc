#include "lib/storage/remote/gcs_token.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {
constexpr absl::Duration kReadAgainAfter = absl::Seconds(10);
}  // namespace

GcsToken::GcsToken(
    const std::function<std::string(const std::string&)>& variables,
    std::function<absl::Time()> now)
    : file_(variables("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")),
      now_(std::move(now)),
      token_(variables("CLOUDSDK_AUTH_ACCESS_TOKEN")) {
  if (token_.empty()) token_ = variables("GOOGLE_OAUTH_ACCESS_TOKEN");
}

absl::StatusOr<std::string> GcsToken::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!file_.empty() && now_() - read_at_ > kReadAgainAfter) {
    const absl::StatusOr<std::string> text = ReadFile(file_);
    if (!text.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE: ", file_, " cannot be read"));
    }
    token_ = std::string(absl::StripAsciiWhitespace(*text));
    read_at_ = now_();
  }
  return token_;
}

}  // namespace feedrate
