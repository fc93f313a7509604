#include "lib/storage/http/client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {

namespace {

// What a failure of libcurl means. `detail` is the text of CURLOPT_ERRORBUFFER;
// when it is empty, the code's own text is used. A failure of the connection is
// UNAVAILABLE or DEADLINE_EXCEEDED, so that it is retried; one that would come
// again is neither.
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

// Many times the size of an error from S3 or GCS. A longer one is cut off, as
// it may have no end.
constexpr size_t kMaxErrorBody = 64 << 10;
// All heads of one response together. Many times what servers send; older
// libcurl limits single lines only.
constexpr int64_t kMaxHeadBytes = 256 << 10;
// Fewer recv calls for the same bytes. Twice as much does not help any more,
// and the buffers of many connections fall out of the cache.
constexpr long kReceiveBytes = 256 << 10;
constexpr long kMaxRedirects = 5;

// A redirect from https to http is refused: everybody on the way could read and
// change what is sent.
void AllowOnlyTheWeb(CURL* easy, bool https) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                   https ? "https" : "http,https");
#else
  const long web = CURLPROTO_HTTP | CURLPROTO_HTTPS;
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS, web);
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS,
                   https ? static_cast<long>(CURLPROTO_HTTPS) : web);
#endif
}

// Why libcurl does not follow a redirect to this address.
absl::Status BadRedirect(absl::string_view location) {
  return absl::FailedPreconditionError(
      absl::StartsWithIgnoreCase(location, "http:")
          ? "the server redirects from https to an address that is not, which "
            "is not followed; if you trust the network, name that address "
            "yourself"
          : "the server redirects to something that is not a web address, "
            "which is not followed; check the address");
}

// "HTTP/1.1 206 Partial Content" -> 206; otherwise 0.
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

// One request on the wire, made with libcurl. The handle is reused by one
// exchange after another. Not thread-safe.
class HttpAttempt {
 public:
  HttpAttempt();
  ~HttpAttempt();
  HttpAttempt(const HttpAttempt&) = delete;
  HttpAttempt& operator=(const HttpAttempt&) = delete;

  // Sets up the handle for `request`, whose response goes to `exchange`.
  // Connecting takes at most `timeout_s`. `ca_file` has the certificates to
  // trust; if it is empty, the system's are used.
  void Begin(HttpExchange* exchange, HttpRequest request, double timeout_s,
             const std::string& ca_file);

  // The request to send instead, if the response is a redirect that the request
  // follows itself; an error if it must not be followed.
  std::optional<absl::StatusOr<HttpRequest>> Redirected() const;

  // The result, once libcurl is done with the handle. `code` is libcurl's
  // result.
  absl::Status Finish(CURLcode code);

  CURL* easy() const { return easy_; }
  const HttpResponse& response() const { return response_; }
  // Bytes of the request's body and of the response so far.
  int64_t all_bytes() const;

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  void SetBody();
  absl::Status TakeHeader(absl::string_view line);
  absl::Status TakeBody(absl::string_view bytes);

  CURL* const easy_;
  curl_slist* headers_ = nullptr;
  HttpRequest request_;
  HttpExchange* exchange_ = nullptr;
  HttpResponse response_;
  absl::Status status_;  // Result of the last call of the exchange.
  bool head_taken_ = false;
  int64_t all_bytes_ = 0;
  int64_t head_bytes_ = 0;
  char error_[CURL_ERROR_SIZE];
};

HttpAttempt::HttpAttempt() : easy_(curl_easy_init()), error_{} {}

HttpAttempt::~HttpAttempt() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void HttpAttempt::Begin(HttpExchange* exchange, HttpRequest request,
                        double timeout_s, const std::string& ca_file) {
  exchange_ = exchange;
  request_ = std::move(request);
  response_ = HttpResponse();
  status_ = absl::OkStatus();
  head_taken_ = false;
  all_bytes_ = head_bytes_ = 0;
  error_[0] = '\0';
  curl_easy_reset(easy_);
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  for (const std::string& header : request_.headers) {
    headers_ = curl_slist_append(headers_, header.c_str());
  }
  AllowOnlyTheWeb(easy_, absl::StartsWithIgnoreCase(request_.url, "https:"));
  curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
  // A name may contain "..", which the signature covers unchanged.
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET") {
    SetBody();
  }
  if (request_.no_proxy) curl_easy_setopt(easy_, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "feedrate");
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION,
                   request_.follow_redirects ? 1L : 0L);
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
#if LIBCURL_VERSION_NUM >= 0x075700
  // Otherwise a request that ends early waits until the system has looked up
  // the host's name.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
#endif
}

void HttpAttempt::SetBody() {
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request_.body.size()));
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.data());
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  // Without a round trip that asks whether the body is welcome.
  headers_ = curl_slist_append(headers_, "expect:");
}

std::optional<absl::StatusOr<HttpRequest>> HttpAttempt::Redirected() const {
  const int status = response_.status;
  const std::string& location = response_.headers.Get("location");
  const bool is_redirect =
      status == 301 || status == 302 || status == 307 || status == 308;
  if (!is_redirect || location.empty() || request_.redirected == nullptr) {
    return std::nullopt;
  }
  return request_.redirected(location);
}

