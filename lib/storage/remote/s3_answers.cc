// Parses the answers of S3: listings, errors and the sums of parts.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/allowed_sizes.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/s3_dialect.h"
#include "lib/storage/remote/xml.h"

namespace feedrate {
namespace {

// Collects a page element by element.
class Listing {
 public:
  void Take(absl::string_view path, const std::string& text) {
    if (!absl::ConsumePrefix(&path, "ListBucketResult")) {
      broken_ = true;
      return;
    }
    if (IsTwice(path)) {
      broken_ = true;
      wrong_ = absl::StrCat(": it says ", path.substr(1), " twice");
    }
    if (path.empty()) {
      ended_ = true;
    } else if (path == "/Contents/Key") {
      object_.name = text;
    } else if (path == "/Contents/Size") {
      sized_ = ParseObjectBytes(text, &object_.bytes);
    } else if (path == "/Contents/ETag") {
      object_.version = std::string(StrongEtag(text));
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
    if (broken_ || !ended_) {
      return absl::DataLossError(absl::StrCat("a broken listing", wrong_));
    }
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
  // Whether the element, which may be there once in a page, or once in an
  // object, was there before. Nobody can know which one counts.
  bool IsTwice(absl::string_view path) {
    static constexpr absl::string_view kOnce[] = {
        "/Contents/Key", "/Contents/Size",         "/Contents/ETag",
        "/IsTruncated",  "/NextContinuationToken", "/EncodingType"};
    constexpr unsigned kOfObject = 7;  // The first three.
    if (path == "/Contents") seen_ &= ~kOfObject;
    for (size_t i = 0; i < std::size(kOnce); ++i) {
      const unsigned bit = 1u << i;
      if (path == kOnce[i]) return std::exchange(seen_, seen_ | bit) & bit;
    }
    return false;
  }

  void EndObject() {
    if (!sized_ || object_.name.empty()) {
      broken_ = true;
      wrong_ = object_.name.empty()
                   ? ": an object without a name"
                   : absl::StrCat(": \"",
                                  absl::Utf8SafeCHexEscape(
                                      object_.name.substr(0, kShownBytes)),
                                  "\" has no size, or one that no object has");
    }
    page_.objects.push_back(std::exchange(object_, ObjectInfo()));
    sized_ = false;
  }

  ListPage page_;
  ObjectInfo object_;
  unsigned seen_ = 0;  // Bits of kOnce.
  bool sized_ = false;
  bool truncated_ = false;
  bool encoded_ = false;
  bool ended_ = false;
  bool broken_ = false;
  std::string wrong_;  // The last broken object, for the message.
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
  // A truncated body may still have the code and the message.
  ReadXml(body, [&](absl::string_view path, const std::string& text) {
    if (path == "Error/Code") error.code = text;
    if (path == "Error/Message") error.message = text;
  }).IgnoreError();
  return error;
}

absl::StatusOr<int64_t> ParseS3PartSums(absl::string_view version,
                                        absl::string_view body,
                                        std::vector<PartSum>* sums) {
  // Names of sums, and the bytes of each.
  static constexpr std::pair<absl::string_view, size_t> kSums[] = {
      {"CRC32C", 4}, {"CRC64NVME", 8}, {"CRC32", 4}, {"SHA256", 32}};
  PartSum part;
  bool is_sized = false, is_broken = false, is_truncated = false;
  int64_t next = 0;
  std::string etag(version);
  const absl::Status read =
      ReadXml(body, [&](absl::string_view at, const std::string& text) {
        at.remove_prefix(std::min(at.find('/'), at.size()));
        if (at == "/ETag") etag = std::string(WithoutQuotes(text));
        if (!absl::ConsumePrefix(&at, "/ObjectParts/")) return;
        if (at == "IsTruncated") is_truncated = text == "true";
        if (at == "NextPartNumberMarker" && !absl::SimpleAtoi(text, &next)) {
          is_broken = true;
        }
        if (at == "Part/Size") is_sized = ParseObjectBytes(text, &part.bytes);
        for (const auto& [name, bytes] : kSums) {
          if (!part.checksum.empty()) break;
          if (at != absl::StrCat("Part/Checksum", name)) continue;
          part.checksum =
              ChecksumOfBase64(absl::AsciiStrToLower(name), text, bytes);
        }
        if (at != "Part") return;
        if (!sums->empty()) {
          part.offset = sums->back().offset + sums->back().bytes;
        }
        is_broken |= !is_sized || sums->size() == kMaxS3Parts;
        is_sized = false;
        if (!is_broken) sums->push_back(std::exchange(part, PartSum()));
      });
  if (!read.ok() || is_broken || next > kMaxS3Parts) {
    return absl::DataLossError("a broken list of parts");
  }
  if (etag != version) sums->clear();
  return is_truncated && etag == version ? next : 0;
}

}  // namespace feedrate
