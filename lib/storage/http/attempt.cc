#include "lib/storage/http/attempt.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "lib/storage/http/curl_status.h"

namespace feedrate {
namespace {

// Errors of S3 and GCS fit many times.
constexpr size_t kMaxErrorBody = 64 << 10;
// The most that libcurl takes: fewer calls of recv for the same bytes.
constexpr long kReceiveBytes = 512 << 10;
constexpr long kMaxRedirects = 5;

void AllowOnlyTheWeb(CURL* easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  const long web = CURLPROTO_HTTP | CURLPROTO_HTTPS;
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS, web);
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS, web);
#endif
}

// "HTTP/1.1 206 Partial Content" -> 206; else 0.
int StatusOf(absl::string_view line) {
  if (!absl::StartsWith(line, "HTTP/")) return 0;
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos) return 0;
  int status = 0;
  return absl::SimpleAtoi(line.substr(space + 1, 3), &status) ? status : 0;
}

bool WasSent(CURL* easy) {
  long bytes = 0;
  return curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK &&
         bytes > 0;
}

}  // namespace

HttpAttempt::HttpAttempt() : easy_(curl_easy_init()), error_{} {}

HttpAttempt::~HttpAttempt() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void HttpAttempt::Begin(HttpExchange* exchange, const HttpRequest& request,
                        double timeout_s, const std::string& ca_file) {
  exchange_ = exchange;
  response_ = HttpResponse();
  status_ = absl::OkStatus();
  head_taken_ = false;
  all_bytes_ = 0;
  error_[0] = '\0';
  curl_easy_reset(easy_);
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  for (const std::string& header : request.headers) {
    headers_ = curl_slist_append(headers_, header.c_str());
  }
  AllowOnlyTheWeb(easy_);
  curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
  // A name may hold "..", which the signature covers as it is.
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy_, CURLOPT_NOBODY, request.head_only ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "feedrate");
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION,
                   request.follow_redirects ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   std::max(1L, static_cast<long>(timeout_s * 1000)));
  if (!ca_file.empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, ca_file.c_str());
  }
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &HttpAttempt::OnHeader);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &HttpAttempt::OnBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
}

absl::Status HttpAttempt::Finish(CURLcode code) {
  if (!status_.ok()) return std::move(status_);
  // An answer that says what is wrong tells more than how it broke off.
  if (response_.status >= 300) return exchange_->Refused(response_);
  if (code == CURLE_UNSUPPORTED_PROTOCOL && WasSent(easy_)) {
    // What came was no HTTP, which libcurl takes for a version it is not to
    // speak.
    code = CURLE_WEIRD_SERVER_REPLY;
  }
  if (code != CURLE_OK) return CurlStatus(code, error_);
  if (!response_.ok()) {
    return absl::UnavailableError("the server sent no answer");
  }
  return exchange_->End();
}

size_t HttpAttempt::OnHeader(char* data, size_t size, size_t count,
                             void* self) {
  auto* attempt = static_cast<HttpAttempt*>(self);
  attempt->all_bytes_ += static_cast<int64_t>(size * count);
  attempt->status_ = attempt->TakeHeader({data, size * count});
  return attempt->status_.ok() ? size * count : 0;
}

size_t HttpAttempt::OnBody(char* data, size_t size, size_t count, void* self) {
  auto* attempt = static_cast<HttpAttempt*>(self);
  attempt->all_bytes_ += static_cast<int64_t>(size * count);
  attempt->status_ = attempt->TakeBody({data, size * count});
  return attempt->status_.ok() ? size * count : 0;
}

absl::Status HttpAttempt::TakeHeader(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) {
    // The end of a head; those of redirects and 1xx come before it, trailers
    // after the body.
    if (!response_.ok() || head_taken_) return absl::OkStatus();
    head_taken_ = true;
    return exchange_->Head(response_);
  }
  const int status = StatusOf(line);
  if (status > 0) {
    response_.status = status;
    response_.headers.Clear();
    return absl::OkStatus();
  }
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos) {
    response_.headers.Add(line.substr(0, colon),
                          absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return absl::OkStatus();
}

absl::Status HttpAttempt::TakeBody(absl::string_view bytes) {
  if (response_.ok()) {
    return exchange_->Body(bytes);
  }
  const size_t room = kMaxErrorBody - response_.error_body.size();
  response_.error_body.append(bytes.data(), std::min(room, bytes.size()));
  return absl::OkStatus();
}

}  // namespace feedrate
