// For which processors vector code is compiled. To be included before Highway's
// own headers, once in a file, outside its HWY_BEFORE_NAMESPACE.
#ifndef FEEDRATE_LIB_BASE_VECTOR_TARGETS_H_
#define FEEDRATE_LIB_BASE_VECTOR_TARGETS_H_

// Kinds of vectors that were never run by us. (Names of Highway's; nobody asks
// for their values before it has defined them.)
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// The least that a machine is asked to have: x86-64-v2, which is some fifteen
// years old. Without a word the compiler's own least counts, for which Highway
// has no vectors at all.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif

#endif  // FEEDRATE_LIB_BASE_VECTOR_TARGETS_H_
