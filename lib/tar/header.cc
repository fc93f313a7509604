#include "lib/tar/header.h"

#include <cstring>
#include <limits>

namespace feedrate::tar {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool IsBlank(char c) { return c == ' ' || c == '\0'; }

bool ParseOctal(const char* field, size_t width, int64_t* value) {
  size_t i = 0;
  while (i < width && field[i] == ' ') ++i;
  int64_t sum = 0;
  for (; i < width && !IsBlank(field[i]); ++i) {
    if (field[i] < '0' || field[i] > '7') return false;
    if (sum > (kMax >> 3)) return false;
    sum = sum * 8 + (field[i] - '0');
  }
  for (; i < width; ++i) {
    if (!IsBlank(field[i])) return false;
  }
  *value = sum;
  return true;
}

// The first byte holds the marker bit and, below it, the sign bit.
bool ParseBase256(const unsigned char* field, size_t width, int64_t* value) {
  const bool negative = (field[0] & 0x40) != 0;
  const unsigned char fill = negative ? 0xff : 0x00;
  uint64_t sum = negative ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < width; ++i) {
    unsigned char byte = field[i];
    if (i == 0) byte = negative ? (byte | 0x80) : (byte & 0x7f);
    // All but the last eight bytes may only repeat the sign.
    if (i + 8 < width && byte != fill) return false;
    sum = (sum << 8) | byte;
  }
  const int64_t result = static_cast<int64_t>(sum);
  if ((result < 0) != negative) return false;
  *value = result;
  return true;
}

}  // namespace

bool ParseNumber(const char* field, size_t width, int64_t* value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(field);
  if (bytes[0] & 0x80) return ParseBase256(bytes, width, value);
  return ParseOctal(field, width, value);
}

bool ParseDecimal(std::string_view text, int64_t* value) {
  if (text.empty()) return false;
  int64_t sum = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    const int digit = c - '0';
    if (sum > (kMax - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  return true;
}

bool ParsePaxTime(std::string_view text, Time* time) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const size_t dot = text.find('.');
  int64_t seconds = 0;
  if (!ParseDecimal(text.substr(0, dot), &seconds)) return false;
  int32_t nanoseconds = 0;
  if (dot != std::string_view::npos) {
    std::string_view fraction = text.substr(dot + 1);
    for (char c : fraction) {
      if (c < '0' || c > '9') return false;
    }
    for (size_t i = 0; i < 9; ++i) {
      const int digit = i < fraction.size() ? fraction[i] - '0' : 0;
      nanoseconds = nanoseconds * 10 + digit;
    }
  }
  if (negative) {
    seconds = -seconds;
    if (nanoseconds > 0) {
      seconds -= 1;
      nanoseconds = 1000000000 - nanoseconds;
    }
  }
  *time = {seconds, nanoseconds};
  return true;
}

namespace {

// A field that uses its full width has no NUL at its end.
std::string Field(const char* field, size_t width) {
  return std::string(field, strnlen(field, width));
}

bool IsUstar(const Header& header) {
  return memcmp(header.magic, "ustar\0", 6) == 0;
}

// star marks its headers at the very end and stores times in the last bytes of
// the prefix.
size_t PrefixWidth(const Header& header) {
  const bool star = memcmp(header.padding + 8, "tar\0", 4) == 0;
  return star ? 131 : sizeof(header.prefix);
}

}  // namespace

bool IsZeroBlock(const void* block) {
  const char* bytes = static_cast<const char*>(block);
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, kBlockSize - 1) == 0;
}

bool ChecksumMatches(const Header& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  constexpr size_t kBegin = offsetof(Header, checksum);
  constexpr size_t kEnd = kBegin + sizeof(header.checksum);
  int64_t sum = 0;
  int64_t high = 0;  // Bytes that a signed sum counts 256 lower.
  for (size_t i = 0; i < kBlockSize; ++i) {
    const bool own = i >= kBegin && i < kEnd;
    const unsigned char byte = own ? ' ' : bytes[i];
    sum += byte;
    high += byte >> 7;
  }
  int64_t stored = 0;
  if (!ParseNumber(header.checksum, sizeof(header.checksum), &stored)) {
    return false;
  }
  return stored == sum || stored == sum - 256 * high;
}

std::string HeaderName(const Header& header) {
  std::string name = Field(header.name, sizeof(header.name));
  if (!IsUstar(header) || header.prefix[0] == '\0') return name;
  return Field(header.prefix, PrefixWidth(header)) + '/' + name;
}

std::string HeaderLink(const Header& header) {
  return Field(header.link, sizeof(header.link));
}

namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Key prefixes used by star, libarchive and Apple's tar. ACLs are stored the
// same way.
bool IsXattr(std::string_view key) {
  return StartsWith(key, "SCHILY.xattr.") || StartsWith(key, "SCHILY.acl.") ||
         StartsWith(key, "LIBARCHIVE.xattr.") ||
         StartsWith(key, "RHT.security.") || StartsWith(key, "com.apple.");
}

