#include "lib/storage/http/client.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

// A body slower than this counts as stalled however steadily it drips.
constexpr double kSlowestBytesPerS = 16 << 10;
// Of one HTTP/2 connection. More would put all ranges behind the window of a
// single TCP connection.
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

// Signals are for the threads of the program; a broken pipe is an error code.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

// Statuses are moved all the way: who gets one must not share it with this
// thread.
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

HttpCounts HttpClient::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  HttpCounts counts = counts_;
  if (busy_since_s_ >= 0) counts.busy_s += NowS() - busy_since_s_;
  return counts;
}

void HttpClient::Run() {
  BlockSignals();
  while (TakeInbox()) {
    StartWaiting();
    int still_running = 0;
    curl_multi_perform(multi_, &still_running);
    ReapFinished();
    EndStalled();
    // What ended made room, and may have asked for more.
    StartWaiting();
    curl_multi_poll(multi_, nullptr, 0, WaitMilliseconds(), nullptr);
  }
  CancelAll();
}

// False: it is time to stop.
bool HttpClient::TakeInbox() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::unique_ptr<HttpExchange>& exchange : inbox_) {
    ready_.push_back({std::move(exchange), 0});
  }
  inbox_.clear();
  return !stopping_;
}

void HttpClient::StartWaiting() {
  while (running_.size() < static_cast<size_t>(options_.connections)) {
    // Who has waited for another attempt goes first.
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
  Running running;
  if (idle_.empty()) {
    running.attempt = std::make_unique<HttpAttempt>();
  } else {
    running.attempt = std::move(idle_.back());
    idle_.pop_back();
  }
  running.attempt->Begin(work.exchange.get(), *request, options_.timeout_s,
                         options_.ca_file);
  running.seen_at_s = NowS();
  running.end_by_s =
      running.seen_at_s + options_.timeout_s +
      static_cast<double>(work.exchange->BytesLeft()) / kSlowestBytesPerS;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_.requests;
    if (work.failed > 0) ++counts_.retries;
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
    // The message is gone with the handle.
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi_, easy);
    Running running = std::move(running_.extract(easy).mapped());
    absl::Status status = running.attempt->Finish(code);
    EndAttempt(std::move(running), std::move(status));
  }
}

void HttpClient::EndStalled() {
  const double now_s = NowS();
  std::vector<CURL*> stalled;
  for (auto& [easy, running] : running_) {
    if (running.attempt->all_bytes() != running.seen_bytes) {
      running.seen_bytes = running.attempt->all_bytes();
      running.seen_at_s = now_s;
    }
    if (now_s >= running.seen_at_s + options_.timeout_s ||
        now_s >= running.end_by_s) {
      stalled.push_back(easy);
    }
  }
  for (CURL* const easy : stalled) {
    curl_multi_remove_handle(multi_, easy);
    Running running = std::move(running_.extract(easy).mapped());
    absl::Status late = absl::DeadlineExceededError(
        now_s < running.end_by_s
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
  const auto cancelled = [] {
    return absl::CancelledError("cancelled: the store was closed");
  };
  for (auto& [easy, running] : running_) {
    curl_multi_remove_handle(multi_, easy);
    running.work.exchange->Done(cancelled());
  }
  running_.clear();
  for (auto& [at_s, work] : later_) work.exchange->Done(cancelled());
  later_.clear();
  // A Done may have started something new.
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
    until_s = std::min(
        {until_s, running.seen_at_s + options_.timeout_s, running.end_by_s});
  }
  // Rounded up: a little early would spin.
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
