#include "lib/gate/duel/program_identity.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/gate/duel/timed_command.h"

namespace feedrate {
namespace {

// Copies a T from `offset`. False when it would be outside of the file.
template <typename T>
bool Load(absl::string_view file, uint64_t offset, T* value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(value, file.data() + offset, sizeof(T));
  return true;
}

uint64_t Aligned(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

// Clears the build ids among the notes in [start, start + size).
bool ClearNotes(uint64_t start, uint64_t size, std::string* elf) {
  if (start > elf->size() || size > elf->size() - start) return false;
  const uint64_t end = start + size;
  while (start + sizeof(Elf64_Nhdr) <= end) {
    Elf64_Nhdr note;
    if (!Load(*elf, start, &note)) return false;
    const uint64_t name = start + sizeof(note);
    const uint64_t content = name + Aligned(note.n_namesz);
    const uint64_t next = content + Aligned(note.n_descsz);
    if (next > end || next <= start) return false;
    const bool is_gnu =
        note.n_namesz == 4 && elf->compare(name, 4, std::string("GNU", 4)) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::memset(&(*elf)[content], 0, note.n_descsz);
    }
    start = next;
  }
  return true;
}

// The file that running `word` would start. Empty if there is none.
std::string FileOf(const std::string& word) {
  if (absl::StrContains(word, "/")) return word;
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder :
       absl::StrSplit(path != nullptr ? path : "", ':')) {
    const std::string file = JoinPath(folder, word);
    if (IsFile(file) && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace

std::string WithoutBuildIds(absl::string_view elf) {
  Elf64_Ehdr header;
  if (!Load(elf, 0, &header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return "";
  }
  std::string result(elf);
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!Load(elf, header.e_phoff + i * sizeof(segment), &segment)) return "";
    // Notes aligned to 8 are no build ids.
    if (segment.p_type != PT_NOTE || segment.p_align > 4) continue;
    if (!ClearNotes(segment.p_offset, segment.p_filesz, &result)) return "";
  }
  return result;
}

bool AreSamePrograms(const std::string& a, const std::string& b) {
  constexpr char kShellCharacters[] = "|&;<>()$`\\\"'*?[]#~{}!\n";
  for (const std::string& command : {a, b}) {
    if (command.find_first_of(kShellCharacters) != std::string::npos) {
      return false;
    }
  }
  const auto a_words = SplitCommand(a);
  const auto b_words = SplitCommand(b);
  if (!a_words.ok() || !b_words.ok() || a_words->empty() || b_words->empty() ||
      absl::StrContains((*a_words)[0] + (*b_words)[0], "=") ||
      !std::equal(a_words->begin() + 1, a_words->end(), b_words->begin() + 1,
                  b_words->end())) {
    return false;
  }
  const absl::StatusOr<std::string> a_file = ReadFile(FileOf((*a_words)[0]));
  const absl::StatusOr<std::string> b_file = ReadFile(FileOf((*b_words)[0]));
  if (!a_file.ok() || !b_file.ok() || a_file->size() != b_file->size() ||
      absl::StrContains(*a_file, "$ORIGIN")) {
    return false;
  }
  const std::string code = WithoutBuildIds(*a_file);
  return !code.empty() && code == WithoutBuildIds(*b_file);
}

}  // namespace feedrate
