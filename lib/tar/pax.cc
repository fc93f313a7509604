#include "lib/tar/pax.h"

namespace feedrate::tar {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The spellings of star, libarchive, and Apple's tar; ACLs travel the same way.
bool IsXattr(std::string_view key) {
  return StartsWith(key, "SCHILY.xattr.") || StartsWith(key, "SCHILY.acl.") ||
         StartsWith(key, "LIBARCHIVE.xattr.") ||
         StartsWith(key, "RHT.security.") || StartsWith(key, "com.apple.");
}

// A NUL would cut the name where C reads it, and two readers would then
// disagree on what the entry is called.
bool SetName(std::string_view value, std::optional<std::string>* name,
             const char** why) {
  if (value.find('\0') != std::string_view::npos) {
    *why = "a NUL in a pax name";
    return false;
  }
  name->emplace(value);
  return true;
}

bool SetRecord(std::string_view key, std::string_view value, PaxFields* fields,
               const char** why) {
  if (key == "path") return SetName(value, &fields->path, why);
  if (key == "linkpath") return SetName(value, &fields->link, why);
  if (key == "size") {
    *why = "a bad size in a pax header";
    return ParseDecimal(value, &fields->size.emplace());
  }
  if (key == "mtime") {
    *why = "a bad mtime in a pax header";
    return ParsePaxTime(value, &fields->mtime.emplace());
  }
  if (StartsWith(key, "GNU.sparse.")) fields->sparse = true;
  if (IsXattr(key)) fields->has_xattrs = true;
  return true;
}

void ClearRecord(std::string_view key, PaxFields* fields) {
  if (key == "path") fields->path.reset();
  if (key == "linkpath") fields->link.reset();
  if (key == "size") fields->size.reset();
  if (key == "mtime") fields->mtime.reset();
}

// Cuts the first record off `body`. The length counts the whole record, its own
// digits and the newline too.
bool TakeRecord(std::string_view* body, std::string_view* record) {
  const size_t space = body->find(' ');
  int64_t length = 0;
  // More than ten digits, or no space at all, is no length.
  if (space > 10 || !ParseDecimal(body->substr(0, space), &length) ||
      length > static_cast<int64_t>(body->size()) ||
      length < static_cast<int64_t>(space) + 2) {
    return false;
  }
  *record = body->substr(space + 1, length - space - 1);
  body->remove_prefix(length);
  if (record->back() != '\n') return false;
  record->remove_suffix(1);
  return true;
}

}  // namespace

bool ParsePax(std::string_view body, PaxFields* fields, const char** why) {
  while (!body.empty()) {
    std::string_view record;
    *why = "a malformed pax record";
    if (!TakeRecord(&body, &record)) return false;
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (value.empty()) {
      ClearRecord(key, fields);
    } else if (!SetRecord(key, value, fields, why)) {
      return false;
    }
  }
  return true;
}

}  // namespace feedrate::tar
