#include "lib/storage/remote/s3_listing.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/checksum.h"
#include "lib/storage/remote/xml_reader.h"

namespace feedrate {
namespace {

// Gathers a page element by element.
class Listing {
 public:
  void Take(absl::string_view path, const std::string& text) {
    if (!absl::ConsumePrefix(&path, "ListBucketResult")) {
      broken_ = true;
    } else if (path.empty()) {
      ended_ = true;
    } else if (path == "/Contents/Key") {
      object_.name = text;
    } else if (path == "/Contents/Size") {
      sized_ = absl::SimpleAtoi(text, &object_.bytes) && object_.bytes >= 0;
    } else if (path == "/Contents/ETag") {
      object_.version = std::string(WithoutQuotes(text));
      object_.checksum = ChecksumOfEtag(object_.version);
    } else if (path == "/Contents") {
      EndObject();
    } else if (path == "/IsTruncated") {
      truncated_ = text == "true";
    } else if (path == "/NextContinuationToken") {
      page_.next = text;
    } else if (path == "/EncodingType") {
      encoded_ = text == "url";
    }
  }

  absl::StatusOr<ListPage> Finish() {
    if (broken_ || !ended_) return absl::DataLossError("a broken listing");
    if (truncated_ && page_.next.empty()) {
      return absl::DataLossError("a listing that breaks off");
    }
    if (!truncated_) page_.next.clear();
    // The type may come after the keys.
    if (encoded_) {
      for (ObjectInfo& object : page_.objects) {
        object.name = PercentDecode(object.name, /*plus_is_space=*/true);
      }
    }
    return std::move(page_);
  }

 private:
  void EndObject() {
    broken_ = broken_ || !sized_ || object_.name.empty();
    page_.objects.push_back(std::exchange(object_, ObjectInfo()));
    sized_ = false;
  }

  ListPage page_;
  ObjectInfo object_;
  bool sized_ = false;
  bool truncated_ = false;
  bool encoded_ = false;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace

absl::StatusOr<ListPage> ParseS3Listing(absl::string_view body) {
  Listing listing;
  const absl::Status read =
      ReadXml(body, [&](absl::string_view path, const std::string& text) {
        listing.Take(path, text);
      });
  if (!read.ok()) {
    return absl::DataLossError(
        absl::StrCat("a broken listing: ", read.message()));
  }
  return listing.Finish();
}

S3Error ParseS3Error(absl::string_view body) {
  S3Error error;
  // A body that breaks off may have said enough.
  ReadXml(body, [&](absl::string_view path, const std::string& text) {
    if (path == "Error/Code") error.code = text;
    if (path == "Error/Message") error.message = text;
  }).IgnoreError();
  return error;
}

}  // namespace feedrate