int64_t HttpAttempt::all_bytes() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
  return all_bytes_ + static_cast<int64_t>(sent);
}

absl::Status HttpAttempt::Finish(CURLcode code) {
  if (!status_.ok()) return std::move(status_);
  if (code == CURLE_UNSUPPORTED_PROTOCOL && response_.status >= 300 &&
      response_.status < 400) {
    return BadRedirect(response_.headers.Get("location"));
  }
  // An error response says more than how the connection ended.
  if (response_.status >= 300) return exchange_->Refused(response_);
  if (code == CURLE_UNSUPPORTED_PROTOCOL && WasSent(easy_)) {
    // The response was not HTTP, which libcurl reports as an HTTP version that
    // it must not use.
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
  attempt->head_bytes_ += static_cast<int64_t>(size * count);
  attempt->status_ =
      attempt->head_bytes_ <= kMaxHeadBytes
          ? attempt->TakeHeader({data, size * count})
          : absl::OutOfRangeError("the head of the answer has no end");
  return attempt->status_.ok() ? size * count : 0;
}

size_t HttpAttempt::OnBody(char* data, size_t size, size_t count, void* self) {
  auto* attempt = static_cast<HttpAttempt*>(self);
  attempt->all_bytes_ += static_cast<int64_t>(size * count);
  attempt->status_ = attempt->TakeBody({data, size * count});
  const bool is_enough = attempt->response_.error_body.size() >= kMaxErrorBody;
  return attempt->status_.ok() && !is_enough ? size * count : 0;
}

absl::Status HttpAttempt::TakeHeader(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) {
    // The end of a head. Heads of redirects and 1xx come before it, trailers
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

namespace {

// A slower body counts as stalled, even if bytes keep arriving.
constexpr double kSlowestBytesPerS = 16 << 10;
// Streams per HTTP/2 connection. More would put all ranges behind the window of
// a single TCP connection.
constexpr long kStreamsPerConnection = 4;
constexpr double kLongestPollS = 10;

double NowS() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch())
      .count();
}

CURLM* NewMulti(const HttpClientOptions& options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(ready);
  CURLM* multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
                    static_cast<long>(options.connections));
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS,
                    kStreamsPerConnection);
  return multi;
}

// Signals are handled by the program's own threads; a broken pipe is an error
// code.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

// Statuses are always moved: the receiver must not share one with this thread.
absl::Status WithAttempts(absl::Status status, int attempts) {
  if (status.ok() || attempts < 2) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (",
                                                  attempts, " attempts)"));
}

}  // namespace

HttpClient::HttpClient(const HttpClientOptions& options)
    : options_(options),
      multi_(NewMulti(options)),
      schedule_(options.retry, &NowS,
                options.seed != 0 ? options.seed : std::random_device()()),
      thread_([this] { Run(); }) {}

HttpClient::~HttpClient() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
  idle_.clear();
  curl_multi_cleanup(multi_);
}

void HttpClient::Start(std::unique_ptr<HttpExchange> exchange) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    inbox_.push_back(std::move(exchange));
  }
  curl_multi_wakeup(multi_);
}

void HttpClient::SetCancelled(bool cancelled) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = cancelled;
  }
  curl_multi_wakeup(multi_);
}

HttpCounts HttpClient::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  HttpCounts counts = counts_;
  if (busy_since_s_ >= 0) counts.busy_s += NowS() - busy_since_s_;
  return counts;
}

void HttpClient::Run() {
  BlockSignals();
  for (Order order; (order = TakeInbox()) != Order::kStop;) {
    if (order == Order::kCancel) CancelAll();
    StartWaiting();
    int still_running = 0;
    curl_multi_perform(multi_, &still_running);
    ReapFinished();
    EndStalled();
    // Finished requests free connections and may have started new requests.
    StartWaiting();
    curl_multi_poll(multi_, nullptr, 0, WaitMilliseconds(), nullptr);
  }
  CancelAll();
}

HttpClient::Order HttpClient::TakeInbox() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::unique_ptr<HttpExchange>& exchange : inbox_) {
    ready_.push_back({std::move(exchange), 0});
  }
  inbox_.clear();
  if (stopping_) return Order::kStop;
  return cancelled_ ? Order::kCancel : Order::kWork;
}

void HttpClient::StartWaiting() {
  while (running_.size() < static_cast<size_t>(options_.connections)) {
    // Requests that waited for a retry go first.
    if (!later_.empty() && later_.begin()->first <= NowS()) {
      StartAttempt(std::move(later_.extract(later_.begin()).mapped()));
    } else if (!ready_.empty()) {
      Waiting work = std::move(ready_.front());
      ready_.pop_front();
      StartAttempt(std::move(work));
    } else {
      break;
    }
  }
  SetBusy(!running_.empty());
}

