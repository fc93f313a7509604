#include "lib/storage/remote/remote_store.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/storage/remote/remote_read.h"
#include "lib/storage/remote/s3_dialect.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Parses "Range: bytes=5-9" in the head of a request.
std::pair<int64_t, int64_t> RangeOf(const std::string& head) {
  const size_t at = head.find("range: bytes=");
  if (at == std::string::npos) return {-1, -1};
  const size_t first = at + 13, dash = head.find('-', first);
  int64_t from = 0, to = 0;
  EXPECT_TRUE(absl::SimpleAtoi(head.substr(first, dash - first), &from));
  EXPECT_TRUE(absl::SimpleAtoi(
      head.substr(dash + 1, head.find('\r', dash) - dash - 1), &to));
  return {from, to};
}

// A bucket with one object, "b/set/x", that a test can damage.
class RemoteStoreTest : public ::testing::Test {
 protected:
  RemoteStoreTest() {
    for (int i = 0; i < 1000; ++i) data_ += static_cast<char>(i * 7);
    options_.range_bytes = 300;
    options_.retries = 3;
  }

  std::unique_ptr<ObjectStore> Store() {
    AwsSettings settings;
    settings.region = "r";
    settings.endpoint = server_.url();
    settings.path_style = true;
    auto dialect = NewS3Dialect("s3://b/set", settings, &absl::Now);
    EXPECT_TRUE(dialect.ok()) << dialect.status();
    return NewRemoteStore(*std::move(dialect), options_);
  }

  TinyAnswer Answer(const std::string& head) {
    const int call = ++calls_;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      heads_.push_back(head);
    }
    return spoil_ ? spoil_(call, head) : Right(head);
  }

  TinyAnswer Right(const std::string& head) {
    const auto [first, last] = RangeOf(head);
    if (first < 0) {
      return {absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", data_.size(),
                           "\r\nETag: \"", etag_, "\"\r\n", stat_extra_,
                           "\r\n")};
    }
    return Part(first, last, data_.substr(first, last - first + 1), etag_);
  }

  TinyAnswer Part(int64_t first, int64_t last, const std::string& body,
                  const std::string& etag) {
    return {absl::StrCat("HTTP/1.1 206 P\r\nContent-Length: ", last - first + 1,
                         "\r\nETag: \"", etag, "\"\r\n", extra_,
                         "Content-Range: bytes ", first, "-", last, "/",
                         data_.size(), "\r\n\r\n", body),
            body.size() != last - first + 1};
  }

  absl::Status ReadAll(ObjectStore* store, const std::string& version = "") {
    read_.assign(data_.size(), '?');
    ReadRequest request;
    request.name = "x";
    request.version = version;
    request.bytes = static_cast<int64_t>(read_.size());
    request.out = &read_[0];
    return store->Read(request);
  }

  std::string data_, read_, extra_, stat_extra_;
  std::string etag_ = "v1";
  StoreOptions options_;
  std::function<TinyAnswer(int call, const std::string& head)> spoil_;
  std::atomic<int> calls_{0};
  std::mutex mutex_;
  std::vector<std::string> heads_;
  TinyServer server_{[this](const std::string& head) { return Answer(head); }};
};

TEST_F(RemoteStoreTest, PutsRangesTogether) {
  const auto store = Store();
  EXPECT_EQ(ReadAll(store.get()), absl::OkStatus());
  EXPECT_EQ(read_, data_);
  // Four ranges, and the question for a checksum.
  EXPECT_EQ(calls_, 5);
  EXPECT_EQ(store->counts().requests, 5);
  EXPECT_EQ(store->counts().bytes, 1000);
  EXPECT_THAT(heads_.back(), HasSubstr("HEAD /b/set/x HTTP/1.1"));
  heads_.pop_back();
  for (const std::string& head : heads_) {
    EXPECT_THAT(head, HasSubstr("GET /b/set/x HTTP/1.1"));
  }
}

// S3 sends no checksum with a range.
TEST_F(RemoteStoreTest, TheSumOfAnObjectInPartsIsAskedForAndCompared) {
  data_.assign(1000, '\0');
  stat_extra_ = "x-amz-checksum-type: FULL_OBJECT\r\n";
  const std::string good = "x-amz-checksum-crc32: BgsXgA==\r\n";
  const std::string bad = "x-amz-checksum-crc32: AAAAAA==\r\n";
  stat_extra_ += good;
  EXPECT_EQ(ReadAll(Store().get()), absl::OkStatus());
  stat_extra_ = bad;
  const auto store = Store();
  const absl::Status status = ReadAll(store.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("s3://b/set/x: its bytes do not have the checksum "
                        "crc32:00000000"));
  EXPECT_EQ(store->counts().checksum_faults, 3);
}

TEST_F(RemoteStoreTest, GoesOnWhereItBrokeOff) {
  options_.range_bytes = 1000;
  spoil_ = [this](int call, const std::string& head) {
    if (call == 1) return Part(0, 999, data_.substr(0, 400), etag_);
    return Right(head);
  };
  const auto store = Store();
  EXPECT_EQ(ReadAll(store.get()), absl::OkStatus());
  EXPECT_EQ(read_, data_);
  EXPECT_THAT(heads_[1], HasSubstr("range: bytes=400-999"));
  EXPECT_THAT(heads_[1], HasSubstr("if-match: \"v1\""));
  EXPECT_EQ(store->counts().retries, 1);
}

TEST_F(RemoteStoreTest, NeverMixesVersions) {
  spoil_ = [this](int call, const std::string& head) {
    const auto [first, last] = RangeOf(head);
    return Part(first, last, data_.substr(first, last - first + 1),
                first >= 600 ? "v2" : "v1");
  };
  const absl::Status status = ReadAll(Store().get());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("s3://b/set/x: the object has changed"));
  EXPECT_EQ(ReadAll(Store().get(), "v0").code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RemoteStoreTest, AnotherRangeIsAskedForAgain) {
  spoil_ = [this](int call, const std::string& head) {
    if (call > 1) return Right(head);
    return Part(1, 300, data_.substr(1, 300), etag_);
  };
  const auto store = Store();
  EXPECT_EQ(ReadAll(store.get()), absl::OkStatus());
  EXPECT_EQ(read_, data_);
  EXPECT_EQ(store->counts().retries, 1);
}

TEST_F(RemoteStoreTest, AShorterObjectIsTold) {
  const auto store = Store();
  data_.resize(700);
  read_.assign(1000, '?');
  ReadRequest request;
  request.name = "x";
  request.offset = 600;
  request.bytes = 200;
  request.out = &read_[0];
  spoil_ = [this](int, const std::string& head) {
    return Part(600, 699, data_.substr(600, 100), etag_);
  };
  EXPECT_EQ(store->Read(request).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(RemoteStoreTest, DamagedObjectsAreReadAgain) {
  etag_ = "0123456789abcdef0123456789abcdef";
  extra_ = "x-amz-server-side-encryption: AES256\r\n";
  const auto store = Store();
  const absl::Status status = ReadAll(store.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(read 3 times)"));
  EXPECT_EQ(store->counts().checksum_faults, 3);
  EXPECT_EQ(calls_, 12);
}

TEST_F(RemoteStoreTest, AnEtagOfKmsIsNoChecksum) {
  etag_ = "0123456789abcdef0123456789abcdef";
  extra_ = "x-amz-server-side-encryption: aws:kms\r\n";
  const auto store = Store();
  read_.assign(data_.size(), '?');
  ReadRequest request;
  request.name = "x";
  request.checksum = "md5:" + etag_;
  request.bytes = static_cast<int64_t>(read_.size());
  request.out = &read_[0];
  EXPECT_EQ(store->Read(request), absl::OkStatus());
}

TEST_F(RemoteStoreTest, ARangeIsNotHeldAgainstTheChecksumOfTheWhole) {
  etag_ = "0123456789abcdef0123456789abcdef";
  const auto store = Store();
  read_.assign(10, '?');
  ReadRequest request;
  request.name = "x";
  request.offset = 5;
  request.bytes = 10;
  request.out = &read_[0];
  EXPECT_EQ(store->Read(request), absl::OkStatus());
  EXPECT_EQ(read_, data_.substr(5, 10));
}

TEST_F(RemoteStoreTest, AServerWithoutRangesWillDoForTheWhole) {
  spoil_ = [this](int, const std::string&) { return TinyOk(data_); };
  options_.range_bytes = 1000;
  EXPECT_EQ(ReadAll(Store().get()), absl::OkStatus());
  EXPECT_EQ(read_, data_);
  options_.range_bytes = 500;
  options_.retries = 0;
  const absl::Status status = ReadAll(Store().get());
  EXPECT_THAT(std::string(status.message()), HasSubstr("ignores ranges"));
}

// Without versions nobody can tell whether two responses are of one object.
TEST_F(RemoteStoreTest, WithoutVersionsAnObjectIsOneResponse) {
  spoil_ = [this](int, const std::string& head) {
    TinyAnswer answer = Right(head);
    return TinyAnswer{absl::StrReplaceAll(
        answer.bytes, {{absl::StrCat("ETag: \"", etag_, "\"\r\n"), ""}})};
  };
  const auto store = Store();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReadAll(store.get()), absl::OkStatus());
    EXPECT_EQ(read_, data_);
  }
  int wholes = 0;
  for (const std::string& head : heads_) {
    wholes += absl::StrContains(head, "bytes=0-999");
  }
  EXPECT_EQ(wholes, 2);
  EXPECT_EQ(ReadAll(store.get(), "v1").code(),
            absl::StatusCode::kFailedPrecondition)
      << "it was named before";
  // An object of another size is another one, even if it has what was asked
  // for.
  ReadRequest request;
  request.name = "x";
  request.bytes = request.object_bytes = 999;
  request.out = &read_[0];
  EXPECT_EQ(store->Read(request).code(), absl::StatusCode::kFailedPrecondition);
}

// A store may have millions of objects in parts.
TEST(ReadContextTest, HoldsALimitedNumberOfSums) {
  ReadContext context;
  for (int i = 0; i < 100; ++i) {
    context.KeepPartSums(absl::StrCat(i), "v",
                         std::make_shared<std::vector<PartSum>>(10000));
  }
  int64_t held = 0;
  for (const auto& [key, sums] : context.part_sums) {
    held += static_cast<int64_t>(sums->size());
  }
  EXPECT_LE(held, ReadContext::kMostPartSums);
  EXPECT_EQ(context.part_sums.count({"99", "v"}), 1);
}

TEST_F(RemoteStoreTest, ListsAllPagesInOrder) {
  spoil_ = [](int, const std::string& head) {
    const bool second = absl::StrContains(head, "continuation-token=t%2B1");
    return TinyOk(absl::StrCat(
        "<ListBucketResult><Contents><Key>set/", second ? "a" : "b",
        "</Key><Size>1</Size></Contents><Contents><Key>set/</Key><Size>0"
        "</Size></Contents><IsTruncated>",
        second ? "false" : "true", "</IsTruncated>",
        second ? "" : "<NextContinuationToken>t+1</NextContinuationToken>",
        "</ListBucketResult>"));
  };
  const auto store = Store();
  const auto objects = store->List();
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 2);
  EXPECT_EQ((*objects)[0].name, "a");
  EXPECT_EQ((*objects)[1].name, "b");
}

TinyAnswer Page(const std::string& contents, const std::string& next) {
  return TinyOk(absl::StrCat("<ListBucketResult>", contents, "<IsTruncated>",
                             next.empty() ? "false" : "true",
                             "</IsTruncated><NextContinuationToken>", next,
                             "</NextContinuationToken></ListBucketResult>"));
}

std::string Listed(const std::string& key, const std::string& size) {
  return absl::StrCat("<Contents><Key>set/", key, "</Key><Size>", size,
                      "</Size></Contents>");
}

TEST_F(RemoteStoreTest, AListingThatTurnsInACircleEnds) {
  const auto error = [this] {
    return std::string(Store()->List().status().message());
  };
  // A, B, A, ... with new objects on every page.
  for (const int period : {1, 2, 3}) {
    calls_ = 0;
    spoil_ = [period](int call, const std::string&) {
      if (call > 100) return Page("", "");
      return Page(Listed(absl::StrCat("x", call), "1"),
                  absl::StrCat("t", call % period));
    };
    EXPECT_THAT(error(), HasSubstr("turns in a circle")) << period;
    EXPECT_LE(calls_, 4);
  }
  // Nothing, for ever, with new tokens.
  calls_ = 0;
  spoil_ = [](int call, const std::string&) {
    return call > 1500 ? Page("", "") : Page("", absl::StrCat("t", call));
  };
  EXPECT_THAT(error(), HasSubstr("turns in a circle"));
  // The same page under new tokens.
  spoil_ = [](int call, const std::string&) {
    return Page(Listed("x", "1"), call % 5 == 0 ? "" : absl::StrCat("t", call));
  };
  EXPECT_THAT(error(), HasSubstr("names \"x\" twice"));
}

// Memory is allocated by these numbers.
TEST_F(RemoteStoreTest, ListedSizesAreNotBelieved) {
  options_.retries = 0;
  for (const char* size : {"-1", "4611686018427387904", "70368744177665",
                           "9223372036854775808", "x", ""}) {
    spoil_ = [&](int, const std::string&) {
      return Page(Listed("x.jpg", size), "");
    };
    const absl::Status status = Store()->List().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"set/x.jpg\" has"));
  }
  // Objects may be this large, but nobody reads one into memory.
  for (const char* size : {"1099511627776", "21474836480"}) {
    spoil_ = [&](int, const std::string&) {
      return Page(Listed("x.jpg", size), "");
    };
    const auto store = Store();
    const auto objects = store->List();
    ASSERT_TRUE(objects.ok()) << objects.status();
    std::vector<std::string> contents;
    const absl::Status status =
        ReadObjects(*objects, 0, 1, store.get(), &contents);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("x.jpg: has ", size, " bytes")));
  }
  // A sum that would overflow.
  spoil_ = [](int call, const std::string&) {
    std::string all;
    for (int i = 0; i < 1000; ++i) {
      all += Listed(absl::StrCat(call, "-", i), "70368744177664");
    }
    return Page(all, absl::StrCat("t", call));
  };
  EXPECT_THAT(std::string(Store()->List().status().message()),
              HasSubstr("read a smaller part"));
}

TEST_F(RemoteStoreTest, AnObjectSaysASizeThatItCanHave) {
  options_.retries = 0;
  for (const char* size : {"-5", "99999999999999999"}) {
    spoil_ = [&](int, const std::string&) {
      return TinyAnswer{
          absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", size, "\r\n\r\n"),
          true};
    };
    EXPECT_FALSE(Store()->Stat("x").ok()) << size;
  }
}

TEST_F(RemoteStoreTest, StatsAnObject) {
  const auto info = Store()->Stat("x");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->name, "x");
  EXPECT_EQ(info->bytes, 1000);
  EXPECT_EQ(info->version, "v1");
  EXPECT_THAT(heads_[0], HasSubstr("HEAD /b/set/x"));
  EXPECT_EQ(Store()->Stat("a/../x").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RemoteStoreTest, ClosingEndsReadsThatRun) {
  spoil_ = [](int, const std::string&) {
    return TinyAnswer{"", false, /*stall=*/true};
  };
  auto store = Store();
  read_.assign(data_.size(), '?');
  ReadRequest request;
  request.name = "x";
  request.bytes = static_cast<int64_t>(read_.size());
  request.out = &read_[0];
  absl::Status result;
  Latch done(1);
  store->StartRead(request, [&](absl::Status status) {
    result = std::move(status);
    done.CountDown();
  });
  store.reset();
  done.Wait();
  EXPECT_EQ(result.code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteStoreTest, NothingIsReadWithoutARequest) {
  const auto store = Store();
  ReadRequest request;
  request.name = "x";
  EXPECT_EQ(store->Read(request), absl::OkStatus());
  request.offset = -1;
  EXPECT_EQ(store->Read(request).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calls_, 0);
}

using ::testing::ElementsAre;

TEST(WorkThreadTest, RunsEverythingInOrder) {
  std::vector<int> ran;
  WorkThread thread;
  for (int i = 0; i < 4; ++i) thread.Post([&ran, i] { ran.push_back(i); });
  thread.Stop();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2, 3));
}

TEST(WorkThreadTest, AfterTheStopTheCallerRunsIt) {
  WorkThread thread;
  thread.Stop();
  std::thread::id ran_in;
  thread.Post([&] { ran_in = std::this_thread::get_id(); });
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST(WorkThreadTest, WorkMayPostMore) {
  int ran = 0;
  WorkThread thread;
  thread.Post([&] { thread.Post([&] { ++ran; }); });
  thread.Stop();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace feedrate
