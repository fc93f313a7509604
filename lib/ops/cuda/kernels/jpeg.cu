#include "lib/ops/cuda/kernels/jpeg.h"

namespace feedrate::fused {
namespace {

constexpr int kStartThreads = 128;
constexpr int kBlocksAtOnce = 32;  // Of coefficients, 8 threads each.
constexpr int kColorThreads = 128;

__constant__ uint8_t kPlace[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The next bits, the first of them highest.
struct Bits {
  const uint8_t* next;
  const uint8_t* end;
  uint64_t bits = 0;
  int count = 0;
  int missing = 0;  // Bytes behind the end.
  bool is_wrong = false;

  // At least 48 bits, zeros behind the end.
  __device__ void Fill() {
    while (count <= 48) {
      uint32_t byte = 0;
      if (next < end) {
        byte = *next++;
        next += byte == 0xff;  // A stuffed zero.
      } else {
        ++missing;
      }
      bits |= static_cast<uint64_t>(byte) << (56 - count);
      count += 8;
    }
  }
  __device__ void Drop(int n) {
    bits <<= n;
    count -= n;
  }
  __device__ int Symbol(const JpegTable& table) {
    const uint32_t found = table.look[bits >> (64 - JpegTable::kWidth)];
    if (found != 0) {
      Drop(found >> 8);
      return found & 255;
    }
    const auto next16 = static_cast<uint32_t>(bits >> 48);
    int length = JpegTable::kWidth + 1;
    while (length < 16 && next16 >= table.past[length]) ++length;
    is_wrong |= next16 >= table.past[length];
    const int index =
        table.first[length] + static_cast<int>(next16 >> (16 - length));
    Drop(length);
    return table.symbols[index & 255];
  }
  // At most 15 bits. A leading 0 means negative.
  __device__ int Value(int n) {
    if (n == 0) return 0;
    const int value = static_cast<int>(bits >> (64 - n));
    const bool negative = bits >> 63 == 0;
    Drop(n);
    return negative ? value - (1 << n) + 1 : value;
  }
  // Whether the next bit is bit `bit` of the byte at `place`. REQUIRES: `begin`
  // is where reading began.
  __device__ bool IsAt(const uint8_t* begin, const uint8_t* place,
                       int bit) const {
    int unread = (count + 7) / 8;
    if (8 * unread - count != bit) return false;
    unread -= missing;
    const uint8_t* at = next;
    for (; unread > 0 && at > begin; --unread) {
      const bool is_stuffed =
          at > end || (at - begin >= 2 && at[-1] == 0 && at[-2] == 0xff);
      at -= is_stuffed ? 2 : 1;
    }
    return unread == 0 && at == place;
  }
  __device__ bool IsWithin() const { return 8 * missing <= count; }
};

// Of blocks outside the rows nothing is written.
__device__ int ReadBlock(Bits* bits, const JpegTable& dc, const JpegTable& ac,
                         int last_dc, int16_t* out) {
  bits->Fill();
  last_dc += bits->Value(bits->Symbol(dc) & 15);
  if (out != nullptr) out[0] = static_cast<int16_t>(last_dc);
  for (int i = 1; i < 64; ++i) {
    bits->Fill();
    const int symbol = bits->Symbol(ac);
    i += symbol >> 4;
    if ((symbol & 15) == 0) {
      if (symbol >> 4 == 15) continue;
      break;
    }
    const int value = bits->Value(symbol & 15);
    bits->is_wrong |= i > 63;
    if (out != nullptr && i < 64) out[kPlace[i]] = static_cast<int16_t>(value);
  }
  return last_dc;
}

__global__ void ReadCodes(JpegWork work) {
  const int n = blockIdx.x * kStartThreads + threadIdx.x;
  if (n >= work.num_starts) return;
  const JpegStart start = work.starts[n];
  if (start.mcus == 0) return;
  const JpegRows& rows = work.pictures[start.picture];
  const int luma = rows.horizontal * rows.vertical;
  const int blocks = luma + rows.components - 1;
  const uint8_t* const begin = work.codes + start.byte;
  Bits bits = {begin, work.codes + start.end};
  bits.Fill();
  bits.Drop(start.bit);
  int last0 = start.last_dc[0];
  int last1 = start.last_dc[1];
  int last2 = start.last_dc[2];
  const JpegTable* const tables = work.tables;
  for (int m = start.first_mcu; m < start.first_mcu + start.mcus; ++m) {
    const bool is_used = m >= 0 && m < rows.mcus;
    int16_t* out =
        work.coefficients + 64 * (rows.first_block + int64_t{m} * blocks);
    for (int b = 0; b < luma; ++b, out += 64) {
      last0 =
          ReadBlock(&bits, tables[rows.tables[0][0]], tables[rows.tables[0][1]],
                    last0, is_used ? out : nullptr);
    }
    if (rows.components == 1) continue;
    last1 =
        ReadBlock(&bits, tables[rows.tables[1][0]], tables[rows.tables[1][1]],
                  last1, is_used ? out : nullptr);
    last2 =
        ReadBlock(&bits, tables[rows.tables[2][0]], tables[rows.tables[2][1]],
                  last2, is_used ? out + 64 : nullptr);
  }
  // It must have come to where the next one starts.
  bool is_right = !bits.is_wrong && bits.IsWithin();
  const JpegStart& next = work.starts[min(n + 1, work.num_starts - 1)];
  if (n + 1 < work.num_starts && next.picture == start.picture) {
    is_right = is_right && next.last_dc[0] == last0 &&
               next.last_dc[1] == last1 && next.last_dc[2] == last2 &&
               bits.IsAt(begin, work.codes + next.byte, next.bit);
  }
  if (!is_right) work.wrong[start.picture] = 1;
}

__device__ int Wrap(int value) { return static_cast<int16_t>(value); }

__device__ int Saturate(int value) { return min(32767, max(-32768, value)); }

// One row or column, as libjpeg's accurate transform: see
// lib/media/jpeg/reconstruct.cc.
template <int kShift>
__device__ void Butterfly(int* v) {
  const int turned = (v[2] + v[6]) * 4433;
  const int even2 = turned - v[6] * 15137;
  const int even3 = turned + v[2] * 6270;
  const int even0 = Wrap(v[0] + v[4]) * 8192;
  const int even1 = Wrap(v[0] - v[4]) * 8192;
  int z3 = Wrap(v[7] + v[3]);
  int z4 = Wrap(v[5] + v[1]);
  const int z1 = (v[7] + v[1]) * -7373;
  const int z2 = (v[5] + v[3]) * -20995;
  const int z5 = (z3 + z4) * 9633;
  z3 = z3 * -16069 + z5;
  z4 = z4 * -3196 + z5;
  const int odd0 = v[7] * 2446 + z1 + z3;
  const int odd1 = v[5] * 16819 + z2 + z4;
  const int odd2 = v[3] * 25172 + z2 + z3;
  const int odd3 = v[1] * 12299 + z1 + z4;
  const int sum0 = even0 + even3;
  const int sum3 = even0 - even3;
  const int sum1 = even1 + even2;
  const int sum2 = even1 - even2;
  const auto scaled = [](int value) {
    return Saturate((value + (1 << (kShift - 1))) >> kShift);
  };
  v[0] = scaled(sum0 + odd3);
  v[7] = scaled(sum0 - odd3);
  v[1] = scaled(sum1 + odd2);
  v[6] = scaled(sum1 - odd2);
  v[2] = scaled(sum2 + odd1);
  v[5] = scaled(sum2 - odd1);
  v[3] = scaled(sum3 + odd0);
  v[4] = scaled(sum3 - odd0);
}

__device__ uint32_t FourSamples(const int* v) {
  uint32_t all = 0;
  for (int i = 0; i < 4; ++i) {
    all |= static_cast<uint32_t>(min(255, max(0, v[i] + 128))) << (8 * i);
  }
  return all;
}

__global__ void TransformBlocks(JpegWork work) {
  __shared__ int turned[kBlocksAtOnce][8][9];
  const JpegRows& rows = work.pictures[blockIdx.y];
  const int luma = rows.horizontal * rows.vertical;
  const int per_mcu = luma + rows.components - 1;
  const int local = threadIdx.x / 8;
  const int lane = threadIdx.x % 8;
  const int block = blockIdx.x * kBlocksAtOnce + local;
  const bool is_used = block < rows.mcus * per_mcu;
  const int in_mcu = block % per_mcu;
  const int c = in_mcu < luma ? 0 : in_mcu - luma + 1;
  int v[8];
  if (is_used) {
    const int16_t* const in =
        work.coefficients + 64 * (rows.first_block + block);
    for (int y = 0; y < 8; ++y) {
      v[y] = Wrap(in[8 * y + lane] * rows.factors[c][8 * y + lane]);
    }
    Butterfly<11>(v);
    for (int y = 0; y < 8; ++y) turned[local][y][lane] = v[y];
  }
  __syncwarp();
  if (!is_used) return;
  for (int x = 0; x < 8; ++x) v[x] = turned[local][lane][x];
  Butterfly<18>(v);
  const int mcu = block / per_mcu;
  int block_x = mcu % rows.mcus_across;
  int block_y = mcu / rows.mcus_across;
  if (c == 0) {
    block_x = block_x * rows.horizontal + in_mcu % rows.horizontal;
    block_y = block_y * rows.vertical + in_mcu / rows.horizontal;
  }
  // A multiple of 8, as strides and planes are.
  uint8_t* const out = work.planes + rows.planes[c] +
                       int64_t{8 * block_y + lane} * rows.strides[c] +
                       8 * block_x;
  *reinterpret_cast<uint2*>(out) =
      make_uint2(FourSamples(v), FourSamples(v + 4));
}

// A color of the pixel, interpolated as libjpeg does.
__device__ int ColorAt(const JpegRows& rows, const uint8_t* plane, int stride,
                       int x, int y) {
  const int columns = (rows.width + rows.horizontal - 1) / rows.horizontal;
  const int lines = (rows.height + rows.vertical - 1) / rows.vertical;
  const int own_y = y / rows.vertical;
  const uint8_t* const near = plane + int64_t{own_y} * stride;
  const uint8_t* far = near;
  if (rows.vertical == 2) {
    const int other = min(lines - 1, max(0, own_y + (y % 2 ? 1 : -1)));
    far = plane + int64_t{other} * stride;
  }
  const int own_x = x / rows.horizontal;
  if (rows.horizontal == 1) {
    if (rows.vertical == 1) return near[own_x];
    return (3 * near[own_x] + far[own_x] + (y % 2 ? 2 : 1)) >> 2;
  }
  const int other_x = min(columns - 1, max(0, own_x + (x % 2 ? 1 : -1)));
  if (rows.vertical == 1) {
    return (3 * near[own_x] + near[other_x] + (x % 2 ? 2 : 1)) >> 2;
  }
  return (3 * (3 * near[own_x] + far[own_x]) + 3 * near[other_x] +
          far[other_x] + (x % 2 ? 7 : 8)) >>
         4;
}

__device__ uint8_t Clamped(int value) {
  return static_cast<uint8_t>(min(255, max(0, value)));
}

__global__ void WriteColors(JpegWork work) {
  const JpegRows& rows = work.pictures[blockIdx.z];
  const int x = blockIdx.x * kColorThreads + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= rows.width || y >= rows.height) return;
  const int luma =
      work.planes[rows.planes[0] + int64_t{y} * rows.strides[0] + x];
  uint8_t* const rgb = rows.rgb + (int64_t{y} * rows.width + x) * 3;
  if (rows.components == 1) {
    rgb[0] = rgb[1] = rgb[2] = static_cast<uint8_t>(luma);
    return;
  }
  const int cb =
      ColorAt(rows, work.planes + rows.planes[1], rows.strides[1], x, y) - 128;
  const int cr =
      ColorAt(rows, work.planes + rows.planes[2], rows.strides[2], x, y) - 128;
  rgb[0] = Clamped(luma + ((45942 * cr + 16384) >> 15));
  rgb[1] = Clamped(luma + ((-11277 * cb - 23401 * cr + 16384) >> 15));
  rgb[2] = Clamped(luma + ((58066 * cb + 16384) >> 15));
}

}  // namespace

cudaError_t DecodeJpegRows(const JpegWork& work, cudaStream_t stream) {
  const cudaError_t zeroed = cudaMemsetAsync(
      work.coefficients, 0, work.blocks * 64 * sizeof(int16_t), stream);
  if (zeroed != cudaSuccess) return zeroed;
  const cudaError_t forgotten =
      cudaMemsetAsync(work.wrong, 0, work.count, stream);
  if (forgotten != cudaSuccess) return forgotten;
  ReadCodes<<<(work.num_starts + kStartThreads - 1) / kStartThreads,
              kStartThreads, 0, stream>>>(work);
  TransformBlocks<<<dim3((work.most_blocks + kBlocksAtOnce - 1) / kBlocksAtOnce,
                         work.count),
                    8 * kBlocksAtOnce, 0, stream>>>(work);
  WriteColors<<<dim3((work.most_width + kColorThreads - 1) / kColorThreads,
                     work.most_height, work.count),
                kColorThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace feedrate::fused
