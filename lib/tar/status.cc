#include "lib/tar/status.h"

#include <cerrno>
#include <cstring>

namespace feedrate::tar {
namespace {

const char* Summary(Error::Code code) {
  switch (code) {
    case Error::Code::kNone:
      return "no error";
    case Error::Code::kBadChecksum:
      return "bad header checksum";
    case Error::Code::kBadNumber:
      return "a header field is not a number";
    case Error::Code::kBadSize:
      return "impossible size";
    case Error::Code::kBadName:
      return "bad name";
    case Error::Code::kBadPax:
      return "bad extended header";
    case Error::Code::kTooLong:
      return "extended header too long";
    case Error::Code::kSparse:
      return "sparse files are not supported (make the tar without --sparse)";
    case Error::Code::kDevice:
      return "devices, pipes and sockets are not supported";
    case Error::Code::kUnknownType:
      return "unknown entry type";
    case Error::Code::kLoneZeroBlock:
      return "a lone zero block with more data after it";
    case Error::Code::kTruncated:
      return "the archive is cut short";
  }
  return "unknown error";
}

bool IsPlain(char c) { return c >= ' ' && c != '"' && c != '\\' && c != 0x7f; }

void AppendEscaped(char c, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (IsPlain(c) || byte >= 0x80) {
    out->push_back(c);
  } else if (c == '"' || c == '\\') {
    *out += {'\\', c};
  } else {
    *out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string Describe(const Error& error) {
  std::string line;
  if (!error.entry.empty()) {
    line += error.after ? "after entry " : "entry ";
    line += Quote(error.entry) + ": ";
  }
  line += Summary(error.code);
  if (!error.detail.empty()) line += ": " + error.detail;
  return line + " (at byte " + std::to_string(error.offset) + ")";
}

std::string Quote(std::string_view name) {
  // Both ends of a long name are more useful than its first kilobytes.
  constexpr size_t kEnd = 100;
  std::string out = "\"";
  size_t i = 0;
  while (i < name.size()) {
    if (name.size() > 2 * kEnd + 20 && i == kEnd) {
      i = name.size() - kEnd;
      while (i < name.size() && IsContinuation(name[i])) ++i;
      out += "\"...(" + std::to_string(name.size()) + " bytes)...\"";
      continue;
    }
    AppendEscaped(name[i++], &out);
  }
  return out + '"';
}

namespace {

// What to do about common failures.
const char* Remedy(int error) {
  switch (error) {
    case ENOSPC:
      return "; free some space or choose another --dest";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f)";
    case EDQUOT:
      return "; your quota is used up";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a folder that you may write to";
    case EMFILE:
    case ENFILE:
      return "; raise the limit with ulimit -n";
    default:
      return "";
  }
}

}  // namespace

Status CallersMistake(std::string message) {
  return Status(Status::kCallersMistake, std::move(message));
}

Status Failed(std::string message) {
  return Status(Status::kRunFailed, std::move(message));
}

Status SystemFailure(std::string_view doing, std::string_view path, int error) {
  std::string message(doing);
  message += ' ' + Quote(path) + ": ";
  message += strerror(error);
  return Failed(message + Remedy(error));
}

}  // namespace feedrate::tar
