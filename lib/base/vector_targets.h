// The processors that vector code is compiled for. Include it before Highway's
// own headers, once per file, outside HWY_BEFORE_NAMESPACE.
#pragma once

// Instruction sets that we have never tested. (The names are Highway's; they
// are not evaluated before Highway defines them.)
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// The minimum that a machine must have: x86-64-v2, about fifteen years old.
// Without this, the compiler's own baseline applies, for which Highway has no
// vector code at all.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