// A NUL would truncate the name in C code, and two readers would then disagree
// on the name of the entry.
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

// Removes the first record from `body`. The length counts the whole record,
// including its own digits and the newline.
bool TakeRecord(std::string_view* body, std::string_view* record) {
  const size_t space = body->find(' ');
  int64_t length = 0;
  // More than ten digits, or no space, is not a length.
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

namespace {

constexpr char kPax = 'x';
constexpr char kSolarisPax = 'X';
constexpr char kGlobalPax = 'g';
constexpr char kGnuName = 'L';
constexpr char kGnuLink = 'K';

bool Fail(Error::Code code, std::string detail, Error* error) {
  error->code = code;
  error->detail = std::move(detail);
  return false;
}

bool IsGnu(char type) { return type == kGnuName || type == kGnuLink; }

bool TooLong(const std::optional<std::string>& name) {
  return name && name->size() > kMaxNameBytes;
}

}  // namespace

bool Extensions::Handles(const Header& header) {
  const char type = header.type;
  return IsGnu(type) || type == kPax || type == kSolarisPax ||
         type == kGlobalPax;
}

bool Extensions::Start(const Header& header, uint64_t* size, Error* error) {
  int64_t bytes = 0;
  if (!ParseNumber(header.size, sizeof(header.size), &bytes) || bytes < 0) {
    return Fail(Error::Code::kBadSize, "of an extended header", error);
  }
  // GNU includes the final NUL in the size of its names.
  const int64_t limit = IsGnu(header.type) ? kMaxNameBytes + 1 : kMaxPaxBytes;
  if (bytes > limit) {
    return Fail(Error::Code::kTooLong,
                std::to_string(bytes) + " bytes where at most " +
                    std::to_string(limit) + " are read",
                error);
  }
  type_ = header.type;
  body_.clear();
  if (type_ != kGlobalPax) pending_ = true;
  *size = static_cast<uint64_t>(bytes);
  return true;
}

bool Extensions::Finish(Error* error) {
  switch (type_) {
    case kGnuName:
      return FinishName(&gnu_name_, error);
    case kGnuLink:
      return FinishName(&gnu_link_, error);
    case kGlobalPax:
      return FinishGlobal(error);
    default:
      return FinishPax(error);
  }
}

bool Extensions::FinishPax(Error* error) {
  const char* why = "";
  pax_ = PaxFields();  // Of two headers the second counts, as for GNU tar.
  if (!ParsePax(body_, &pax_, &why)) {
    return Fail(Error::Code::kBadPax, why, error);
  }
  if (pax_.has_xattrs) ++xattr_headers_;
  if (TooLong(pax_.path) || TooLong(pax_.link)) {
    return Fail(
        Error::Code::kTooLong,
        "a name of more than " + std::to_string(kMaxNameBytes) + " bytes",
        error);
  }
  return true;
}

bool Extensions::FinishGlobal(Error* error) {
  PaxFields fields;
  const char* why = "";
  if (!ParsePax(body_, &fields, &why)) {
    return Fail(Error::Code::kBadPax, why, error);
  }
  if (fields.has_xattrs) ++xattr_headers_;
  if (fields.path || fields.link || fields.size || fields.sparse) {
    return Fail(Error::Code::kBadPax,
                "a global header may not name files or their sizes", error);
  }
  if (fields.mtime) global_mtime_ = fields.mtime;
  return true;
}

// GNU ends the name with a NUL. Bytes after it would be a second name that only
// some readers see.
bool Extensions::FinishName(std::string* name, Error* error) {
  const size_t end = body_.find('\0');
  if (end != std::string::npos &&
      body_.find_first_not_of('\0', end) != std::string::npos) {
    return Fail(Error::Code::kBadName, "a NUL within a long name", error);
  }
  name->assign(body_, 0, end);
  if (name->empty()) {
    return Fail(Error::Code::kBadName, "an empty long name", error);
  }
  return true;
}

void Extensions::Clear() {
  if (!pending_) return;  // Most entries have none; saves the destructors.
  pending_ = false;
  pax_ = PaxFields();
  gnu_name_.clear();
  gnu_link_.clear();
}

const std::string* Extensions::path() const {
  if (pax_.path) return &*pax_.path;
  return gnu_name_.empty() ? nullptr : &gnu_name_;
}

const std::string* Extensions::link() const {
  if (pax_.link) return &*pax_.link;
  return gnu_link_.empty() ? nullptr : &gnu_link_;
}

std::optional<Time> Extensions::mtime() const {
  return pax_.mtime ? pax_.mtime : global_mtime_;
}

}  // namespace feedrate::tar
