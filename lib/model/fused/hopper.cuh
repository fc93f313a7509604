// Hopper's tensor cores and copy engine: barriers in shared memory, tiles that
// the copy engine moves, and products of a warp group (wgmma). For kernels
// compiled for sm_90a only.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace feedrate {
namespace fused {
namespace hopper {

// A tile in shared memory has rows of 128 bytes, whose eight groups of 16 bytes
// lie at place group ^ (row % 8): what the copy engine calls a swizzle of 128
// bytes. Tiles begin at multiples of 1,024 bytes.
constexpr int kTileRowBytes = 128;
constexpr int kTileAlignment = 1024;

__device__ __forceinline__ uint32_t SharedPlace(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Threads, and bytes that the copy engine brings, arrive at a barrier; it then
// enters its next phase. The first phase is 0.
__device__ __forceinline__ void InitBarrier(uint64_t* barrier, int arrivals) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedPlace(barrier)),
      "r"(arrivals));
}
__device__ __forceinline__ void Arrive(uint64_t* barrier) {
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedPlace(barrier))
      : "memory");
}
__device__ __forceinline__ void ArriveExpecting(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   SharedPlace(barrier)),
               "r"(bytes)
               : "memory");
}
// Until the phase of this parity is over. A new barrier has phase 1 behind it.
__device__ __forceinline__ void Wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}\n" ::"r"(SharedPlace(barrier)),
      "r"(parity)
      : "memory");
}

// What was written to shared memory before is seen by the copy engine after the
// next barrier.
__device__ __forceinline__ void FenceForEngines() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// The copy engine: the tile at `column`, `row` of a matrix.
__device__ __forceinline__ void LoadTile(const CUtensorMap& from, char* to,
                                         uint64_t* barrier, int column,
                                         int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(SharedPlace(to)),
      "l"(&from), "r"(SharedPlace(barrier)), "r"(column), "r"(row)
      : "memory");
}
// Brings the tile into the second cache.
__device__ __forceinline__ void PrefetchTile(const CUtensorMap& from,
                                             int column, int row) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&from),
      "r"(column), "r"(row)
      : "memory");
}
__device__ __forceinline__ void SaveTile(const CUtensorMap& to,
                                         const char* from, int column,
                                         int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
      "[%0, {%2, %3}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(&to),
      "r"(SharedPlace(from)), "r"(column), "r"(row)
      : "memory");
}
// The copy engine: bytes that lie next to each other, a multiple of 16.
__device__ __forceinline__ void LoadBytes(const void* from, void* to, int bytes,
                                          uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(SharedPlace(to)),
      "l"(from), "r"(bytes), "r"(SharedPlace(barrier))
      : "memory");
}
// The same for a stack of matrices: the tile of matrix `matrix`.
__device__ __forceinline__ void LoadTile(const CUtensorMap& from, char* to,
                                         uint64_t* barrier, int column, int row,
                                         int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(SharedPlace(to)),
      "l"(&from), "r"(SharedPlace(barrier)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
__device__ __forceinline__ void PrefetchTile(const CUtensorMap& from,
                                             int column, int row, int matrix) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(
          &from),
      "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
__device__ __forceinline__ void SaveTile(const CUtensorMap& to,
                                         const char* from, int column, int row,
                                         int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group "
      "[%0, {%2, %3, %4}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(&to),
      "r"(SharedPlace(from)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
// Until all but the last `kLeft` tiles that this thread saves have left shared
// memory.
template <int kLeft>
__device__ __forceinline__ void WaitUntilSaved() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}

// A matrix in shared memory, as wgmma names it: `leading` and `stride` are the
// bytes from one group of 64 columns, and of eight rows, to the next.
struct Matrix {
  __device__ Matrix(const char* first, int leading, int stride)
      : low(SharedPlace(first) >> 4 | leading >> 4 << 16),
        // 128 bytes are swizzled.
        high(stride >> 4 | 1u << 30) {}
  // From `bytes` after the first on.
  __device__ uint64_t At(int bytes) const {
    uint64_t name;
    asm("mov.b64 %0, {%1, %2};"
        : "=l"(name)
        : "r"(low + (bytes >> 4)), "r"(high));
    return name;
  }
  uint32_t low, high;
};

__device__ __forceinline__ void BeginProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void EndProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void WaitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// The sums are there: nothing that uses them is moved before this.
template <int kCount>
__device__ __forceinline__ void Products(float (&c)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(c[i])::"memory");
}

// Operands of an asm statement: the sums c[i], c[i + 1] and so on.
#define HOPPER_SUMS_4(c, i) \
  "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3])
#define HOPPER_SUMS_8(c, i) HOPPER_SUMS_4(c, i), HOPPER_SUMS_4(c, (i) + 4)
#define HOPPER_SUMS_32(c, i)                                                  \
  HOPPER_SUMS_8(c, i), HOPPER_SUMS_8(c, (i) + 8), HOPPER_SUMS_8(c, (i) + 16), \
      HOPPER_SUMS_8(c, (i) + 24)

// c (+)= a b, 64 x 128 x 16. kTransposed: b is stored by rows of its 16 inner
// values, else by rows of its 128 columns.
template <bool kTransposed>
__device__ __forceinline__ void Multiply64x128(float (&c)[64], uint64_t a,
                                               uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, %67;\n"
      "}\n"
      : HOPPER_SUMS_32(c, 0), HOPPER_SUMS_32(c, 32)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)),
        "n"(static_cast<int>(kTransposed)));
}

