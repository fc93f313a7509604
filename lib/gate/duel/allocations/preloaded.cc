// Counts the allocations of a process. The dynamic linker loads it into each
// process of a command (LD_PRELOAD), before all other libraries, so its malloc
// is the one that is called. It hands on to the next one, which may be that of
// another allocator. It must need nothing but libc, must not allocate, and may
// be called before constructors have run.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/gate/duel/allocations/counted.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Where dlsym allocates, there is only libc's.
// NOLINTBEGIN(bugprone-reserved-identifier): these are libc's names.
extern "C" {
void* __libc_malloc(size_t size) __attribute__((weak));
void* __libc_calloc(size_t count, size_t size) __attribute__((weak));
}
// NOLINTEND(bugprone-reserved-identifier)

namespace feedrate {
namespace {

// Counts until the constructor has mapped the file.
CountedAllocations early;
CountedAllocations* counted = &early;
__thread uint32_t slot __attribute__((tls_model("initial-exec")));

struct Next {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  decltype(&::posix_spawn) posix_spawn;
  decltype(&::posix_spawnp) posix_spawnp;
};
Next next;
bool is_resolving;

template <typename Function>
void Resolve(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Called before a process has a second thread.
void ResolveAll() {
  is_resolving = true;
  Resolve("calloc", &next.calloc);
  Resolve("realloc", &next.realloc);
  Resolve("memalign", &next.memalign);
  Resolve("aligned_alloc", &next.aligned_alloc);
  Resolve("posix_memalign", &next.posix_memalign);
  Resolve("execve", &next.execve);
  Resolve("execvpe", &next.execvpe);
  Resolve("posix_spawn", &next.posix_spawn);
  Resolve("posix_spawnp", &next.posix_spawnp);
  Resolve("malloc", &next.malloc);
  is_resolving = false;
}

const Next& Resolved() {
  if (next.malloc == nullptr) ResolveAll();
  return next;
}

void Count(uint64_t bytes) {
  if (slot == 0) {
    slot = 1 + __atomic_fetch_add(&counted->threads, 1, __ATOMIC_RELAXED) %
                   CountedAllocations::kSlots;
  }
  CountedAllocations::Slot& mine = counted->slots[slot - 1];
  __atomic_fetch_add(&mine.calls, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&mine.bytes, bytes, __ATOMIC_RELAXED);
}

void SetUncounted(Uncounted reason, const char* program) {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&counted->reason, &none,
                                   static_cast<uint32_t>(reason), false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    return;
  }
  const size_t size = strnlen(program, sizeof(counted->uncounted) - 1);
  memcpy(counted->uncounted, program, size);
}

// Whether the counter can be loaded into the program in an open file. Scripts
// are as countable as their interpreter is, which is not looked at.
Uncounted ReasonOf(int file) {
  struct stat info;
  ElfW(Ehdr) header;
  if (fstat(file, &info) != 0 ||
      pread(file, &header, sizeof(header), 0) != sizeof(header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Uncounted::kNone;
  }
  if (((info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid()) ||
      ((info.st_mode & S_ISGID) != 0 && info.st_gid != getegid())) {
    return Uncounted::kSetUid;
  }
  ElfW(Ehdr) own;
  const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const bool has_own = self >= 0 && pread(self, &own, sizeof(own), 0) > 0;
  close(self);
  if (has_own && (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
                  header.e_machine != own.e_machine)) {
    return Uncounted::kOtherProcessor;
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (pread(file, &segment, sizeof(segment),
              header.e_phoff + i * sizeof(segment)) != sizeof(segment) ||
        segment.p_type == PT_INTERP) {
      return Uncounted::kNone;
    }
  }
  return Uncounted::kStatic;
}

// Notes a program that is about to start, if it will not be counted. Runs
// between vfork and exec too.
void Note(const char* path, char* const* environment) {
  const int saved = errno;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    Uncounted reason = ReasonOf(file);
    const size_t size = sizeof(kAllocationsVariable) - 1;
    bool has_variable = false;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
      has_variable |= strncmp(*environment, kAllocationsVariable, size) == 0 &&
                      (*environment)[size] == '=';
    }
    if (!has_variable) reason = Uncounted::kEnvironment;
    if (reason != Uncounted::kNone) SetUncounted(reason, path);
    close(file);
  }
  errno = saved;
}

// The same for a name that is looked for in $PATH.
void NoteName(const char* name, char* const* environment) {
  const char* folder = getenv("PATH");
  if (strchr(name, '/') != nullptr || folder == nullptr) {
    Note(name, environment);
    return;
  }
  while (*folder != '\0') {
    const int size = static_cast<int>(strcspn(folder, ":"));
    char path[4096];
    const int length =
        snprintf(path, sizeof(path), "%.*s/%s", size, folder, name);
    if (length < static_cast<int>(sizeof(path)) && access(path, X_OK) == 0) {
      Note(path, environment);
      return;
    }
    folder += size;
    if (*folder == ':') ++folder;
  }
}

__attribute__((constructor)) void Start() {
  Resolved();
  const char* path = getenv(kAllocationsVariable);
  const int file = path != nullptr ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(CountedAllocations),
                      PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  counted = static_cast<CountedAllocations*>(memory);
  __atomic_fetch_add(&counted->programs, 1, __ATOMIC_RELAXED);
  for (const CountedAllocations::Slot& from : early.slots) {
    __atomic_fetch_add(&counted->slots[0].calls, from.calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counted->slots[0].bytes, from.bytes, __ATOMIC_RELAXED);
  }
  slot = 0;
  // A program that was linked with an allocator calls that one, not this.
  Dl_info first;
  Dl_info own;
  if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &first) != 0 &&
      dladdr(&early, &own) != 0 && first.dli_fbase != own.dli_fbase) {
    SetUncounted(Uncounted::kOwnMalloc, first.dli_fname);
  }
}

}  // namespace
}  // namespace feedrate

