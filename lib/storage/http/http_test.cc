#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/storage/http/url.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PercentEncodeTest, LeavesOnlyWhatSignaturesLeave) {
  EXPECT_EQ(PercentEncode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(PercentEncode("a/b c+d=,é"), "a%2Fb%20c%2Bd%3D%2C%C3%A9");
  EXPECT_EQ(PercentEncode("a/b c", /*keep_slash=*/true), "a/b%20c");
}

TEST(PercentDecodeTest, UndoesTheEncoding) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("%zz%4"), "%zz%4");
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
  EXPECT_EQ(PercentDecode("a+b%2B", /*plus_is_space=*/true), "a b+");
}

TEST(IsLoopbackHostTest, OnlyThisMachine) {
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:9",
                           "127.200.1.2", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host :
       {"", "h", "localhost.example.com", "127.0.0.1.example.com", "127.1",
        "128.0.0.1", "[::2]", "[::1].example.com", "x.localhost"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(EncodeQueryTest, SortsByTheEncodedName) {
  EXPECT_EQ(EncodeQuery({}), "");
  EXPECT_EQ(EncodeQuery({{"prefix", "a/b"}, {"list-type", "2"}, {"acl", ""}}),
            "acl=&list-type=2&prefix=a%2Fb");
}

TEST(ParseUrlTest, TakesAnAddressApart) {
  const auto url = ParseUrl("HTTPS://host.example:81/a b/%20?x=1&y#part");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "host.example:81");
  EXPECT_EQ(url->path, "/a b/%20");
  EXPECT_EQ(url->query, "x=1&y");
  EXPECT_EQ(ParseUrl("s3://bucket")->path, "");
}

TEST(ParseUrlTest, RefusesWithoutRepeatingASecret) {
  for (const char* bad : {"", "x", "://x", "s3://", "s3:///key", "s3://a b/c",
                          "http://h\n/x", "http://h/\x01"}) {
    EXPECT_FALSE(ParseUrl(bad).ok()) << bad;
  }
  const auto secret = ParseUrl("https://me:hunter2@host/x");
  EXPECT_THAT(secret.status().message(), HasSubstr("password"));
  EXPECT_THAT(secret.status().message(), Not(HasSubstr("hunter2")));
}

TEST(ParseEndpointTest, TakesAServerWithOrWithoutAScheme) {
  EXPECT_EQ(*ParseEndpoint("http://127.0.0.1:90/", "E"), "http://127.0.0.1:90");
  EXPECT_EQ(*ParseEndpoint("localhost:9023", "E"), "http://localhost:9023");
  EXPECT_EQ(*ParseEndpoint("127.0.0.1:90/x", "E"), "http://127.0.0.1:90/x");
  EXPECT_EQ(*ParseEndpoint("h:80", "E"), "https://h:80");
  EXPECT_EQ(*ParseEndpoint("localhost.evil:80", "E"),
            "https://localhost.evil:80");
  EXPECT_EQ(*ParseEndpoint("https://h/minio/", "E"), "https://h/minio");
  const auto bad = ParseEndpoint("ftp://x", "--endpoint");
  EXPECT_THAT(bad.status().message(), HasSubstr("--endpoint: must begin with"));
}

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretsTest, HidesThemInEveryForm) {
  Secrets secrets;
  secrets.Add("wJal/K7MD+x");
  secrets.Add("token");
  secrets.Add("token-and-more");
  EXPECT_EQ(secrets.Redact("key wJal/K7MD+x, again wJal%2FK7MD%2Bx"),
            "key ***, again ***");
  EXPECT_EQ(secrets.Redact("a token-and-more, a token"), "a ***, a ***");
}

TEST(SecretsTest, HidesSignatures) {
  const std::string signature(64, 'a');
  EXPECT_EQ(Secrets().Redact("x " + signature + ", y"), "x ***, y");
  EXPECT_EQ(Secrets().Redact(signature), "***");
  const std::string etag(32, 'a');
  EXPECT_EQ(Secrets().Redact("x " + etag), "x " + etag);
}

