// LMDB files: one tree of keys and values, as liblmdb 0.9 keeps it on 64-bit
// little-endian machines.
//
// A file is pages. The first two describe the tree; the one with the higher
// transaction counts. Nodes of branch pages lead to other pages, those of leaf
// pages have a key and its value. A value that is too long for a leaf lies in
// pages of its own, which follow each other, so each value is one piece of the
// file. Files are read here without liblmdb because that trusts their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct LmdbEntry {
  absl::string_view key;
  absl::string_view value;
};

// All entries, in the order of the keys, as views of `bytes`. Looks at pages of
// the tree only, not at those of long values. InvalidArgument says that the
// bytes are not LMDB, what is damaged, or what is not supported: named
// databases and keys with several values.
absl::StatusOr<std::vector<LmdbEntry>> ReadLmdb(absl::string_view bytes);

// Writes such a file from front to back. Only the keys of the first entries of
// pages stay in memory.
class LmdbWriter {
 public:
  // `fd` is an empty file; `path` is for messages.
  LmdbWriter(int fd, std::string path);

  // REQUIRES: `key` has 1 to 511 bytes and comes after all keys before it.
  absl::Status Add(absl::string_view key, absl::string_view value);
  // Call once, after the last entry.
  absl::Status Finish();

 private:
  // A page that is being filled: nodes from its end, places of nodes from its
  // beginning.
  struct Page {
    std::string bytes;
    int nodes = 0;
    size_t upper = 0;
    std::string first_key;
  };
  // First key and page.
  using Children = std::vector<std::pair<std::string, uint64_t>>;

  void Begin(Page* page) const;
  static size_t EndOfPlaces(const Page& page);
  // REQUIRES: the page has room.
  static void AddNode(absl::string_view node, absl::string_view key,
                      Page* page);
  absl::Status WritePage(int flags, Page* page, Children* written);
  absl::Status WriteLevel(const Children& below, Children* written);
  std::string MetaPages(uint64_t root, int depth) const;

  const int fd_;
  const std::string path_;
  uint64_t next_page_ = 0;
  uint64_t entries_ = 0;
  uint64_t branch_pages_ = 0;
  uint64_t leaf_pages_ = 0;
  uint64_t long_pages_ = 0;
  Page leaf_;
  Children leaves_;
};

}  // namespace feedrate
