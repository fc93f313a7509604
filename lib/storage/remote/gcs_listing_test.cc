#include "lib/storage/remote/gcs_listing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPage[] = R"({"kind": "storage#objects", "nextPageToken": "n=",
  "items": [
    {"name": "p/é x", "size": "9", "generation": "1700000000000001",
     "md5Hash": "JfnnlDI7RTiF9RgfG2JNCw==", "crc32c": "4waSgw=="},
    {"name": "b", "size": 0, "generation": 7,
     "md5Hash": "JfnnlDI7RTiF9RgfG2JNCw=="}]})";

TEST(GcsListingTest, ReadsAPage) {
  const auto page = ParseGcsListing(kPage);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_THAT(page->objects, SizeIs(2));
  EXPECT_EQ(page->objects[0].name, "p/é x");
  EXPECT_EQ(page->objects[0].bytes, 9);
  EXPECT_EQ(page->objects[0].version, "1700000000000001");
  EXPECT_EQ(page->objects[0].checksum, "crc32c:e3069283");
  EXPECT_EQ(page->objects[1].bytes, 0);
  EXPECT_EQ(page->objects[1].version, "7");
  EXPECT_EQ(page->objects[1].checksum, "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->next, "n=");
}

TEST(GcsListingTest, AnEmptyPageHasNoItems) {
  const auto page = ParseGcsListing(R"({"kind": "storage#objects"})");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->objects, IsEmpty());
  EXPECT_EQ(page->next, "");
}

TEST(GcsListingTest, NothingIsLostInSilence) {
  const std::string page = kPage;
  for (size_t cut = 0; cut < page.size(); ++cut) {
    EXPECT_FALSE(ParseGcsListing(page.substr(0, cut)).ok()) << cut;
  }
  for (const char* bad : {"[]", "null", R"({"items": {}})", R"({"items": [1]})",
                          R"({"items": [{"name": "a"}]})",
                          R"({"items": [{"name": "a", "size": "-1"}]})",
                          R"({"items": [{"size": "1"}]})"}) {
    EXPECT_EQ(ParseGcsListing(bad).status().code(), absl::StatusCode::kDataLoss)
        << bad;
  }
}

TEST(GcsObjectTest, ReadsOne) {
  const auto info =
      ParseGcsObject(R"({"name": "a", "size": "3", "generation": "5"})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->bytes, 3);
  EXPECT_EQ(info->version, "5");
  EXPECT_EQ(info->checksum, "");
}

TEST(GcsErrorTest, TakesTheMessage) {
  EXPECT_EQ(ParseGcsError(R"({"error": {"code": 404, "message": "gone"}})"),
            "gone");
  EXPECT_EQ(ParseGcsError(R"({"error_description": "Invalid Value"})"),
            "Invalid Value");
  EXPECT_EQ(ParseGcsError("Not Found"), "");
  EXPECT_EQ(ParseGcsError(""), "");
}

}  // namespace
}  // namespace feedrate
