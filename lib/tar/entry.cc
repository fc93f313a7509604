#include "lib/tar/entry.h"

#include <limits>
#include <string_view>

namespace feedrate::tar {
namespace {

// Room for every offset in the archive and the blocks around it, so that no sum
// of offsets can overflow.
constexpr int64_t kMaxOffset =
    std::numeric_limits<int64_t>::max() - 4 * int64_t{kBlockSize};

bool Fail(Error::Code code, std::string detail, Error* error) {
  error->code = code;
  error->detail = std::move(detail);
  return false;
}

bool SetNames(const Header& header, const Extensions& extensions, Entry* entry,
              Error* error) {
  const std::string* path = extensions.path();
  const std::string* link = extensions.link();
  entry->path = path != nullptr ? *path : HeaderName(header);
  entry->link = link != nullptr ? *link : HeaderLink(header);
  if (!entry->path.empty()) return true;
  return Fail(Error::Code::kBadName, "it is empty", error);
}

bool SetType(const Header& header, Entry* entry, Error* error) {
  switch (header.type) {
    case '\0':
    case '0':
    case '7':  // "Contiguous": an ordinary file everywhere today.
      // v7 knew no folders: a slash at the end says so.
      entry->type =
          entry->path.back() == '/' ? Entry::Type::kFolder : Entry::Type::kFile;
      return true;
    case '5':
      entry->type = Entry::Type::kFolder;
      return true;
    case '1':
      entry->type = Entry::Type::kHardLink;
      break;
    case '2':
      entry->type = Entry::Type::kSymlink;
      break;
    case '3':
    case '4':
    case '6':
      return Fail(Error::Code::kDevice, "", error);
    case 'S':
      return Fail(Error::Code::kSparse, "", error);
    default:
      return Fail(Error::Code::kUnknownType,
                  Quote(std::string_view(&header.type, 1)), error);
  }
  if (!entry->link.empty()) return true;
  return Fail(Error::Code::kBadName, "a link that points to nothing", error);
}

bool SetSize(const Header& header, const Extensions& extensions, Entry* entry,
             Error* error) {
  int64_t size = 0;
  if (!ParseNumber(header.size, sizeof(header.size), &size)) {
    return Fail(Error::Code::kBadNumber, "size", error);
  }
  if (extensions.size()) size = *extensions.size();
  if (size < 0 ||
      size > kMaxOffset - static_cast<int64_t>(entry->body_offset)) {
    return Fail(Error::Code::kBadSize, std::to_string(size) + " bytes", error);
  }
  if (entry->type == Entry::Type::kSymlink && size != 0) {
    return Fail(Error::Code::kBadSize, "a symbolic link with data", error);
  }
  // POSIX: a folder's size is a quota, and no data follows. Hard links: some
  // writers give the size of the file they link to, likewise without data.
  entry->size = entry->type == Entry::Type::kFile ? size : 0;
  return true;
}

bool SetModeAndTime(const Header& header, const Extensions& extensions,
                    Entry* entry, Error* error) {
  int64_t mode = 0;
  if (!ParseNumber(header.mode, sizeof(header.mode), &mode)) {
    return Fail(Error::Code::kBadNumber, "mode", error);
  }
  entry->mode = static_cast<uint32_t>(mode & 07777);
  int64_t seconds = 0;
  if (!ParseNumber(header.mtime, sizeof(header.mtime), &seconds)) {
    return Fail(Error::Code::kBadNumber, "mtime", error);
  }
  entry->mtime = extensions.mtime().value_or(Time{seconds, 0});
  return true;
}

}  // namespace

bool ParseEntry(const Header& header, const Extensions& extensions,
                Entry* entry, Error* error) {
  entry->size = 0;
  if (!SetNames(header, extensions, entry, error)) return false;
  if (extensions.sparse()) return Fail(Error::Code::kSparse, "", error);
  return SetType(header, entry, error) &&
         SetSize(header, extensions, entry, error) &&
         SetModeAndTime(header, extensions, entry, error);
}

}  // namespace feedrate::tar
