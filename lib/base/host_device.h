// Macros to compile one function for both the host and a GPU.
#pragma once

// Kernels are thin loops around functions marked with this, so that index
// arithmetic can be tested on machines without a GPU.
#ifdef __CUDACC__
#define FEEDRATE_HD __host__ __device__ __forceinline__
// Unrolling turns array indexes into constants, so that the arrays stay in
// registers.
#define FEEDRATE_UNROLL _Pragma("unroll")
#else
#define FEEDRATE_HD inline
#define FEEDRATE_UNROLL
#endif
