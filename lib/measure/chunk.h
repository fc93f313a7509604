// How many calls one reading of the clock covers.
#ifndef FEEDRATE_LIB_MEASURE_CHUNK_H_
#define FEEDRATE_LIB_MEASURE_CHUNK_H_

#include <cstdint>

namespace feedrate {

struct ChunkPolicy {
  // Calls that take longer are timed one by one.
  double chunk_below_s = 10e-6;
  // Largest share of a chunk that the clock may take.
  double max_clock_share = 0.01;
  // Calls of every chunk, whatever they take: those of a GPU. 0: as above.
  int64_t fixed = 0;
  // With `fixed`: as many passes over the items as give so many samples.
  int64_t min_samples = 1;
};

struct ChunkChoice {
  // Calls in a chunk.
  int64_t chunk = 1;
  // Calls of the whole run: `num_items`, or the fewest whole passes over them
  // that fill one chunk.
  int64_t count = 0;
};

// `per_call_s` is what a call takes when it is timed alone, the clock's cost
// included.
ChunkChoice ChooseChunk(const ChunkPolicy& policy, double per_call_s,
                        double clock_pair_s, int64_t num_items);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_CHUNK_H_