TEST(SecretsTest, LeavesOneShortLine) {
  const Secrets none;
  EXPECT_EQ(none.Redact("a\nb\x1b[0m"), "a b [0m");
  const std::string cut = none.Redact(std::string(5000, 'x'));
  EXPECT_LT(cut.size(), 400);
}

// Truncation comes after redaction, so that no half of a secret is left at the
// cut.
TEST(SecretsTest, HidesBeforeItCuts) {
  Secrets secrets;
  const std::string secret(100, 's');
  secrets.Add(secret);
  const std::string text = std::string(Secrets::kMaxText - 50, 'x') + secret;
  EXPECT_THAT(secrets.Redact(text), Not(HasSubstr("ss")));
}

TEST(SecretsTest, EmptyAndShortOnesHideNothing) {
  Secrets secrets;
  secrets.Add("");
  secrets.Add("abc");
  EXPECT_EQ(secrets.Redact("abcd"), "abcd");
}

using ::testing::HasSubstr;

// The result of one exchange.
struct Outcome {
  absl::Status status;
  std::string body;
  int attempts = 0;
};

// Waits for several exchanges.
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

TEST(HttpClientTest, AnErrorWithoutEndIsCutOff) {
  TinyServer server([](const std::string&) {
    TinyAnswer answer;
    answer.bytes = absl::StrCat(
        "HTTP/1.1 404 Not Found\r\nContent-Length: 1000000000000\r\n\r\n",
        std::string(1 << 20, 'x'));
    answer.stall = true;
    return answer;
  });
  HttpClient client(Options());
  const Outcome outcome = GetOne(&client, server.url());
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(outcome.status.message(),
            absl::StrCat("404 ", std::string(64 << 10, 'x')));
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
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded);
    // On a busy machine the time for slow answers may end first.
    EXPECT_THAT(outcome.status.message(),
                ::testing::AnyOf("nothing came for 0.05 s (2 attempts)",
                                 "it came too slowly (2 attempts)"));
  }
}

TEST(FetchTextTest, SaysWhatIsWrongWithARedirect) {
  TinyServer server([](const std::string&) -> TinyAnswer {
    return {
        "HTTP/1.1 302 X\r\nLocation: file:///etc/passwd\r\n"
        "Content-Length: 0\r\n\r\n"};
  });
  HttpRequest request;
  request.url = server.url();
  request.follow_redirects = true;
  const absl::Status status = FetchText(request, Options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a web address"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("https")));
}

TEST(FetchTextTest, ABodyWithoutEndIsRefused) {
  const std::string longest(size_t{2} << 20, 'x');
  TinyServer server([&](const std::string&) { return TinyOk(longest); });
  HttpRequest request;
  request.url = server.url();
  EXPECT_EQ(FetchText(request, Options()).status(),
            absl::OutOfRangeError("the answer is too long to be one"));
}

TEST(HttpClientTest, AHeadWithoutEndIsCutOff) {
  std::string many;
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&many, "x-", i, ": 1\r\n");
  std::string informs;
  for (int i = 0; i < 50000; ++i) informs += "HTTP/1.1 103 Early\r\n\r\n";
  for (const std::string& head :
       {absl::StrCat("HTTP/1.1 200 OK\r\n", many), informs}) {
    TinyServer server([&](const std::string&) -> TinyAnswer {
      return {absl::StrCat(head, "\r\n"), /*close=*/true};
    });
    HttpClient client(Options());
    EXPECT_EQ(GetOne(&client, server.url()).status,
              absl::OutOfRangeError("the head of the answer has no end"));
  }
}

