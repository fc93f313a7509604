#include "lib/storage/http/curl_status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

absl::Status CurlStatus(CURLcode code, absl::string_view detail) {
  detail = absl::StripAsciiWhitespace(detail);
  if (detail.empty()) detail = curl_easy_strerror(code);
  switch (code) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(detail);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return absl::UnavailableError(detail);
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::FailedPreconditionError(
          absl::StrCat("the server's certificate is not trusted: ", detail));
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(detail);
    case CURLE_OUT_OF_MEMORY:
      return absl::InternalError(detail);
    default:
      return absl::UnknownError(detail);
  }
}

}  // namespace feedrate
