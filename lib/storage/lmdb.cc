#include "lib/storage/lmdb.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kVersion = 1;
constexpr uint64_t kNoPage = ~uint64_t{0};
// LmdbWriter writes pages of this size.
constexpr size_t kPageBytes = 4096;

// Page: number (8), padding (2), flags (2), then where the places of nodes end
// and where nodes begin (2 each), or for long values the number of pages (4).
constexpr size_t kPageHead = 16;
constexpr size_t kFlagsAt = 10;
constexpr size_t kLowerAt = 12;
constexpr size_t kPlaceBytes = 2;
constexpr int kBranch = 1;
constexpr int kLeaf = 2;
constexpr int kLong = 4;
constexpr int kMeta = 8;

// Node: 4 bytes and flags (2), which are the value's size, or with the flags
// the child's page; size of the key (2), key, value.
constexpr size_t kNodeHead = 8;
constexpr int kLongValue = 1;
// A leaf node with more bytes than this keeps its value elsewhere, so that a
// page has at least two nodes.
constexpr size_t kMostNodeBytes = (kPageBytes - kPageHead) / 2 - kPlaceBytes;

// Description: page head, magic (4), version (4), address (8), size of the map
// (8), two trees, last page (8), transaction (8). The first tree is of free
// pages.
constexpr size_t kTreeAt = 40;
constexpr size_t kTreeBytes = 48;
// Tree: page size in the first one (4), flags (2), depth (2), numbers of
// branch, leaf and long pages and of entries (8 each), root (8).
constexpr size_t kTreeFlagsAt = 4;
constexpr size_t kRootAt = 40;
constexpr size_t kTransactionAt = kTreeAt + 2 * kTreeBytes + 8;
constexpr size_t kMetaBytes = kTransactionAt + 8;
constexpr int kIntegerKeys = 8;

// Deeper than any tree of 2^48 pages.
constexpr int kMostDepth = 64;

int Small(absl::string_view bytes, size_t at) {
  return static_cast<int>(LittleEndian(bytes.data() + at, 2));
}

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<std::vector<LmdbEntry>> Read() {
    ASSIGN_OR_RETURN(const absl::string_view meta, NewerMeta());
    const absl::string_view tree = meta.substr(kTreeAt + kTreeBytes);
    if (Small(tree, kTreeFlagsAt) != 0) {
      return absl::InvalidArgumentError(
          "is an LMDB with several values per key or numbers as keys, which "
          "are not supported");
    }
    const uint64_t root = LittleEndian64(tree.data() + kRootAt);
    if (root != kNoPage) RETURN_IF_ERROR(Visit(root, 1));
    return std::move(entries_);
  }

 private:
  // Sets the size of a page too.
  absl::StatusOr<absl::string_view> NewerMeta() {
    const auto at = [&](uint64_t offset) -> absl::string_view {
      if (offset > bytes_.size() || bytes_.size() - offset < kMetaBytes) {
        return {};
      }
      const absl::string_view meta = bytes_.substr(offset);
      const bool is_meta =
          LittleEndian32(meta.data() + kPageHead) == kMagic &&
          LittleEndian32(meta.data() + kPageHead + 4) == kVersion;
      return is_meta ? meta : absl::string_view();
    };
    const absl::string_view first = at(0);
    if (first.empty()) {
      return absl::InvalidArgumentError(
          "is no LMDB file of a 64-bit little-endian machine");
    }
    page_bytes_ = LittleEndian32(first.data() + kTreeAt);
    if (page_bytes_ < 256 || page_bytes_ > 65536 ||
        (page_bytes_ & (page_bytes_ - 1)) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("is a damaged LMDB: pages of ", page_bytes_, " bytes"));
    }
    const absl::string_view second = at(page_bytes_);
    const auto transaction = [](absl::string_view meta) {
      return LittleEndian64(meta.data() + kTransactionAt);
    };
    return second.empty() || transaction(second) < transaction(first) ? first
                                                                      : second;
  }

  absl::Status Damage(uint64_t page, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("is a damaged LMDB: page ", page, " ", what));
  }

  absl::Status Visit(uint64_t number, int depth) {
    const uint64_t pages = bytes_.size() / page_bytes_;
    if (number >= pages) return Damage(number, "is behind the end of the file");
    // Each page is in the tree once.
    if (depth > kMostDepth || ++visited_ > pages) {
      return Damage(number, "is in a loop");
    }
    const absl::string_view page =
        bytes_.substr(number * page_bytes_, page_bytes_);
    const int flags = Small(page, kFlagsAt);
    const size_t lower = Small(page, kLowerAt);
    if (LittleEndian64(page.data()) != number ||
        (flags != kBranch && flags != kLeaf) || lower < kPageHead ||
        lower > page.size()) {
      return Damage(number, "is none of a tree");
    }
    for (size_t at = kPageHead; at + 2 <= lower; at += 2) {
      const size_t start = Small(page, at);
      if (start < lower || start > page.size() ||
          page.size() - start < kNodeHead) {
        return Damage(number, "has a node outside of it");
      }
      const absl::string_view node = page.substr(start);
      if (flags == kBranch) {
        RETURN_IF_ERROR(Visit(LittleEndian(node.data(), 6), depth + 1));
      } else {
        RETURN_IF_ERROR(AddEntry(number, node));
      }
    }
    return absl::OkStatus();
  }

  // `node` is the rest of the page.
  absl::Status AddEntry(uint64_t number, absl::string_view node) {
    const uint64_t bytes = LittleEndian32(node.data());
    const int flags = Small(node, 4);
    const size_t key_bytes = Small(node, 6);
    absl::string_view rest = node.substr(kNodeHead);
    if (flags != 0 && flags != kLongValue) {
      return absl::InvalidArgumentError(
          "is an LMDB with named databases or several values per key, which "
          "are not supported");
    }
    if (rest.size() < key_bytes) return Damage(number, "has a cut off key");
    LmdbEntry entry;
    entry.key = rest.substr(0, key_bytes);
    rest.remove_prefix(key_bytes);
    if (flags == kLongValue) {
      if (rest.size() < 8) return Damage(number, "has a cut off node");
      const uint64_t first = LittleEndian64(rest.data());
      if (first >= bytes_.size() / page_bytes_) {
        return Damage(number, "has a value behind the end of the file");
      }
      rest = bytes_.substr(first * page_bytes_ + kPageHead);
    }
    if (rest.size() < bytes) return Damage(number, "has a cut off value");
    entry.value = rest.substr(0, bytes);
    entries_.push_back(entry);
    return absl::OkStatus();
  }

  const absl::string_view bytes_;
  uint64_t page_bytes_ = 0;
  uint64_t visited_ = 0;
  std::vector<LmdbEntry> entries_;
};

