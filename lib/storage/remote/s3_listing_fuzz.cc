// Two tests with the same bytes. Read as a listing, a list of parts or an
// error, they end, stay within their bytes, and every list that is accepted has
// names and allowed sizes. Read as decisions, they make a page whose content is
// known, written in any of the ways that XML allows; exactly that content is
// read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/allowed_sizes.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/listing_fuzz.h"
#include "lib/storage/remote/s3_dialect.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

// One character of a text, in a form that XML allows.
std::string Escape(char c, Decisions* decisions) {
  const uint32_t form = decisions->Below(6);
  if (form == 1) return absl::StrCat("&#", static_cast<int>(c), ";");
  if (form == 2) return absl::StrCat("&#x", absl::Hex(c), ";");
  if (form == 3) return absl::StrCat("<![CDATA[", std::string(1, c), "]]>");
  if (form == 4)
    return absl::StrCat("<!-- > -->", "&#", static_cast<int>(c), ";");
  if (c == '&') return "&amp;";
  if (c == '<') return "&lt;";
  if (c == '>') return "&gt;";
  if (c == '"') return "&quot;";
  return std::string(1, c);
}

std::string Element(const std::string& name, const std::string& text,
                    Decisions* decisions) {
  const std::string tag =
      absl::StrCat(decisions->Below(8) == 1 ? "ns:" : "", name);
  if (text.empty() && decisions->Yes()) return absl::StrCat("<", tag, "/>");
  std::string inside;
  for (const char c : text) inside += Escape(c, decisions);
  return absl::StrCat("<", tag,
                      decisions->Below(8) == 1 ? " a='>' b=\"'\"" : "", ">",
                      inside, "</", tag, ">");
}

std::string Filler(Decisions* decisions) {
  switch (decisions->Below(12)) {
    case 1:
      return "\n  ";
    case 2:
      return "<!-- <Size>7</Size> -->";
    case 3:
      return "<Owner><Key>not this</Key><Size>-7</Size></Owner>";
    case 4:
      return "<?p i?>";
    default:
      return "";
  }
}

std::string Print(const FuzzedPage& page, Decisions* decisions) {
  const bool encoded = decisions->Yes();
  const std::string encoding =
      encoded ? Element("EncodingType", "url", decisions) : "";
  const bool encoding_first = decisions->Yes();
  std::string text = decisions->Yes() ? "<?xml version=\"1.0\"?>\n" : "";
  absl::StrAppend(&text, "<ListBucketResult xmlns=\"http://x/\">",
                  encoding_first ? encoding : "");
  for (const FuzzedObject& object : page.objects) {
    const std::string name =
        encoded ? PercentEncode(object.name, decisions->Yes()) : object.name;
    const std::string parts[] = {
        Element("Key", name, decisions),
        Element("Size", object.size, decisions),
        Element("ETag", absl::StrCat("\"", object.version, "\""), decisions)};
    const uint32_t first = decisions->Below(3);
    absl::StrAppend(&text, Filler(decisions), "<Contents>");
    for (int i = 0; i < 3; ++i) {
      absl::StrAppend(&text, Filler(decisions), parts[(first + i) % 3]);
    }
    absl::StrAppend(&text, "</Contents>");
  }
  absl::StrAppend(&text, Filler(decisions), "<IsTruncated>",
                  page.next.empty() ? "false" : "true", "</IsTruncated>",
                  Element("NextContinuationToken",
                          page.next.empty() ? "ignored" : page.next, decisions),
                  encoding_first ? "" : encoding, "</ListBucketResult>",
                  decisions->Yes() ? "\n" : "");
  return text;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  feedrate::ParseS3Error(body);
  const auto page = feedrate::ParseS3Listing(body);
  if (page.ok()) {
    for (const feedrate::ObjectInfo& object : page->objects) {
      if (object.name.empty() || object.bytes < 0 ||
          object.bytes > feedrate::kMaxObjectBytes) {
        std::abort();
      }
    }
  }
  std::vector<feedrate::PartSum> sums;
  if (feedrate::ParseS3PartSums("", body, &sums).ok()) {
    int64_t offset = 0;
    for (const feedrate::PartSum& sum : sums) {
      if (sum.offset != offset || sum.bytes < 0) std::abort();
      offset += sum.bytes;
    }
  }
  feedrate::Decisions decisions(data, size);
  const feedrate::FuzzedPage known = feedrate::NewFuzzedPage(&decisions);
  feedrate::CheckFuzzedPage(
      known, feedrate::ParseS3Listing(feedrate::Print(known, &decisions)));
  return 0;
}
