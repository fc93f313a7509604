#include "lib/model/fused/products.h"

#include <algorithm>
#include <stdexcept>

namespace feedrate {
namespace fused {
namespace {

// Proposals of cuBLASLt that are timed. The best one is seldom the first and
// was never beyond the tenth.
constexpr int kProposals = 16;
constexpr int kTimedCalls = 5;

void Check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cuBLASLt, ") + what + ": " +
                             cublasLtGetStatusString(status));
  }
}

void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " +
                             cudaGetErrorString(error));
  }
}

template <typename T>
void Set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name,
         const T& value) {
  Check(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof(value)),
        "a setting of a product");
}

}  // namespace

TunedProduct::TunedProduct(cublasLtHandle_t handle, const ProductShape& shape,
                           void* workspace, size_t workspace_bytes)
    : handle_(handle),
      shape_(shape),
      workspace_(workspace),
      workspace_bytes_(workspace_bytes) {
  const int64_t rows = shape.rows, in = shape.inputs, out = shape.outputs;
  Check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "description");
  // Row-major X is column-major X^T, so every product is computed transposed.
  cublasOperation_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t m = 0, n = 0;
  const auto layout = [](cublasLtMatrixLayout_t* to, cudaDataType_t type,
                         int64_t rows_, int64_t columns) {
    Check(cublasLtMatrixLayoutCreate(to, type, rows_, columns, rows_),
          "layout");
  };
  switch (shape.kind) {
    case Product::kForward:
    case Product::kForwardBias:
    case Product::kForwardGelu:
      first = CUBLAS_OP_T;
      layout(&a_, CUDA_R_16BF, in, out);
      layout(&b_, CUDA_R_16BF, in, rows);
      m = out, n = rows;
      if (shape.kind == Product::kForwardBias) {
        epilogue = CUBLASLT_EPILOGUE_BIAS;
      } else if (shape.kind == Product::kForwardGelu) {
        epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
      }
      break;
    case Product::kInputGradient:
      layout(&a_, CUDA_R_16BF, in, out);
      layout(&b_, CUDA_R_16BF, out, rows);
      m = in, n = rows;
      break;
    case Product::kWeightGradient:
      second = CUBLAS_OP_T;
      layout(&a_, CUDA_R_16BF, in, rows);
      layout(&b_, CUDA_R_16BF, out, rows);
      m = in, n = out;
      break;
  }
  const bool float_out =
      shape.float_out || shape.kind == Product::kWeightGradient;
  layout(&out_, float_out ? CUDA_R_32F : CUDA_R_16BF, m, n);
  Set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, first);
  Set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, second);
  Set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (shape.kind == Product::kForwardGelu) {
    Set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, m);
  }
  cublasLtMatmulPreference_t preference = nullptr;
  Check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  Check(cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &workspace_bytes_, sizeof(workspace_bytes_)),
        "workspace");
  cublasLtMatmulHeuristicResult_t found[kProposals];
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, out_, out_,
                                     preference, kProposals, found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  Check(status, "no algorithm for a product");
  for (int i = 0; i < count; ++i) {
    if (found[i].state == CUBLAS_STATUS_SUCCESS) {
      algorithms_.push_back(found[i].algo);
    }
  }
  if (algorithms_.empty()) {
    throw std::runtime_error("cuBLASLt has no algorithm for a product");
  }
  best_ = algorithms_[0];
}

TunedProduct::~TunedProduct() {
  cublasLtMatrixLayoutDestroy(a_);
  cublasLtMatrixLayoutDestroy(b_);
  cublasLtMatrixLayoutDestroy(out_);
  cublasLtMatmulDescDestroy(operation_);
}

cublasStatus_t TunedProduct::Call(const ProductBuffers& buffers,
                                  const cublasLtMatmulAlgo_t& algorithm,
                                  cudaStream_t stream) {
  if (buffers.bias != nullptr) {
    Set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, buffers.bias);
  }
  if (buffers.before != nullptr) {
    Set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers.before);
  }
  const float one = 1, beta = buffers.accumulate ? 1 : 0;
  return cublasLtMatmul(handle_, operation_, &one, buffers.b, a_, buffers.a, b_,
                        &beta, buffers.out, out_, buffers.out, out_, &algorithm,
                        workspace_, workspace_bytes_, stream);
}

void TunedProduct::Tune(const ProductBuffers& buffers, cudaStream_t stream) {
  cudaEvent_t start, end;
  Check(cudaEventCreate(&start), "event");
  Check(cudaEventCreate(&end), "event");
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms_) {
    bool works = true;
    // The first call loads the kernel.
    for (int i = -1; i < kTimedCalls && works; ++i) {
      if (i == 0) Check(cudaEventRecord(start, stream), "event");
      works = Call(buffers, algorithm, stream) == CUBLAS_STATUS_SUCCESS;
    }
    Check(cudaEventRecord(end, stream), "event");
    Check(cudaEventSynchronize(end), "a product");
    if (!works) continue;
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, start, end), "event");
    const double seconds = ms * 1e-3 / kTimedCalls;
    if (seconds_ == 0 || seconds < seconds_) {
      seconds_ = seconds;
      best_ = algorithm;
    }
  }
  cudaEventDestroy(start);
  cudaEventDestroy(end);
}

void TunedProduct::Run(const ProductBuffers& buffers, cudaStream_t stream) {
  Check(Call(buffers, best_, stream), "product");
}

}  // namespace fused
}  // namespace feedrate
