// What both passes of causal attention share: a block's rounds over tiles. For
// these files only.
//
// One block per processor, which takes sets of tiles of 64 rows: of queries, or
// of keys in the pass that gives the gradients of K and V. Warp groups have one
// tile each, whose rows stay in registers as left matrices; one thread has the
// copy engine bring the tiles of the other side, through a ring in shared
// memory.
#pragma once

#include <algorithm>

#include "lib/model/fused/hopper_attention.cuh"
#include "lib/model/fused/hopper_causal.h"

namespace feedrate {
namespace fused {

enum class Pass { kForward, kQueries, kKeys };

// Warp groups that multiply, with their registers per thread, and those of the
// group that brings tiles.
constexpr int kGroups = 2;
constexpr int kGroupRegisters = 232;
constexpr int kHelperRegisters = 40;
constexpr int kBlockThreads = (kGroups + 1) * kGroupThreads;
constexpr int kStages = 6;
// A block finds its next own tiles in place while it multiplies.
constexpr int kOwnPlaces = 2;
constexpr int kRowTileBytes = kGroupRows * hopper::kTileRowBytes;
static_assert(kGroups * kGroupRows == kCausalRows);

// Of the other side: K and V, or Q and the gradient of the result.
struct CausalStage {
  char first[kRowTileBytes];
  char second[kRowTileBytes];
};

// Tiles that a group has at most.
constexpr int kOwnTiles = 3;

struct CausalMemory {
  CausalStage stage[kStages];
  // Of each group: Q, the gradient of the result and the result, or K and V.
  char own[kOwnPlaces][kOwnTiles][kGroups][kRowTileBytes];
  // Of queries in a stage: the log of the softmax's sum, and the dot product of
  // the result and its gradient.
  float2 numbers[kStages][kGroupRows];
  // Backward: the norm's weights, their inverses, and their gradients by warp.
  float weights[kHead], inverses[kHead];
  float sums[kGroups * kGroupWarps][kHead];
  uint64_t own_full[kOwnPlaces], own_empty[kOwnPlaces];
  uint64_t full[kStages], empty[kStages];
};
constexpr int kCausalBytes = sizeof(CausalMemory);
static_assert(kCausalBytes <= 227 << 10, "a block has no more");

struct CausalMaps {
  // tokens x columns of each sample, in tiles of 64 x 64.
  CUtensorMap qkv, mixed, dmixed;
};

struct CausalJob {
  explicit CausalJob(const QkNormRope& a)
      : a(a),
        tokens(a.tokens),
        tiles((a.tokens + kGroupRows - 1) / kGroupRows),
        sets((tiles + kGroups - 1) / kGroups),
        blocks(a.rows / a.tokens * a.heads) {}
  QkNormRope a;
  // Tiles of a head, and sets of them, one for each group.
  int tokens, tiles, sets, blocks;
  Bf16* mixed = nullptr;
  float* log_sum = nullptr;
  float2* numbers = nullptr;
  const float* rstd = nullptr;
  Bf16* dqkv = nullptr;
  // The place of the first number of a head's rows.
  __device__ int64_t RowsOf(int block) const {
    return static_cast<int64_t>(block) * sets * kCausalRows;
  }
};

// A place in the ring, and which time it is used.
struct RingPlace {
  __device__ int Stage() const { return use % kStages; }
  __device__ int Turn() const { return use / kStages & 1; }
  int use = 0;
};

// Calls take(block, set) for the sets of tiles of this block. Two sets of a
// head that together see all its tiles once are one task, so all tasks take as
// long.
template <Pass kPass, typename Take>
__device__ __forceinline__ void ForEachSet(const CausalJob& job, Take take) {
  const int tasks = (job.sets + 1) / 2, all = tasks * job.blocks;
  for (int i = blockIdx.x; i < all; i += gridDim.x) {
    // What the kernel before wrote last is still in the second cache.
    const int task = kPass == Pass::kKeys ? i : all - 1 - i;
    const int block = task / tasks, low = task % tasks;
    const int high = job.sets - 1 - low;
#pragma unroll 1
    for (int set = low; set <= high; set += max(high - low, 1)) {
      take(block, set);
    }
  }
}

// The tiles of the other side that a set needs: `first` up to `end`.
template <Pass kPass>
struct Others {
  __device__ Others(const CausalJob& job, int set)
      : first(kPass == Pass::kKeys ? kGroups * set : 0),
        end(kPass == Pass::kKeys ? job.tiles
                                 : min(kGroups * (set + 1), job.tiles)) {}
  int first, end;
};

template <Pass kPass>
__device__ __forceinline__ void BringAll(const CausalMaps& maps,
                                         const CausalJob& job, int rounds,
                                         CausalMemory* m) {
  RingPlace place;
  int uses = 0;
  ForEachSet<kPass>(job, [&](int block, int set) {
    const int heads = job.a.heads;
    const int sample = block / heads, column = block % heads * kHead;
    const int width = heads * kHead;
    const int own = uses % kOwnPlaces;
    hopper::Wait(&m->own_empty[own], uses++ / kOwnPlaces & 1 ^ 1);
    constexpr int kOwn = kPass == Pass::kForward   ? 1
                         : kPass == Pass::kQueries ? 3
                                                   : 2;
    hopper::ArriveExpecting(&m->own_full[own], kOwn * kGroups * kRowTileBytes);
    for (int group = 0; group < kGroups; ++group) {
      const int row = (kGroups * set + group) * kGroupRows;
      const auto load = [&](int i, const CUtensorMap& map, int at) {
        hopper::LoadTile(map, m->own[own][i][group], &m->own_full[own], at, row,
                         sample);
      };
      if (kPass == Pass::kKeys) {
        load(0, maps.qkv, column + width);
        load(1, maps.qkv, column + 2 * width);
      } else {
        load(0, maps.qkv, column);
        if (kPass == Pass::kQueries) {
          load(1, maps.dmixed, column);
          load(2, maps.mixed, column);
        }
      }
    }
    const Others<kPass> others(job, set);
    for (int round = 0; round < rounds; ++round) {
      for (int tile = others.first; tile < others.end; ++tile, ++place.use) {
        const int stage = place.Stage(), row = tile * kGroupRows;
        uint64_t* const full = &m->full[stage];
        hopper::Wait(&m->empty[stage], place.Turn() ^ 1);
        hopper::ArriveExpecting(
            full, sizeof(CausalStage) +
                      (kPass == Pass::kKeys ? sizeof(m->numbers[0]) : 0));
        CausalStage* const to = &m->stage[stage];
        if (kPass == Pass::kKeys) {
          hopper::LoadTile(maps.qkv, to->first, full, column, row, sample);
          hopper::LoadTile(maps.dmixed, to->second, full, column, row, sample);
          hopper::LoadBytes(job.numbers + job.RowsOf(block) + row,
                            m->numbers[stage], sizeof(m->numbers[0]), full);
        } else {
          hopper::LoadTile(maps.qkv, to->first, full, column + width, row,
                           sample);
          hopper::LoadTile(maps.qkv, to->second, full, column + 2 * width, row,
                           sample);
        }
      }
    }
  });
}

// Writes a lane's pairs of a row, of columns 8 i + 2 t.
template <typename PairAt>
__device__ __forceinline__ void StoreRow(Bf16* row, bool inside, int t,
                                         PairAt pair_at) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = pair_at(4 * h + i);
    Transpose(r, t);
    if (inside) {
      *reinterpret_cast<uint4*>(row + h * kHalf + 8 * t) =
          make_uint4(r[0], r[1], r[2], r[3]);
    }
  }
}

