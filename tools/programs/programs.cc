// Many programs in one executable, so that a bundle has the code that they
// share once. Its name says which to run (start.c), else the first argument.
#include <sys/prctl.h>

#include <cstdio>
#include <cstring>

#include "lib/base/confinement.h"

#define PROGRAM(name) int feedrate_main_##name(int argc, char** argv);
#include TABLE
#undef PROGRAM

namespace {

struct Program {
  const char* name;
  int (*main)(int argc, char** argv);
};

constexpr Program kPrograms[] = {
#define PROGRAM(name) {#name, feedrate_main_##name},
#include TABLE
#undef PROGRAM
};

const Program* Find(const char* path) {
  const char* const slash = strrchr(path, '/');
  for (const Program& program : kPrograms) {
    if (strcmp(program.name, slash == nullptr ? path : slash + 1) == 0) {
      return &program;
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  feedrate::RunIfConfined(argc, argv);
  const Program* program = argc > 0 ? Find(argv[0]) : nullptr;
  if (program == nullptr && argc > 1) {
    program = Find(argv[1]);
    --argc;
    ++argv;
  }
  if (program == nullptr) {
    fprintf(stderr, "feedrate: the first argument names no program:");
    for (const Program& one : kPrograms) fprintf(stderr, " %s", one.name);
    fprintf(stderr, "\n");
    return 1;
  }
  prctl(PR_SET_NAME, program->name);
  return program->main(argc, argv);
}
