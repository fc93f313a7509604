// Two tests with the same bytes. Read as a program, they are refused, or some
// bytes become 0. Read as decisions, they make a program with notes whose
// places are known, maybe cut off or with a lying size: exactly the build ids
// become 0, or the program is refused.
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/gate/duel/duel_sides.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void ReadAnything(absl::string_view bytes) {
  const std::string code = WithoutBuildIds(bytes);
  if (code.empty()) return;
  if (code.size() != bytes.size()) std::abort();
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] != bytes[i] && code[i] != '\0') std::abort();
  }
}

template <typename T>
void Append(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A program, and the same without its ids.
struct Program {
  std::string elf;
  std::string code;
};

// Appends a note to both.
void AddNote(Decisions* decisions, Program* program) {
  static constexpr const char kNames[][5] = {"GNU", "GNU", "GO\0", "stap"};
  Elf64_Nhdr note = {};
  const uint32_t name = decisions->Below(4);
  note.n_namesz = name < 3 ? 4 : 5;
  note.n_type = decisions->Below(4) == 0 ? NT_GNU_ABI_TAG : NT_GNU_BUILD_ID;
  note.n_descsz = decisions->Below(80);
  std::string text(kNames[name], note.n_namesz);
  text.resize((text.size() + 3) / 4 * 4);
  const std::string content(note.n_descsz, 'i');
  const bool is_id =
      name < 2 && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= 64;
  for (std::string* bytes : {&program->elf, &program->code}) {
    Append(note, bytes);
    *bytes += text;
    *bytes += is_id && bytes == &program->code
                  ? std::string(content.size(), '\0')
                  : content;
    bytes->resize((bytes->size() + 3) / 4 * 4);
  }
}

Program NewProgram(Decisions* decisions, bool* is_right) {
  static constexpr uint64_t kLies[] = {uint64_t{1} << 31, uint64_t{1} << 63,
                                       ~uint64_t{0}, ~uint64_t{0} - 100};
  const uint32_t segments = decisions->Below(5);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof(header);
  header.e_phnum = segments;
  std::vector<Elf64_Phdr> table(segments);
  Program notes;
  const size_t start = sizeof(header) + segments * sizeof(Elf64_Phdr);
  for (Elf64_Phdr& segment : table) {
    const bool is_note = decisions->Below(4) != 0;
    segment.p_type = is_note ? PT_NOTE : PT_LOAD;
    segment.p_align = 4;
    segment.p_offset = start + notes.elf.size();
    if (is_note) {
      for (uint32_t left = decisions->Below(4); left > 0; --left) {
        AddNote(decisions, &notes);
      }
    }
    segment.p_filesz = start + notes.elf.size() - segment.p_offset;
    if (is_note && decisions->Below(16) == 1) {
      (decisions->Yes() ? segment.p_offset : segment.p_filesz) =
          kLies[decisions->Below(4)];
      *is_right = false;
    }
  }
  Program program;
  for (std::string* bytes : {&program.elf, &program.code}) {
    Append(header, bytes);
    for (const Elf64_Phdr& segment : table) Append(segment, bytes);
    *bytes += bytes == &program.elf ? notes.elf : notes.code;
  }
  return program;
}

void ReadWhatIsKnown(Decisions* decisions) {
  bool is_right = true;
  Program program = NewProgram(decisions, &is_right);
  if (decisions->Below(4) == 1) {
    // Headers and notes reach to the end, so something is missing.
    program.elf.resize(decisions->Below(1 << 16) % program.elf.size());
    ReadAnything(program.elf);
    if (program.elf.size() < sizeof(Elf64_Ehdr)) is_right = false;
    if (is_right) return;  // An empty or unread segment may be what is missing.
  }
  const std::string code = WithoutBuildIds(program.elf);
  if (is_right ? code != program.code : !code.empty()) std::abort();
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::ReadAnything(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