void PutNumber(uint64_t value, int size, size_t at, std::string* bytes) {
  for (int i = 0; i < size; ++i) {
    (*bytes)[at + i] = static_cast<char>(value >> (8 * i));
  }
}

// Nodes begin at even places.
size_t BytesInPage(absl::string_view node) {
  return (node.size() + 1) / 2 * 2 + kPlaceBytes;
}

// `number`: the size of the value and flags, or a page.
std::string Node(uint64_t number, absl::string_view key) {
  std::string node;
  AppendLittleEndian(number, 6, &node);
  AppendLittleEndian(key.size(), 2, &node);
  absl::StrAppend(&node, key);
  return node;
}

}  // namespace

absl::StatusOr<std::vector<LmdbEntry>> ReadLmdb(absl::string_view bytes) {
  return Reader(bytes).Read();
}

LmdbWriter::LmdbWriter(int fd, std::string path)
    : fd_(fd), path_(std::move(path)) {
  Begin(&leaf_);
}

void LmdbWriter::Begin(Page* page) const {
  page->bytes.assign(kPageBytes, '\0');
  page->nodes = 0;
  page->upper = kPageBytes;
}

void LmdbWriter::AddNode(absl::string_view node, absl::string_view key,
                         Page* page) {
  if (page->nodes == 0) page->first_key = std::string(key);
  page->upper -= BytesInPage(node) - kPlaceBytes;
  std::memcpy(&page->bytes[page->upper], node.data(), node.size());
  PutNumber(page->upper, kPlaceBytes, EndOfPlaces(*page), &page->bytes);
  ++page->nodes;
}

size_t LmdbWriter::EndOfPlaces(const Page& page) {
  return kPageHead + kPlaceBytes * page.nodes;
}

absl::Status LmdbWriter::WritePage(int flags, Page* page, Children* written) {
  PutNumber(next_page_, 8, 0, &page->bytes);
  PutNumber(flags, 2, kFlagsAt, &page->bytes);
  PutNumber(EndOfPlaces(*page), 2, kLowerAt, &page->bytes);
  PutNumber(page->upper, 2, kLowerAt + 2, &page->bytes);
  written->emplace_back(page->first_key, next_page_);
  ++next_page_;
  const absl::Status status = WriteAll(fd_, page->bytes, path_);
  Begin(page);
  return status;
}