void HttpClient::StartAttempt(Waiting work) {
  absl::StatusOr<HttpRequest> request = work.exchange->Request();
  if (!request.ok()) {
    work.exchange->Done(WithAttempts(std::move(request).status(), work.failed));
    return;
  }
  Send(*std::move(request), std::move(work), 0);
}

void HttpClient::Send(HttpRequest request, Waiting work, int redirects) {
  Running running;
  running.redirects = redirects;
  if (idle_.empty()) {
    running.attempt = std::make_unique<HttpAttempt>();
  } else {
    running.attempt = std::move(idle_.back());
    idle_.pop_back();
  }
  running.seen_at_s = NowS();
  running.begin_s = running.seen_at_s + request.patience_s;
  running.attempt->Begin(work.exchange.get(), std::move(request),
                         options_.timeout_s, options_.ca_file);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_.requests;
    if (work.failed > 0 && redirects == 0) ++counts_.retries;
  }
  running.work = std::move(work);
  CURL* const easy = running.attempt->easy();
  running_.emplace(easy, std::move(running));
  curl_multi_add_handle(multi_, easy);
}

void HttpClient::ReapFinished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // The message becomes invalid with the handle.
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi_, easy);
    Running running = std::move(running_.extract(easy).mapped());
    auto redirected = running.attempt->Redirected();
    if (redirected.has_value() && running.redirects >= kMaxRedirects) {
      redirected = absl::FailedPreconditionError(
          absl::StrCat("the server redirects more than ", kMaxRedirects,
                       " times; check the endpoint"));
    }
    if (!redirected.has_value()) {
      absl::Status status = running.attempt->Finish(code);
      EndAttempt(std::move(running), std::move(status));
    } else if (!redirected->ok()) {
      EndAttempt(std::move(running), std::move(*redirected).status());
    } else {
      idle_.push_back(std::move(running.attempt));
      Send(**std::move(redirected), std::move(running.work),
           running.redirects + 1);
    }
  }
}

// When it counts as stalled: it is silent, or comes more slowly than is
// allowed, whatever is still to come.
double HttpClient::EndsAtS(const Running& running) const {
  const double paid_s =
      static_cast<double>(running.seen_bytes) / kSlowestBytesPerS;
  return options_.timeout_s +
         std::min(running.seen_at_s, running.begin_s + paid_s);
}

void HttpClient::EndStalled() {
  const double now_s = NowS();
  std::vector<CURL*> stalled;
  for (auto& [easy, running] : running_) {
    if (running.attempt->all_bytes() != running.seen_bytes) {
      running.seen_bytes = running.attempt->all_bytes();
      running.seen_at_s = now_s;
    }
    if (now_s >= EndsAtS(running)) stalled.push_back(easy);
  }
  for (CURL* const easy : stalled) {
    curl_multi_remove_handle(multi_, easy);
    Running running = std::move(running_.extract(easy).mapped());
    absl::Status late = absl::DeadlineExceededError(
        now_s >= running.seen_at_s + options_.timeout_s
            ? absl::StrFormat("nothing came for %.3g s", options_.timeout_s)
            : "it came too slowly");
    EndAttempt(std::move(running), std::move(late));
  }
}

void HttpClient::EndAttempt(Running running, absl::Status status) {
  const double retry_after_s =
      RetryAfterSeconds(running.attempt->response().headers.Get("retry-after"));
  idle_.push_back(std::move(running.attempt));
  Waiting work = std::move(running.work);
  ++work.failed;
  const auto again =
      schedule_.NextAttemptAt(status, work.failed, retry_after_s);
  if (again.has_value()) {
    later_.emplace(*again, std::move(work));
  } else {
    work.exchange->Done(WithAttempts(std::move(status), work.failed));
  }
}

void HttpClient::CancelAll() {
  const auto cancelled = [] { return absl::CancelledError("cancelled"); };
  for (auto& [easy, running] : running_) {
    curl_multi_remove_handle(multi_, easy);
    running.work.exchange->Done(cancelled());
  }
  running_.clear();
  for (auto& [at_s, work] : later_) work.exchange->Done(cancelled());
  later_.clear();
  // Done may have started a new exchange.
  do {
    for (Waiting& work : ready_) work.exchange->Done(cancelled());
    ready_.clear();
    TakeInbox();
  } while (!ready_.empty());
  SetBusy(false);
}

int HttpClient::WaitMilliseconds() const {
  double until_s = NowS() + kLongestPollS;
  if (!later_.empty()) until_s = std::min(until_s, later_.begin()->first);
  for (const auto& [easy, running] : running_) {
    until_s = std::min(until_s, EndsAtS(running));
  }
  // Rounded up: waking up early would spin.
  return std::max(0, static_cast<int>(std::ceil((until_s - NowS()) * 1000)));
}

void HttpClient::SetBusy(bool busy) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (busy == (busy_since_s_ >= 0)) return;
  if (busy) {
    busy_since_s_ = NowS();
  } else {
    counts_.busy_s += NowS() - busy_since_s_;
    busy_since_s_ = -1;
  }
}

}  // namespace feedrate
