#include "lib/tar/reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace feedrate::tar {
namespace {

// Leaves room for every offset in the archive and the blocks around it, so that
// no sum of offsets can overflow.
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
      // v7 has no folder type; a trailing slash marks a folder.
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
  // writers store the size of the linked file, also without data.
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

// Makes the entry from a header and its extended headers. Expects body_offset
// to be set and does not change `offset`. Returns false, with code and detail
// in `error`, when it is refused.
bool ParseEntry(const Header& header, const Extensions& extensions,
                Entry* entry, Error* error) {
  entry->size = 0;
  if (!SetNames(header, extensions, entry, error)) return false;
  if (extensions.sparse()) return Fail(Error::Code::kSparse, "", error);
  return SetType(header, entry, error) &&
         SetSize(header, extensions, entry, error) &&
         SetModeAndTime(header, extensions, entry, error);
}

// GNU's label for the whole archive; there is nothing to unpack.
constexpr char kVolumeLabel = 'V';

}  // namespace

Reader::Event Reader::Fail() {
  state_ = State::kError;
  error_.entry = entry_.path;
  return Event::kError;
}

void Reader::Consume(std::string_view* input, uint64_t count) {
  input->remove_prefix(count);
  offset_ += count;
}

const Header* Reader::TakeBlock(std::string_view* input) {
  if (input->empty()) return nullptr;  // Its data may be null, so no memcpy.
  if (block_filled_ == 0 && input->size() >= kBlockSize) {
    const char* block = input->data();
    Consume(input, kBlockSize);
    return reinterpret_cast<const Header*>(block);
  }
  const size_t count = std::min(kBlockSize - block_filled_, input->size());
  memcpy(block_ + block_filled_, input->data(), count);
  block_filled_ += count;
  Consume(input, count);
  if (block_filled_ < kBlockSize) return nullptr;
  block_filled_ = 0;
  return reinterpret_cast<const Header*>(block_);
}

void Reader::TakePadding(std::string_view* input) {
  const uint64_t count = std::min<uint64_t>(padding_left_, input->size());
  Consume(input, count);
  padding_left_ -= count;
}

Reader::Event Reader::Next(std::string_view* input) {
  for (;;) {
    Event event = Event::kNeedInput;
    switch (state_) {
      case State::kEntryEnd:
        state_ = State::kHeader;
        return Event::kEntryEnd;
      case State::kEnd:
        return Event::kEnd;
      case State::kError:
        return Event::kError;
      case State::kHeader:
        event = StepHeader(input);
        break;
      case State::kExtension:
        event = StepExtension(input);
        break;
      case State::kBody:
        event = StepBody(input);
        break;
    }
    if (event != Event::kNeedInput || input->empty()) return event;
  }
}

Reader::Event Reader::StepHeader(std::string_view* input) {
  const Header* header = TakeBlock(input);
  if (header == nullptr) return Event::kNeedInput;
  error_.offset = offset_ - kBlockSize;
  error_.after = true;
  if (!extensions_.pending()) group_offset_ = error_.offset;
  if (IsZeroBlock(header)) return StepZeroBlock();
  if (seen_zero_block_) {
    error_.code = Error::Code::kLoneZeroBlock;
    return Fail();
  }
  if (!ChecksumMatches(*header)) {
    error_.code = Error::Code::kBadChecksum;
    if (error_.offset == 0) error_.detail = "not a tar archive";
    return Fail();
  }
  if (header->type == kVolumeLabel) return Event::kNeedInput;
  if (!Extensions::Handles(*header)) return StepEntry(*header);
  if (!extensions_.Start(*header, &body_left_, &error_)) return Fail();
  padding_left_ = PaddingAfter(body_left_);
  state_ = State::kExtension;
  return Event::kNeedInput;
}

Reader::Event Reader::StepZeroBlock() {
  if (extensions_.pending()) {
    error_.code = Error::Code::kTruncated;
    error_.detail = "an extended header has no entry";
    return Fail();
  }
  if (!seen_zero_block_) {
    seen_zero_block_ = true;
    return Event::kNeedInput;
  }
  state_ = State::kEnd;
  return Event::kEnd;
}

Reader::Event Reader::StepExtension(std::string_view* input) {
  const uint64_t count = std::min<uint64_t>(body_left_, input->size());
  extensions_.Append(input->substr(0, count));
  Consume(input, count);
  body_left_ -= count;
  TakePadding(input);
  if (body_left_ + padding_left_ > 0) return Event::kNeedInput;
  state_ = State::kHeader;
  return extensions_.Finish(&error_) ? Event::kNeedInput : Fail();
}

Reader::Event Reader::StepEntry(const Header& header) {
  error_.after = false;
  entry_.offset = group_offset_;
  entry_.body_offset = offset_;
  if (!ParseEntry(header, extensions_, &entry_, &error_)) return Fail();
  extensions_.Clear();
  body_left_ = entry_.size;
  padding_left_ = PaddingAfter(entry_.size);
  state_ = body_left_ > 0 ? State::kBody : State::kEntryEnd;
  return Event::kEntry;
}

Reader::Event Reader::StepBody(std::string_view* input) {
  if (body_left_ > 0) {
    if (input->empty()) return Event::kNeedInput;
    const uint64_t count = std::min<uint64_t>(body_left_, input->size());
    body_ = input->substr(0, count);
    Consume(input, count);
    body_left_ -= count;
    return Event::kBody;
  }
  TakePadding(input);
  if (padding_left_ > 0) return Event::kNeedInput;
  state_ = State::kHeader;
  return Event::kEntryEnd;
}

uint64_t Reader::SkipRest() {
  const uint64_t count = body_left_ + padding_left_;
  offset_ += count;
  body_left_ = 0;
  padding_left_ = 0;
  state_ = State::kEntryEnd;
  return count;
}

Reader::Event Reader::Finish() {
  if (state_ == State::kError) return Event::kError;
  if (state_ == State::kEnd) return Event::kEnd;
  const bool between =
      state_ == State::kHeader && block_filled_ == 0 && !extensions_.pending();
  if (between && seen_zero_block_) return Event::kEnd;
  error_.code = Error::Code::kTruncated;
  error_.offset = offset_;
  error_.after = state_ == State::kHeader || state_ == State::kExtension;
  if (state_ == State::kBody) {
    error_.detail = std::to_string(body_left_) + " of its " +
                    std::to_string(entry_.size) + " bytes are missing";
  } else if (between) {
    error_.detail = "the end mark is missing";
  } else {
    error_.detail = "within a header";
  }
  return Fail();
}

}  // namespace feedrate::tar