absl::Status LmdbWriter::Add(absl::string_view key, absl::string_view value) {
  if (next_page_ == 0) {
    next_page_ = 2;
    RETURN_IF_ERROR(WriteAll(fd_, std::string(2 * kPageBytes, '\0'), path_));
  }
  ++entries_;
  std::string node;
  if (kNodeHead + key.size() + value.size() <= kMostNodeBytes) {
    node = absl::StrCat(Node(value.size(), key), value);
  } else {
    node = Node(value.size() | uint64_t{kLongValue} << 32, key);
    AppendLittleEndian64(next_page_, &node);
    const size_t pages =
        (kPageHead + value.size() + kPageBytes - 1) / kPageBytes;
    std::string head;
    AppendLittleEndian64(next_page_, &head);
    AppendLittleEndian32(kLong << 16, &head);
    AppendLittleEndian32(static_cast<uint32_t>(pages), &head);
    const std::string padding(pages * kPageBytes - kPageHead - value.size(),
                              '\0');
    RETURN_IF_ERROR(WriteAll(fd_, head, path_));
    RETURN_IF_ERROR(WriteAll(fd_, value, path_));
    RETURN_IF_ERROR(WriteAll(fd_, padding, path_));
    next_page_ += pages;
    long_pages_ += pages;
  }
  if (EndOfPlaces(leaf_) + BytesInPage(node) > leaf_.upper) {
    ++leaf_pages_;
    RETURN_IF_ERROR(WritePage(kLeaf, &leaf_, &leaves_));
  }
  AddNode(node, key, &leaf_);
  return absl::OkStatus();
}

absl::Status LmdbWriter::WriteLevel(const Children& below, Children* written) {
  Page page;
  Begin(&page);
  const auto node = [&](size_t i) {
    // The first node of a branch page has no key.
    return Node(below[i].second, page.nodes == 0 ? "" : below[i].first);
  };
  for (size_t i = 0; i < below.size(); ++i) {
    // liblmdb refuses a branch with one child: the last two stay together.
    const size_t wanted = i + 2 == below.size() ? 2 : 1;
    size_t bytes = 0;
    for (size_t j = i; j < i + wanted; ++j) bytes += BytesInPage(node(j));
    if (EndOfPlaces(page) + bytes > page.upper) {
      ++branch_pages_;
      RETURN_IF_ERROR(WritePage(kBranch, &page, written));
    }
    AddNode(node(i), below[i].first, &page);
  }
  ++branch_pages_;
  return WritePage(kBranch, &page, written);
}

std::string LmdbWriter::MetaPages(uint64_t root, int depth) const {
  std::string pages;
  for (int number = 0; number < 2; ++number) {
    std::string page;
    AppendLittleEndian64(number, &page);
    AppendLittleEndian64(kMeta << 16, &page);
    AppendLittleEndian32(kMagic, &page);
    AppendLittleEndian32(kVersion, &page);
    AppendLittleEndian64(0, &page);
    AppendLittleEndian64(next_page_ * kPageBytes, &page);
    AppendLittleEndian32(kPageBytes, &page);
    AppendLittleEndian32(kIntegerKeys, &page);
    for (int i = 0; i < 4; ++i) AppendLittleEndian64(0, &page);
    AppendLittleEndian64(kNoPage, &page);
    AppendLittleEndian32(0, &page);
    AppendLittleEndian32(static_cast<uint32_t>(depth) << 16, &page);
    AppendLittleEndian64(branch_pages_, &page);
    AppendLittleEndian64(leaf_pages_, &page);
    AppendLittleEndian64(long_pages_, &page);
    AppendLittleEndian64(entries_, &page);
    AppendLittleEndian64(root, &page);
    AppendLittleEndian64(next_page_ - 1, &page);
    AppendLittleEndian64(number, &page);
    page.resize(kPageBytes);
    pages += page;
  }
  return pages;
}

absl::Status LmdbWriter::Finish() {
  if (entries_ == 0) {
    next_page_ = 2;
    return WriteAll(fd_, MetaPages(kNoPage, 0), path_);
  }
  ++leaf_pages_;
  RETURN_IF_ERROR(WritePage(kLeaf, &leaf_, &leaves_));
  int depth = 1;
  Children level = std::move(leaves_);
  for (; level.size() > 1; ++depth) {
    Children above;
    RETURN_IF_ERROR(WriteLevel(level, &above));
    level = std::move(above);
  }
  if (lseek(fd_, 0, SEEK_SET) != 0) {
    return absl::InternalError(absl::StrCat(path_, ": cannot be sought in"));
  }
  return WriteAll(fd_, MetaPages(level[0].second, depth), path_);
}

}  // namespace feedrate