// However much it promises.
TEST(HttpClientTest, AServerThatDripsEndsInTime) {
  HttpClientOptions options = Options();
  options.timeout_s = 0.3;
  options.retry.retries = 0;
  TinyServer server([](const std::string&) {
    TinyAnswer answer;
    answer.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n";
    answer.drip = true;
    return answer;
  });
  HttpClient client(options);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(GetOne(&client, server.url()).status.code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(HttpClientTest, NoAttemptBeginsAfterTheEnd) {
  HttpClient client(Options());
  absl::Status status;
  std::promise<void> done;
  TextQuery query;
  query.give_up_at = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  query.done = [&](absl::Status result) {
    status = std::move(result);
    done.set_value();
  };
  client.Start(NewTextExchange(std::move(query)));
  done.get_future().wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
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

// What runs, what waits for a connection or for its next attempt, and what
// comes then.
TEST(HttpClientTest, CancellingEndsEverythingUntilItIsTakenBack) {
  std::atomic<bool> silent{true};
  TinyServer server([&](const std::string& head) -> TinyAnswer {
    if (absl::StartsWith(head, "GET /later")) {
      return {
          "HTTP/1.1 503 X\r\nRetry-After: 1000\r\nContent-Length: 0\r\n"
          "\r\n",
          false, false};
    }
    if (silent) return {"", false, /*stall=*/true};
    return TinyOk("");
  });
  HttpClientOptions options = Options();
  options.connections = 2;
  options.retry.longest_wait_s = 1000;
  HttpClient client(options);
  Outcomes outcomes(6);
  for (int i = 0; i < 5; ++i) {
    client.Start(std::make_unique<TestExchange>(
        server.url() + (i == 0 ? "/later" : "/"), i, &outcomes));
  }
  while (client.counts().requests < 3) std::this_thread::yield();
  client.SetCancelled(true);
  client.Start(std::make_unique<TestExchange>(server.url(), 5, &outcomes));
  for (const Outcome& outcome : outcomes.Wait()) {
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kCancelled);
  }
  client.SetCancelled(false);
  silent = false;
  EXPECT_EQ(GetOne(&client, server.url()).status, absl::OkStatus());
}

TEST(HttpClientTest, NothingButTheWebIsRead) {
  HttpClient client(Options());
  EXPECT_EQ(GetOne(&client, "file:///etc/hostname").status.code(),
            absl::StatusCode::kInvalidArgument);
}

RetryPolicy Policy() {
  RetryPolicy policy;
  policy.retries = 5;
  policy.first_wait_s = 1;
  policy.longest_wait_s = 10;
  return policy;
}

// Uses a fake clock.
class RetryScheduleTest : public ::testing::Test {
 protected:
  double now_s_ = 1000;
  RetrySchedule schedule_{Policy(), [this] { return now_s_; }, 7};
  const absl::Status busy_ = absl::UnavailableError("503");
};

TEST_F(RetryScheduleTest, WaitsDoubleUpToTheLongest) {
  for (int round = 0; round < 200; ++round) {
    const double doubled[] = {1, 2, 4, 8, 10};
    for (int failed = 1; failed <= 5; ++failed) {
      const auto at = schedule_.NextAttemptAt(busy_, failed, 0);
      ASSERT_TRUE(at.has_value());
      EXPECT_GE(*at - now_s_, doubled[failed - 1] / 2);
      EXPECT_LE(*at - now_s_, doubled[failed - 1]);
    }
    now_s_ += 17;
  }
}

TEST_F(RetryScheduleTest, ThoseWhoFailTogetherComeBackApart) {
  std::set<int> milliseconds;
  for (int i = 0; i < 100; ++i) {
    const auto at = schedule_.NextAttemptAt(busy_, 3, 0);
    milliseconds.insert(static_cast<int>((*at - now_s_) * 1000));
  }
  EXPECT_GT(milliseconds.size(), 80);
}

TEST_F(RetryScheduleTest, EndsAfterTheLastRetry) {
  EXPECT_TRUE(schedule_.NextAttemptAt(busy_, 5, 0).has_value());
  EXPECT_FALSE(schedule_.NextAttemptAt(busy_, 6, 0).has_value());
}

TEST_F(RetryScheduleTest, WhatTheServerAsksForCountsUpToTheLongest) {
  EXPECT_EQ(*schedule_.NextAttemptAt(busy_, 1, 5), now_s_ + 5);
  EXPECT_EQ(*schedule_.NextAttemptAt(busy_, 1, 3600), now_s_ + 10);
}

TEST_F(RetryScheduleTest, AFinalErrorIsNotRepeated) {
  for (const absl::Status& status :
       {absl::NotFoundError(""), absl::PermissionDeniedError(""),
        absl::UnauthenticatedError(""), absl::InvalidArgumentError(""),
        absl::CancelledError(""), absl::FailedPreconditionError("")}) {
    EXPECT_FALSE(schedule_.NextAttemptAt(status, 1, 0).has_value()) << status;
  }
  for (const absl::Status& status :
       {absl::DeadlineExceededError(""), absl::ResourceExhaustedError(""),
        absl::DataLossError("")}) {
    EXPECT_TRUE(schedule_.NextAttemptAt(status, 1, 0).has_value()) << status;
  }
}

TEST(RetryAfterTest, ReadsSecondsAndNothingElse) {
  EXPECT_EQ(RetryAfterSeconds("3"), 3);
  EXPECT_EQ(RetryAfterSeconds("0.5"), 0.5);
  EXPECT_EQ(RetryAfterSeconds(""), 0);
  EXPECT_EQ(RetryAfterSeconds("-4"), 0);
  EXPECT_EQ(RetryAfterSeconds("inf"), 0);
  EXPECT_EQ(RetryAfterSeconds("nan"), 0);
  EXPECT_EQ(RetryAfterSeconds("Wed, 21 Oct 2026 07:28:00 GMT"), 0);
}

TEST(ServeFolderTest, AnswersWithFilesAndRangesOfThem) {
  const std::string folder = testing::TempDir() + "/served";
  ASSERT_TRUE(mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
  std::ofstream(folder + "/a.tar") << "0123456789";
  std::ofstream(testing::TempDir() + "/secret") << "secret";
  const TinyServer::Handler serve = ServeFolder(folder);
  const auto get = [&](const std::string& name, const std::string& header) {
    return serve(absl::StrCat("GET ", name, " HTTP/1.1\r\nhost: x\r\n", header))
        .bytes;
  };
  const auto etag = [&] {
    const std::string answer = get("/a.tar", "");
    const size_t begin = answer.find("ETag: ");
    return answer.substr(begin, answer.find("\r\n", begin) - begin);
  };
  const std::string before = etag();
  EXPECT_THAT(before, ::testing::StartsWith("ETag: \""));
  EXPECT_EQ(get("/a.tar", ""),
            absl::StrCat("HTTP/1.1 200 OK\r\nAccept-Ranges: bytes\r\n", before,
                         "\r\nContent-Length: 10\r\n\r\n0123456789"));
  EXPECT_EQ(
      get("/a.tar", "Range: bytes=2-4\r\n"),
      absl::StrCat("HTTP/1.1 206 Partial Content\r\nAccept-Ranges: bytes\r\n",
                   before,
                   "\r\nContent-Length: 3\r\n"
                   "Content-Range: bytes 2-4/10\r\n\r\n234"));
  EXPECT_THAT(get("/a.tar", "range: bytes=8-\r\n"), HasSubstr("\r\n\r\n89"));
  EXPECT_THAT(get("/a.tar", "range: bytes=8-99\r\n"), HasSubstr("8-9/10"));
  EXPECT_THAT(get("/a.tar", "range: bytes=10-11\r\n"), HasSubstr(" 416 "));
  for (const char* name :
       {"/none", "/", "/..", "/../secret", "/./a.tar", "a.tar", "//a.tar"}) {
    EXPECT_THAT(get(name, ""), HasSubstr(" 404 ")) << name;
  }
  EXPECT_THAT(serve("PUT /a.tar HTTP/1.1\r\n").bytes, HasSubstr(" 404 "));
  EXPECT_THAT(serve("").bytes, HasSubstr(" 404 "));
  std::ofstream(folder + "/a.tar") << "0123456789a";
  EXPECT_NE(etag(), before);
}

}  // namespace
}  // namespace feedrate
