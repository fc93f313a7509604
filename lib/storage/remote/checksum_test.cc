#include "lib/storage/remote/checksum.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ChecksumTest, TellsRightFromWrong) {
  const std::string bytes = "123456789";
  for (const char* right :
       {"md5:25f9e794323b453885f5181f1b624d0b", "crc32c:e3069283",
        "sha256:"
        "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"}) {
    EXPECT_TRUE(HasChecksum(bytes, right)) << right;
    EXPECT_FALSE(HasChecksum("12345678", right)) << right;
    EXPECT_FALSE(HasChecksum("", right)) << right;
  }
  EXPECT_TRUE(HasChecksum(bytes, ""));
  EXPECT_TRUE(HasChecksum(bytes, "crc64nvme:00"));
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
  headers.Add("x-amz-checksum-type", "COMPOSITE");
  EXPECT_EQ(S3Checksum(headers), "md5:25f9e794323b453885f5181f1b624d0b");
  headers.Add("x-amz-server-side-encryption", "aws:kms");
  EXPECT_EQ(S3Checksum(headers), "");
}

TEST(ChecksumTest, BrokenBase64IsNoChecksum) {
  EXPECT_EQ(ChecksumOfBase64("crc32c", "???", 4), "");
  EXPECT_EQ(ChecksumOfBase64("crc32c", "4waSgw==", 16), "");
}

}  // namespace
}  // namespace feedrate
