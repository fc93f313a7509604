// What a bundle has as bin/plan: becomes the executable NEXT in ../libexec,
// which holds many programs and finds the one to run by argv[0]. Without libc
// and its start-up, because the executable has them.
#include <sys/syscall.h>

static long Call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
                   : "memory");
  return x0;
#endif
}

static const char kNext[] = "../libexec/" NEXT;
static const char kMessage[] =
    "feedrate: cannot start ../libexec/" NEXT "; the bundle is not whole\n";
static char own[4096];
static char next[sizeof(own) + sizeof(kNext)];

// The part of a path after the last slash.
static char* Name(char* path) {
  char* name = path;
  for (; *path != 0; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

// `stack` is as the kernel leaves it: argc, argv, 0, environment, 0.
__attribute__((used)) static void Start(long* stack) {
  char** const argv = (char**)(stack + 1);
  // AT_FDCWD is -100.
  Call(SYS_readlinkat, -100, (long)"/proc/self/exe", (long)own,
       sizeof(own) - 1);
  char* to = next;
  for (const char* from = own; from != Name(own); ++from) *to++ = *from;
  for (const char* from = kNext; *from != 0; ++from) *to++ = *from;
  if (stack[0] > 0) {
    // Called by another name, as through a link, it says its own.
    const char* a = Name(own);
    const char* b = Name(argv[0]);
    while (*a != 0 && *a == *b) ++a, ++b;
    if (*a != *b) argv[0] = own;
  }
  // Without /proc it does not know where it is, and the folder above the
  // current one may be anybody's.
  if (own[0] == '/') {
    Call(SYS_execve, (long)next, (long)argv, (long)(argv + stack[0] + 1), 0);
  }
  Call(SYS_write, 2, (long)kMessage, sizeof(kMessage) - 1, 0);
  Call(SYS_exit_group, 2, 0, 0, 0);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call Start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n mov x0, sp\n bl Start\n");
#endif