// c (+)= a b, 64 x 128 x 32 in FP8: a in E4M3, or, if it is a gradient, in
// E5M2, b in E4M3, stored by rows of its 128 columns.
template <bool kGradient>
__device__ __forceinline__ void MultiplyFp8(float (&c)[64], uint64_t a,
                                            uint64_t b, bool add) {
#define HOPPER_MULTIPLY_FP8(types)                                         \
  asm volatile(                                                            \
      "{\n"                                                                \
      ".reg .pred p;\n"                                                    \
      "setp.ne.b32 p, %66, 0;\n"                                           \
      "wgmma.mma_async.sync.aligned.m64n128k32.f32." types                 \
      " "                                                                  \
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, " \
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "  \
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "  \
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "  \
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                \
      "%64, %65, p, 1, 1;\n"                                               \
      "}\n"                                                                \
      : HOPPER_SUMS_32(c, 0), HOPPER_SUMS_32(c, 32)                        \
      : "l"(a), "l"(b), "r"(static_cast<int>(add)))
  if (kGradient) {
    HOPPER_MULTIPLY_FP8("e5m2.e4m3");
  } else {
    HOPPER_MULTIPLY_FP8("e4m3.e4m3");
  }
#undef HOPPER_MULTIPLY_FP8
}

// 64 x 104 x 16; b is stored by rows of its 104 columns.
__device__ __forceinline__ void Multiply64x104(float (&c)[52], uint64_t a,
                                               uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %54, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n104k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "
      "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "
      "%43, %44, %45, %46, %47, %48, %49, %50, %51}, "
      "%52, %53, p, 1, 1, 0, 0;\n"
      "}\n"
      : HOPPER_SUMS_32(c, 0), HOPPER_SUMS_8(c, 32), HOPPER_SUMS_8(c, 40),
        HOPPER_SUMS_4(c, 48)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
// The same with 16, 48 and 64 columns.
template <int kCount>
__device__ __forceinline__ void Multiply64x16(float (&c)[kCount], uint64_t a,
                                              uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %10, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7}, "
      "%8, %9, p, 1, 1, 0, 0;\n"
      "}\n"
      : HOPPER_SUMS_8(c, 0)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
template <int kCount>
__device__ __forceinline__ void Multiply64x48(float (&c)[kCount], uint64_t a,
                                              uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %26, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23}, "
      "%24, %25, p, 1, 1, 0, 0;\n"
      "}\n"
      : HOPPER_SUMS_8(c, 0), HOPPER_SUMS_8(c, 8), HOPPER_SUMS_8(c, 16)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
template <int kCount>
__device__ __forceinline__ void Multiply64x64(float (&c)[kCount], uint64_t a,
                                              uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "
      "%29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0;\n"
      "}\n"
      : HOPPER_SUMS_32(c, 0)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
// 64 x 64 x 16 with a in registers: of each 16 rows of a warp, rows g and g +
// 8, columns 2 t and 2 t + 8. b is stored by rows of its 16 inner values or, if
// not kTransposed, of its 64 columns.
template <bool kTransposed = true>
__device__ __forceinline__ void MultiplyRegisters64x64(float (&c)[32],
                                                       const uint32_t (&a)[4],
                                                       uint64_t b, bool add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "
      "%29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, %38;\n"
      "}\n"
      : HOPPER_SUMS_32(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),
        "r"(static_cast<int>(add)), "n"(static_cast<int>(kTransposed)));
}
// Whether the current device is a Hopper.
inline bool IsDevice() {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return major == 9 && minor == 0;
}

inline int Processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// A map of values of two bytes, or one, for the copy engine, in tiles of this
// size. Sizes begin with the columns, which lie next to each other; nothing has
// gaps.
inline CUtensorMap MapOf(const void* matrix, const std::vector<int64_t>& sizes,
                         const std::vector<int>& tile, int value_bytes = 2) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                         12000, cudaEnableDefault,
                                         &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess) {
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled");
    }
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  cuuint64_t dimensions[3], pitch[3];
  cuuint32_t box[3];
  const cuuint32_t step[] = {1, 1, 1};
  int64_t bytes = value_bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    dimensions[i] = sizes[i];
    pitch[i] = bytes *= sizes[i];
    box[i] = tile[i];
  }
  CUtensorMap map;
  const CUresult result = encode(
      &map,
      value_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      sizes.size(), const_cast<void*>(matrix), dimensions, pitch, box, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE,
      tile[0] * value_bytes == kTileRowBytes ? CU_TENSOR_MAP_SWIZZLE_128B
                                             : CU_TENSOR_MAP_SWIZZLE_64B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("a matrix that the copy engine cannot read");
  }
  return map;
}

}  // namespace hopper
}  // namespace fused
#undef HOPPER_SUMS_4
#undef HOPPER_SUMS_8
#undef HOPPER_SUMS_32

}  // namespace feedrate
