#include "lib/storage/remote/s3_listing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::SizeIs;

constexpr char kPage[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount>
  <MaxKeys>2</MaxKeys><IsTruncated>true</IsTruncated>
  <Contents><Key>p/a b+%2B%C3%A9&amp;</Key>
    <LastModified>2026-01-02T03:04:05.000Z</LastModified>
    <ETag>&quot;25f9e794323b453885f5181f1b624d0b&quot;</ETag>
    <Size>9</Size><StorageClass>STANDARD</StorageClass></Contents>
  <Contents><Key>p/b</Key><ETag>"abc-2"</ETag><Size>5368709120</Size></Contents>
  <NextContinuationToken>1/x=+&lt;</NextContinuationToken>
  <EncodingType>url</EncodingType>
</ListBucketResult>)";

TEST(S3ListingTest, ReadsAPage) {
  const auto page = ParseS3Listing(kPage);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_THAT(page->objects, SizeIs(2));
  EXPECT_EQ(page->objects[0].name, "p/a b +é&");
  EXPECT_EQ(page->objects[0].bytes, 9);
  EXPECT_EQ(page->objects[0].version, "25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->objects[0].checksum, "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->objects[1].bytes, 5368709120);
  EXPECT_EQ(page->objects[1].version, "abc-2");
  EXPECT_EQ(page->objects[1].checksum, "");
  EXPECT_EQ(page->next, "1/x=+<");
}

TEST(S3ListingTest, WithoutEncodingNamesStayAsTheyAre) {
  const auto page = ParseS3Listing(
      "<ListBucketResult><Contents><Key>a+%20</Key><Size>0</Size></Contents>"
      "<IsTruncated>false</IsTruncated></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->objects[0].name, "a+%20");
  EXPECT_EQ(page->next, "");
}

// A page that lacks something must not pass for a shorter data set.
TEST(S3ListingTest, NothingIsLostInSilence) {
  std::string page = kPage;
  for (size_t cut = 0; cut < page.size(); ++cut) {
    EXPECT_FALSE(ParseS3Listing(page.substr(0, cut)).ok()) << cut;
  }
  for (const char* bad :
       {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents>"
        "</ListBucketResult>",
        "<Error><Code>x</Code></Error>", "<html/>", "{}"}) {
    EXPECT_EQ(ParseS3Listing(bad).status().code(), absl::StatusCode::kDataLoss)
        << bad;
  }
}

TEST(S3ErrorTest, TakesCodeAndMessageAlone) {
  const S3Error error = ParseS3Error(
      "<Error><Code>SignatureDoesNotMatch</Code><Message>wrong</Message>"
      "<AWSAccessKeyId>AKIA</AWSAccessKeyId><StringToSign>x</StringToSign>"
      "</Error>");
  EXPECT_EQ(error.code, "SignatureDoesNotMatch");
  EXPECT_EQ(error.message, "wrong");
  EXPECT_EQ(ParseS3Error("<html>502</html>").code, "");
  EXPECT_EQ(ParseS3Error("<Error><Code>SlowDown</Code><Mess").code, "SlowDown");
}

}  // namespace
}  // namespace feedrate
