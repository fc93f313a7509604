// The state of the heap that timings start from.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_HEAP_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_HEAP_H_

namespace feedrate {

// Brings malloc into the state that a program reaches once it has run for a
// while. At first glibc gets every larger block from the kernel and gives it
// back at once, so that each call faults its output in anew; freeing one such
// block raises the sizes from which it does so, for good. Without this, a
// transform is timed with or without page faults by the luck of what ran
// before.
void SettleHeap();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_HEAP_H_