// The tile of a warp group, and where its lanes stand.
struct OwnTile {
  __device__ OwnTile(const CausalJob& job, const HopperLanes& lanes, int block,
                     int tile)
      : job(job),
        lanes(lanes),
        block(block),
        tile(tile),
        row0(tile * kGroupRows + lanes.warp * kTile + lanes.g) {}
  // Row `i` of a lane's two.
  __device__ int Row(int i) const { return row0 + 8 * i; }
  __device__ int64_t Token(int i) const {
    return static_cast<int64_t>(block / static_cast<int>(job.a.heads)) *
               job.tokens +
           Row(i);
  }
  __device__ int Head() const { return block % static_cast<int>(job.a.heads); }
  // The gradient of part 0 (Q), 1 (K) or 2 (V) of a lane's row.
  __device__ Bf16* Gradient(int part, int i) const {
    return job.dqkv +
           (Token(i) * 3 * job.a.heads + part * job.a.heads + Head()) * kHead;
  }
  // Whether sum `i` of a lane, in the tile with the same numbers, is of a query
  // before the key.
  template <bool kKeys>
  __device__ bool Hidden(int i) const {
    const int row = lanes.warp * kTile + lanes.g + i / 2 % 2 * 8;
    const int column = i / 4 * 8 + 2 * lanes.t + i % 2;
    return kKeys ? column < row : column > row;
  }
  const CausalJob& job;
  const HopperLanes& lanes;
  int block, tile, row0;
};

