// Two tests with the same bytes. Read as a listing, an object or an error, they
// end, stay within their bytes, and every listing that is accepted has names
// and allowed sizes. Read as decisions, they make a page whose content is
// known, written in any of the ways that JSON allows; exactly that content is
// read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/base/allowed_sizes.h"
#include "lib/storage/remote/gcs_dialect.h"
#include "lib/storage/remote/listing_fuzz.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

std::string Quoted(const std::string& text, Decisions* decisions) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (decisions->Below(4) == 1) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<int>(c));
    } else if (c == '"' || c == '\\' || (c == '/' && decisions->Yes())) {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// The fillers of one object have different numbers.
std::string Filler(int number, Decisions* decisions) {
  switch (decisions->Below(8)) {
    case 1:
      return "\n\t ";
    case 2:
      return absl::StrCat("\"kind", number,
                          "\":{\"name\":\"not this\",\"size\":-7},");
    case 3:
      return absl::StrCat("\"acl", number, "\":[1,null,{\"items\":[]}],");
    default:
      return "";
  }
}

// A number may be one, or a string.
std::string Number(const FuzzedObject& object, Decisions* decisions) {
  return object.bytes >= 0 && decisions->Yes() ? object.size
                                               : Quoted(object.size, decisions);
}

std::string Print(const FuzzedPage& page, Decisions* decisions) {
  std::string items;
  for (const FuzzedObject& object : page.objects) {
    const std::string parts[] = {
        absl::StrCat("\"name\":", Quoted(object.name, decisions)),
        absl::StrCat("\"size\":", Number(object, decisions)),
        absl::StrCat("\"generation\":", Quoted(object.version, decisions))};
    const uint32_t first = decisions->Below(3);
    absl::StrAppend(&items, items.empty() ? "" : ",", "{");
    for (int i = 0; i < 3; ++i) {
      absl::StrAppend(&items, i == 0 ? "" : ",", Filler(i, decisions),
                      parts[(first + i) % 3]);
    }
    absl::StrAppend(&items, "}");
  }
  std::string text = absl::StrCat("{", Filler(0, decisions));
  // An empty page may have no items.
  if (!items.empty() || decisions->Yes()) {
    absl::StrAppend(&text, "\"items\":[", items, "],");
  }
  absl::StrAppend(&text, Filler(1, decisions),
                  "\"nextPageToken\":", Quoted(page.next, decisions), "}");
  return text;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  feedrate::ParseGcsError(body);
  const auto object = feedrate::ParseGcsObject(body);
  if (object.ok() && (object->name.empty() || object->bytes < 0 ||
                      object->bytes > feedrate::kMaxObjectBytes)) {
    std::abort();
  }
  const auto page = feedrate::ParseGcsListing(body);
  if (page.ok()) {
    for (const feedrate::ObjectInfo& listed : page->objects) {
      if (listed.name.empty() || listed.bytes < 0 ||
          listed.bytes > feedrate::kMaxObjectBytes) {
        std::abort();
      }
    }
  }
  feedrate::Decisions decisions(data, size);
  const feedrate::FuzzedPage known = feedrate::NewFuzzedPage(&decisions);
  feedrate::CheckFuzzedPage(
      known, feedrate::ParseGcsListing(feedrate::Print(known, &decisions)));
  return 0;
}
