#include "lib/tar/extensions.h"

#include "lib/tar/number.h"

namespace feedrate::tar {
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
  // GNU counts the NUL at the end of its names.
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
  pax_.has_xattrs = false;
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

// GNU ends the name with a NUL. Bytes behind it would be a second name that
// only some readers see.
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
  if (!pending_) return;  // Most entries have none: save the destructors.
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
