// What the counter in the processes of a command and `duel` share: a file that
// both map.
#pragma once

#include <cstdint>

namespace feedrate {

// Names the file.
constexpr char kAllocationsVariable[] = "FEEDRATE_ALLOCATIONS";

// Why a process is not counted.
enum class Uncounted : uint32_t {
  kNone,
  // The dynamic linker, which loads the counter, has no part in it.
  kStatic,
  // It runs as another user, so the dynamic linker ignores LD_PRELOAD.
  kSetUid,
  // It is a program for another kind of processor, such as a 32-bit one.
  kOtherProcessor,
  // It was started with an environment that lacks the variables.
  kEnvironment,
  // It has its own malloc.
  kOwnMalloc,
};

// All zeros at first. Everything is added to atomically.
struct CountedAllocations {
  // One per thread, as long as there are enough, so that threads do not wait
  // for each other's cache lines.
  struct alignas(64) Slot {
    uint64_t calls;
    uint64_t bytes;
  };
  static constexpr uint32_t kSlots = 64;

  Slot slots[kSlots];
  uint32_t threads;
  // Programs in which the counter was loaded.
  uint32_t programs;
  // The first program that was not counted, and why: an Uncounted.
  uint32_t reason;
  char uncounted[256];
};

}  // namespace feedrate