// The rounds over the other side of a warp group: waits for tiles, and frees
// them.
struct Ring {
  __device__ explicit Ring(CausalMemory* m)
      : m(m), matrix(m->stage[0].first, 16, kOctetBytes) {}
  // The first bytes of a tile, once it is there.
  __device__ int First(int ahead) const {
    RingPlace at = place;
    at.use += ahead;
    hopper::Wait(&m->full[at.Stage()], at.Turn());
    return at.Stage() * static_cast<int>(sizeof(CausalStage));
  }
  // Those of the tile at hand.
  __device__ int Bytes() const {
    return place.Stage() * static_cast<int>(sizeof(CausalStage));
  }
  __device__ void Free(int behind) const {
    RingPlace at = place;
    at.use -= behind;
    hopper::Arrive(&m->empty[at.Stage()]);
  }
  // Tiles that this group does not need.
  __device__ void Skip(int count) {
    for (; count > 0; --count) {
      First(0);
      Free(0);
      ++place.use;
    }
  }
  CausalMemory* const m;
  const hopper::Matrix matrix;
  RingPlace place;
};

// The rounds of a block: one thread brings tiles, `rounds` times those of the
// other side, and groups call take(own, end, read, own_empty, &ring) for each
// tile of theirs. `end`: of the other side's tiles; read(i, rows) reads own
// tile i; own_empty is arrived at once products have read those from registers,
// not before: loads from shared memory may be late, and the copy engine faster.
template <Pass kPass, typename Take>
__device__ __forceinline__ void TakeSets(const CausalMaps& maps,
                                         const CausalJob& job, int rounds,
                                         CausalMemory* m, Take take) {
  const HopperLanes lanes;
  if (threadIdx.x == 0) {
    const auto init = [](uint64_t* full, uint64_t* empty) {
      hopper::InitBarrier(full, 1);
      hopper::InitBarrier(empty, kGroups * kGroupThreads);
    };
    for (int i = 0; i < kOwnPlaces; ++i) {
      init(&m->own_full[i], &m->own_empty[i]);
    }
    for (int i = 0; i < kStages; ++i) init(&m->full[i], &m->empty[i]);
    hopper::FenceForEngines();
  }
  __syncthreads();
  if (lanes.group >= kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kHelperRegisters));
    if (threadIdx.x == kGroups * kGroupThreads) {
      BringAll<kPass>(maps, job, rounds, m);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kGroupRegisters));
    Ring ring(m);
    int uses = 0;
    ForEachSet<kPass>(job, [&](int block, int set) {
      const Others<kPass> others(job, set);
      const OwnTile own(job, lanes, block, kGroups * set + lanes.group);
      const int place = uses % kOwnPlaces;
      uint64_t* const own_empty = &m->own_empty[place];
      hopper::Wait(&m->own_full[place], uses++ / kOwnPlaces & 1);
      if (own.tile >= job.tiles) {
        hopper::Arrive(own_empty);
        ring.Skip((others.end - others.first) * rounds);
        return;
      }
      const auto read = [&](int i, Rows& rows) {
        ReadRows(m->own[place][i][lanes.group], lanes, rows);
      };
      take(own, others.end, read, own_empty, &ring);
    });
  }
  __syncthreads();
}

inline CUtensorMap CausalMapOf(const QkNormRope& a, const Bf16* matrix,
                               int64_t heads) {
  return hopper::MapOf(matrix, {heads * kHead, a.tokens, a.rows / a.tokens},
                       {kHead, kGroupRows, 1});
}

inline int CausalBlocks(const CausalJob& job) {
  return std::min((job.sets + 1) / 2 * job.blocks, hopper::Processors());
}

}  // namespace fused
}  // namespace feedrate
