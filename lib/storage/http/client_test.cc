#include "lib/storage/http/client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/http/testing/tiny_server.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// What came of one exchange.
struct Outcome {
  absl::Status status;
  std::string body;
  int attempts = 0;
};

// Waits for all of several exchanges.
class Outcomes {
 public:
  explicit Outcomes(size_t count) : outcomes_(count), left_(count) {}
  void Set(size_t i, Outcome outcome) {
    const std::lock_guard<std::mutex> lock(mutex_);
    outcomes_[i] = std::move(outcome);
    --left_;
    changed_.notify_all();
  }
  const std::vector<Outcome>& Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
    return outcomes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Outcome> outcomes_;
  size_t left_;
};

class TestExchange : public HttpExchange {
 public:
  TestExchange(std::string url, size_t index, Outcomes* outcomes)
      : url_(std::move(url)), index_(index), outcomes_(outcomes) {}

  absl::StatusOr<HttpRequest> Request() override {
    ++outcome_.attempts;
    outcome_.body.clear();
    HttpRequest request;
    request.url = url_;
    request.headers = {"x-test: yes"};
    return request;
  }
  absl::Status Head(const HttpResponse& response) override {
    return response.headers.Get("x-refuse").empty()
               ? absl::OkStatus()
               : absl::OutOfRangeError("refused");
  }
  absl::Status Body(absl::string_view bytes) override {
    outcome_.body.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  absl::Status End() override { return absl::OkStatus(); }
  absl::Status Refused(const HttpResponse& response) override {
    const std::string text =
        absl::StrCat(response.status, " ", response.error_body);
    return response.status >= 500 ? absl::UnavailableError(text)
                                  : absl::NotFoundError(text);
  }
  void Done(absl::Status status) override {
    outcome_.status = std::move(status);
    outcomes_->Set(index_, std::move(outcome_));
  }
  int64_t BytesLeft() const override { return 1 << 20; }

 private:
  const std::string url_;
  const size_t index_;
  Outcomes* const outcomes_;
  Outcome outcome_;
};

HttpClientOptions Options() {
  HttpClientOptions options;
  options.connections = 4;
  options.timeout_s = 20;
  options.retry.retries = 3;
  options.retry.first_wait_s = 0.001;
  options.seed = 1;
  return options;
}

Outcome GetOne(HttpClient* client, const std::string& url) {
  Outcomes outcomes(1);
  client->Start(std::make_unique<TestExchange>(url, 0, &outcomes));
  return outcomes.Wait()[0];
}

TEST(HttpClientTest, KeepsItsConnections) {
  TinyServer server([](const std::string& head) {
    EXPECT_THAT(head, HasSubstr("x-test: yes"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return TinyOk(head.substr(0, head.find(" HTTP")));
  });
  HttpClient client(Options());
  constexpr int kCount = 200;
  Outcomes outcomes(kCount);
  for (int i = 0; i < kCount; ++i) {
    client.Start(std::make_unique<TestExchange>(
        absl::StrCat(server.url(), "/", i), i, &outcomes));
  }
  const auto& all = outcomes.Wait();
  for (int i = 0; i < kCount; ++i) {
    EXPECT_TRUE(all[i].status.ok()) << all[i].status;
    EXPECT_EQ(all[i].body, absl::StrCat("GET /", i));
  }
  EXPECT_LE(server.connections(), 4);
  EXPECT_LE(server.most_at_once(), 4);
  const HttpCounts counts = client.counts();
  EXPECT_EQ(counts.requests, kCount);
  EXPECT_EQ(counts.retries, 0);
  EXPECT_GT(counts.busy_s, 0);
}

TEST(HttpClientTest, TriesAgainAfterEveryKindOfFault) {
  std::atomic<int> calls{0};
  TinyServer server([&](const std::string&) -> TinyAnswer {
    switch (calls++) {
      case 0:
        return {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"};
      case 1:
        return {"", /*close=*/true};
      case 2:
        return {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true};
      case 3:
        return {"no http\r\n\r\n", true};
      default:
        return TinyOk("whole");
    }
  });
  HttpClientOptions options = Options();
  options.retry.retries = 4;
  HttpClient client(options);
  const Outcome outcome = GetOne(&client, server.url());
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.body, "whole");
  EXPECT_EQ(client.counts().requests, outcome.attempts);
  EXPECT_GE(client.counts().retries, 3);
}

TEST(HttpClientTest, GivesUpAndSaysHowOftenItTried) {
  TinyServer server([](const std::string&) {
    return TinyAnswer{"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"};
  });
  HttpClient client(Options());
  const Outcome outcome = GetOne(&client, server.url());
  EXPECT_EQ(outcome.status, absl::UnavailableError("500 no (4 attempts)"));
  EXPECT_EQ(client.counts().retries, 3);
}

TEST(HttpClientTest, AFinalErrorIsNotTriedAgain) {
  TinyServer server([](const std::string& head) -> TinyAnswer {
    if (absl::StartsWith(head, "GET /refused")) {
      return {"HTTP/1.1 200 OK\r\nX-Refuse: 1\r\nContent-Length: 1\r\n\r\nx"};
    }
    return {"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"};
  });
  HttpClient client(Options());
  EXPECT_EQ(GetOne(&client, server.url()).status,
            absl::NotFoundError("404 no"));
  const Outcome refused = GetOne(&client, server.url() + "/refused");
  EXPECT_EQ(refused.status, absl::OutOfRangeError("refused"));
  EXPECT_EQ(client.counts().retries, 0);
}

TEST(HttpClientTest, ASilentServerEndsInTime) {
  HttpClientOptions options = Options();
  options.timeout_s = 0.05;
  options.retry.retries = 1;
  TinyServer server([](const std::string& head) -> TinyAnswer {
    const bool begins = absl::StartsWith(head, "GET /begins");
    return {begins ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" : "",
            false, /*stall=*/true};
  });
  HttpClient client(options);
  for (const char* path : {"/", "/begins"}) {
    const Outcome outcome = GetOne(&client, server.url() + path);
    EXPECT_EQ(outcome.status,
              absl::DeadlineExceededError("nothing came for 0.05 s (2 "
                                          "attempts)"));
  }
}

TEST(HttpClientTest, NobodyListens) {
  HttpClientOptions options = Options();
  options.retry.retries = 1;
  HttpClient client(options);
  std::string url;
  {
    url = TinyServer([](const std::string&) { return TinyOk(""); }).url();
  }
  const Outcome outcome = GetOne(&client, url);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(outcome.attempts, 2);
}

TEST(HttpClientTest, ClosingEndsWhatRuns) {
  TinyServer server([](const std::string&) {
    return TinyAnswer{"", false, /*stall=*/true};
  });
  Outcomes outcomes(9);
  {
    HttpClient client(Options());
    for (int i = 0; i < 9; ++i) {
      client.Start(std::make_unique<TestExchange>(server.url(), i, &outcomes));
    }
  }
  for (const Outcome& outcome : outcomes.Wait()) {
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kCancelled);
  }
}

TEST(HttpClientTest, NothingButTheWebIsRead) {
  HttpClient client(Options());
  EXPECT_EQ(GetOne(&client, "file:///etc/hostname").status.code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedrate
