#include "lib/storage/object_store.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/message.h"
#include "lib/storage/open_store.h"

namespace feedrate {
namespace {

// Computes the CRC bit by bit from the polynomial.
uint32_t Slow(absl::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, AllLengthsAndAlignments) {
  std::string text;
  for (int i = 0; i < 700; ++i) text.push_back(static_cast<char>(i * 37 + 11));
  for (size_t from = 0; from < 17; ++from) {
    for (size_t size = 0; from + size <= text.size(); size += 1 + size / 3) {
      const absl::string_view part = absl::string_view(text).substr(from, size);
      ASSERT_EQ(Crc32c(part), Slow(part)) << from << " " << size;
    }
  }
}

TEST(Crc32cTest, GoesOnFromWhatCameBefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(Crc32c(text.substr(at), Crc32c(text.substr(0, at))),
              Crc32c(text));
  }
}

TEST(Crc32cTest, MaskIsThatOfTheFormat) {
  const uint32_t crc = Crc32c("foo");
  EXPECT_EQ(MaskedCrc32c("foo"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
  EXPECT_NE(MaskedCrc32c("foo"), crc);
}

TEST(ChecksumTest, TellsRightFromWrong) {
  const std::string bytes = "123456789";
  for (const char* right :
       {"md5:25f9e794323b453885f5181f1b624d0b", "crc32c:e3069283",
        "crc32:cbf43926", "crc64nvme:ae8b14860a799888",
        "sha256:"
        "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"}) {
    EXPECT_TRUE(HasChecksum(bytes, right)) << right;
    EXPECT_FALSE(HasChecksum("12345678", right)) << right;
    EXPECT_FALSE(HasChecksum("", right)) << right;
  }
  EXPECT_TRUE(HasChecksum(bytes, ""));
  EXPECT_TRUE(HasChecksum(bytes, "crc128:00"));
}

TEST(ChecksumTest, OfManyBytes) {
  // The NVMe specification, revision 1.0e, gives these sums of 4096 bytes.
  EXPECT_TRUE(
      HasChecksum(std::string(4096, '\0'), "crc64nvme:6482d367eb22b64e"));
  EXPECT_TRUE(
      HasChecksum(std::string(4096, '\xff'), "crc64nvme:c0ddba7302eca3ac"));
}

TEST(ChecksumTest, AnEtagIsOnlySometimesAnMd5Sum) {
  EXPECT_EQ(ChecksumOfEtag("25f9e794323b453885f5181f1b624d0b"),
            "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(ChecksumOfEtag("25F9E794323B453885F5181F1B624D0B"),
            "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(ChecksumOfEtag("25f9e794323b453885f5181f1b624d0b-3"), "");
  EXPECT_EQ(ChecksumOfEtag("653a1b2c-40000000"), "");
  EXPECT_EQ(ChecksumOfEtag(""), "");
}

TEST(ChecksumTest, OfGcs) {
  HttpHeaders headers;
  headers.Add("X-Goog-Hash", "md5=JfnnlDI7RTiF9RgfG2JNCw==");
  EXPECT_EQ(GcsChecksum(headers), "md5:25f9e794323b453885f5181f1b624d0b");
  headers.Add("x-goog-hash", "crc32c=4waSgw==");
  EXPECT_EQ(GcsChecksum(headers), "crc32c:e3069283");
  EXPECT_EQ(GcsChecksum(HttpHeaders()), "");
}

TEST(ChecksumTest, OfS3) {
  HttpHeaders headers;
  headers.Add("ETag", "\"25f9e794323b453885f5181f1b624d0b\"");
  EXPECT_EQ(S3Checksum(headers), "md5:25f9e794323b453885f5181f1b624d0b");
  headers.Add("x-amz-checksum-crc32c", "4waSgw==");
  EXPECT_EQ(S3Checksum(headers), "crc32c:e3069283");
  HttpHeaders parts;
  parts.Add("ETag", "\"25f9e794323b453885f5181f1b624d0b-3\"");
  parts.Add("x-amz-checksum-type", "FULL_OBJECT");
  parts.Add("x-amz-checksum-crc32", "y/Q5Jg==");
  EXPECT_EQ(S3Checksum(parts), "crc32:cbf43926");
  parts.Add("x-amz-checksum-crc64nvme", "rosUhgp5mIg=");
  EXPECT_EQ(S3Checksum(parts), "crc64nvme:ae8b14860a799888");
  headers.Add("x-amz-checksum-type", "COMPOSITE");
  EXPECT_EQ(S3Checksum(headers), "md5:25f9e794323b453885f5181f1b624d0b");
  headers.Add("x-amz-server-side-encryption", "aws:kms");
  EXPECT_EQ(S3Checksum(headers), "");
}

TEST(ChecksumTest, BrokenBase64IsNoChecksum) {
  EXPECT_EQ(ChecksumOfBase64("crc32c", "???", 4), "");
  EXPECT_EQ(ChecksumOfBase64("crc32c", "4waSgw==", 16), "");
}

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Opened(const std::string& url) {
  return OpenObjectStore(url, StoreOptions()).status();
}

TEST(OpenStoreTest, TakesEveryKindOfAddress) {
  for (const char* url :
       {"s3://bucket/prefix", "S3://bucket", "gs://bucket/a b/ü",
        "https://host/shard-{000..099}.tar", "http://127.0.0.1:1/x.tar"}) {
    const auto store = OpenObjectStore(url, StoreOptions());
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->url(), url);
  }
  EXPECT_TRUE(Opened(::testing::TempDir()).ok());
  EXPECT_TRUE(Opened("file://" + ::testing::TempDir()).ok());
}

TEST(OpenStoreTest, RefusesTheRestInOneLine) {
  for (const char* url :
       {"ftp://host/x", "s3://", "s3://b/../x", "gs://a b", "https://host/",
        "https://host", "https://host/folder/", "https://host/{9..0}.tar",
        "/does/not/exist", "file:///does/not/exist"}) {
    const absl::Status status = Opened(url);
    EXPECT_FALSE(status.ok()) << url;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n"))) << url;
  }
}

TEST(OpenStoreTest, ShowsNoSecretOfAnAddress) {
  const auto store = OpenObjectStore(
      "https://host/x.tar?X-Amz-Signature=hunter2", StoreOptions());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->url(), "https://host/x.tar");
  EXPECT_THAT(Opened("https://me:hunter2@host/x").message(),
              Not(HasSubstr("hunter2")));
  EXPECT_THAT(Opened("s3://AKIA:hunter2@bucket/x").message(),
              Not(HasSubstr("hunter2")));
}

using ::testing::HasSubstr;

TEST(StoreSpecTest, ReadsWhatItPrints) {
  StoreSpec spec;
  spec.url = "s3://bucket/a b";
  spec.options.connections = 16;
  spec.options.range_bytes = 1 << 20;
  spec.options.retries = 0;
  spec.options.timeout_s = 1.5;
  spec.options.endpoint = "http://127.0.0.1:9000";
  spec.options.redirect_hosts = "10.0.0.*";
  spec.options.anonymous = true;
  spec.cache_folder = "/cache";
  spec.cache_bytes = int64_t{1} << 40;
  const auto read = ParseStoreSpec(PrintStoreSpec(spec));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintStoreSpec(*read), PrintStoreSpec(spec));
  EXPECT_EQ(read->options.timeout_s, 1.5);
  EXPECT_EQ(read->cache_bytes, int64_t{1} << 40);
}

TEST(StoreSpecTest, NamesWhatIsWrong) {
  auto fields = PrintStoreSpec(StoreSpec());
  EXPECT_FALSE(ParseStoreSpec(fields).ok()) << "no url";
  fields["url"] = "s3://bucket";
  EXPECT_TRUE(ParseStoreSpec(fields).ok());
  for (const char* name : {"connections", "range_bytes", "timeout_s"}) {
    auto wrong = fields;
    wrong[name] = "0";
    EXPECT_THAT(std::string(ParseStoreSpec(wrong).status().message()),
                HasSubstr(name));
  }
  fields["color"] = "red";
  EXPECT_FALSE(ParseStoreSpec(fields).ok());
}

TEST(StoreSpecTest, OpensWithAndWithoutACache) {
  std::string folder = testing::TempDir() + "/remote_store.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "far")).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "far/a"), "x").ok());
  StoreSpec spec;
  spec.url = "file://" + JoinPath(folder, "far");
  const auto plain = OpenCachedStore(spec);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(plain->is_local);
  EXPECT_EQ(plain->cached, nullptr);
  spec.cache_folder = JoinPath(folder, "cache");
  const auto cached = OpenCachedStore(spec);
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->cached, cached->store.get());
  EXPECT_EQ(cached->store->List()->size(), 1u);
}

using ::testing::HasSubstr;

class FileStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/file_store.XXXXXX";
    folder_ = mkdtemp(folder.data());
    Write("b.txt", "second");
    Write("a/x y.txt", "first");
    Write("a/ü.txt", "");
    store_ = *OpenFileStore(folder_ + "/");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    const std::string path = JoinPath(folder_, name);
    ASSERT_TRUE(MakeFolder(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    std::string out(request.bytes, '?');
    request.out = out.data();
    const absl::Status status = store_->Read(request);
    if (!status.ok()) return status;
    return out;
  }
  static ReadRequest Range(const std::string& name, int64_t offset,
                           int64_t bytes) {
    ReadRequest request;
    request.name = name;
    request.offset = offset;
    request.bytes = bytes;
    return request;
  }

  std::string folder_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(FileStoreTest, ListsAllBelowByName) {
  const auto objects = store_->List();
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ((*objects)[0].name, "a/x y.txt");
  EXPECT_EQ((*objects)[0].bytes, 5);
  EXPECT_EQ((*objects)[1].name, "a/ü.txt");
  EXPECT_EQ((*objects)[2].name, "b.txt");
  EXPECT_EQ(store_->url(), "file://" + folder_);
  EXPECT_EQ(store_->Stat("b.txt")->version, (*objects)[2].version);
}

TEST_F(FileStoreTest, ReadsRangesAndCounts) {
  EXPECT_EQ(*Read(Range("b.txt", 0, 6)), "second");
  EXPECT_EQ(*Read(Range("a/x y.txt", 1, 3)), "irs");
  EXPECT_EQ(*Read(Range("a/ü.txt", 0, 0)), "");
  EXPECT_EQ(store_->counts().requests, 3);
  EXPECT_EQ(store_->counts().bytes, 9);
}

TEST_F(FileStoreTest, NeverGivesOtherBytesThanAskedFor) {
  EXPECT_EQ(Read(Range("b.txt", 3, 6)).status().code(),
            absl::StatusCode::kOutOfRange);
  ReadRequest request = Range("b.txt", 0, 6);
  request.version = store_->Stat("b.txt")->version;
  EXPECT_TRUE(Read(request).ok());
  Write("b.txt", "third.");
  EXPECT_EQ(Read(request).status().code(),
            absl::StatusCode::kFailedPrecondition);
  request.version = "";
  request.checksum = absl::StrFormat("crc32c:%08x", Crc32c("third."));
  EXPECT_TRUE(Read(request).ok());
  request.checksum = "crc32c:00000000";
  EXPECT_EQ(Read(request).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store_->counts().checksum_faults, 1);
}

TEST_F(FileStoreTest, StaysInItsFolder) {
  for (const char* name : {"../b.txt", "a/../../b", "/etc/passwd", ""}) {
    EXPECT_EQ(Read(Range(name, 0, 1)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
    EXPECT_FALSE(store_->Stat(name).ok()) << name;
  }
  EXPECT_EQ(store_->Stat("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Read(Range("gone", 0, 1)).status().code(),
            absl::StatusCode::kNotFound);
  const auto none = OpenFileStore(folder_ + "/none");
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace feedrate
