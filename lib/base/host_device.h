// What lets one function be compiled for the host and for a GPU.
#ifndef FEEDRATE_LIB_BASE_HOST_DEVICE_H_
#define FEEDRATE_LIB_BASE_HOST_DEVICE_H_

// Kernels are thin loops around functions marked with this, so that their index
// arithmetic is tested on machines without a GPU.
#ifdef __CUDACC__
#define FEEDRATE_HD __host__ __device__ __forceinline__
// Arrays whose indexes all become constants lie in registers.
#define FEEDRATE_UNROLL _Pragma("unroll")
#else
#define FEEDRATE_HD inline
#define FEEDRATE_UNROLL
#endif

#endif  // FEEDRATE_LIB_BASE_HOST_DEVICE_H_