using feedrate::Count;
using feedrate::Note;
using feedrate::NoteName;
using feedrate::Resolved;

EXPORTED void* malloc(size_t size) noexcept {
  Count(size);
  if (feedrate::is_resolving) return __libc_malloc(size);
  return Resolved().malloc(size);
}

EXPORTED void* calloc(size_t count, size_t size) noexcept {
  Count(count * size);
  if (feedrate::is_resolving) return __libc_calloc(count, size);
  return Resolved().calloc(count, size);
}

EXPORTED void* realloc(void* memory, size_t size) noexcept {
  if (size > 0) Count(size);
  return Resolved().realloc(memory, size);
}

EXPORTED void* memalign(size_t alignment, size_t size) noexcept {
  Count(size);
  return Resolved().memalign(alignment, size);
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) noexcept {
  Count(size);
  return Resolved().aligned_alloc(alignment, size);
}

EXPORTED int posix_memalign(void** memory, size_t alignment,
                            size_t size) noexcept {
  Count(size);
  return Resolved().posix_memalign(memory, alignment, size);
}

EXPORTED int execve(const char* path, char* const argv[],
                    char* const envp[]) noexcept {
  Note(path, envp);
  return Resolved().execve(path, argv, envp);
}

EXPORTED int execv(const char* path, char* const argv[]) noexcept {
  Note(path, environ);
  return Resolved().execve(path, argv, environ);
}

EXPORTED int execvpe(const char* file, char* const argv[],
                     char* const envp[]) noexcept {
  NoteName(file, envp);
  return Resolved().execvpe(file, argv, envp);
}

EXPORTED int execvp(const char* file, char* const argv[]) noexcept {
  NoteName(file, environ);
  return Resolved().execvpe(file, argv, environ);
}

EXPORTED int posix_spawn(pid_t* pid, const char* path,
                         const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes,
                         char* const argv[], char* const envp[]) {
  Note(path, envp);
  return Resolved().posix_spawn(pid, path, actions, attributes, argv, envp);
}

EXPORTED int posix_spawnp(pid_t* pid, const char* file,
                          const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes,
                          char* const argv[], char* const envp[]) {
  NoteName(file, envp);
  return Resolved().posix_spawnp(pid, file, actions, attributes, argv, envp);
}
