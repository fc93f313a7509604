// Whether two commands run the same program.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// `elf` with its build ids (notes of type NT_GNU_BUILD_ID) set to zeros. Empty
// if it is not a whole 64-bit little-endian ELF file.
std::string WithoutBuildIds(absl::string_view elf);

// Whether `a` and `b` are sure to do the same work: plain words without
// anything that a shell would expand, equal apart from the first word, which
// names ELF programs with equal bytes apart from their build ids. False for
// scripts and for programs that look for libraries next to themselves
// ($ORIGIN), because what those load may differ.
bool AreSamePrograms(const std::string& a, const std::string& b);

}  // namespace feedrate
