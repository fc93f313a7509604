#include "lib/storage/remote/gcs_listing.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/remote/checksum.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// Numbers of 64 bits come as texts; emulators send them as numbers too.
std::string Text(const object& from, std::string_view name) {
  element value;
  if (from[name].get(value) != simdjson::SUCCESS) return "";
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return absl::StrCat(number);
  return "";
}

absl::Status Broken(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("a broken answer: ", what));
}

// The parser owns what `root` shows.
absl::Status Open(simdjson::dom::parser* parser, absl::string_view body,
                  object* root) {
  const simdjson::padded_string padded(body.data(), body.size());
  const simdjson::error_code error = parser->parse(padded).get(*root);
  return error == simdjson::SUCCESS ? absl::OkStatus()
                                    : Broken(simdjson::error_message(error));
}

absl::StatusOr<ObjectInfo> ObjectOf(const object& item) {
  ObjectInfo info;
  info.name = Text(item, "name");
  if (info.name.empty()) return Broken("an object without a name");
  if (!absl::SimpleAtoi(Text(item, "size"), &info.bytes) || info.bytes < 0) {
    return Broken("an object without a size");
  }
  info.version = Text(item, "generation");
  info.checksum = ChecksumOfBase64("crc32c", Text(item, "crc32c"), 4);
  if (info.checksum.empty()) {
    info.checksum = ChecksumOfBase64("md5", Text(item, "md5Hash"), 16);
  }
  return info;
}

}  // namespace

absl::StatusOr<ListPage> ParseGcsListing(absl::string_view body) {
  simdjson::dom::parser parser;
  object root;
  RETURN_IF_ERROR(Open(&parser, body, &root));
  ListPage page;
  page.next = Text(root, "nextPageToken");
  element items;
  // An empty page has none.
  if (root["items"].get(items) != simdjson::SUCCESS) return page;
  simdjson::dom::array objects;
  if (items.get(objects) != simdjson::SUCCESS) return Broken("items");
  for (const element item : objects) {
    object fields;
    if (item.get(fields) != simdjson::SUCCESS) return Broken("an item");
    ASSIGN_OR_RETURN(ObjectInfo info, ObjectOf(fields));
    page.objects.push_back(std::move(info));
  }
  return page;
}

absl::StatusOr<ObjectInfo> ParseGcsObject(absl::string_view body) {
  simdjson::dom::parser parser;
  object root;
  RETURN_IF_ERROR(Open(&parser, body, &root));
  return ObjectOf(root);
}

std::string ParseGcsError(absl::string_view body) {
  simdjson::dom::parser parser;
  object root, error;
  if (!Open(&parser, body, &root).ok()) return "";
  if (root["error"].get(error) == simdjson::SUCCESS) {
    return Text(error, "message");
  }
  // A refused token is described the way of OAuth.
  return Text(root, "error_description");
}

}  // namespace feedrate
