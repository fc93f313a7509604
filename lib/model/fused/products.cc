#include "lib/model/fused/products.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

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

KnownAlgorithms::KnownAlgorithms() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  int device = 0;
  cudaDeviceProp properties;
  if ((cache == nullptr && home == nullptr) ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    return;
  }
  std::string name = properties.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); },
      '_');
  const std::filesystem::path folder =
      (cache != nullptr ? std::filesystem::path(cache)
                        : std::filesystem::path(home) / ".cache") /
      "feedrate" / "products";
  path_ = folder / (name + "_" + std::to_string(cublasLtGetVersion()));
  std::ifstream in(path_);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    Found found;
    words >> key >> found.seconds;
    for (uint64_t& word : found.algorithm.data) words >> word;
    std::string end;
    if (words && words >> end && end == "end") found_[key] = found;
  }
}

KnownAlgorithms::~KnownAlgorithms() {
  if (!changed_ || path_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path(), ignored);
  // Under another name first: two trainings may end at once.
  const std::string draft = path_ + "." + std::to_string(getpid());
  {
    std::ofstream out(draft);
    for (const auto& entry : found_) {
      out << entry.first << " " << entry.second.seconds;
      for (const uint64_t word : entry.second.algorithm.data) {
        out << " " << word;
      }
      out << " end\n";
    }
    if (!out.flush()) {
      std::filesystem::remove(draft, ignored);
      return;
    }
  }
  std::filesystem::rename(draft, path_, ignored);
}

const KnownAlgorithms::Found* KnownAlgorithms::Find(
    const std::string& key) const {
  const auto found = found_.find(key);
  return found == found_.end() ? nullptr : &found->second;
}

void KnownAlgorithms::Add(const std::string& key, const Found& found) {
  found_[key] = found;
  changed_ = true;
}

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
  const bool forward = shape.kind != Product::kInputGradient &&
                       shape.kind != Product::kWeightGradient;
  if (shape.kind == Product::kForwardBias) {
    epilogue = CUBLASLT_EPILOGUE_BIAS;
  } else if (shape.kind == Product::kForwardGelu) {
    epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  }
  if (forward) {
    m = out, n = rows;
  } else if (shape.kind == Product::kInputGradient) {
    m = in, n = rows;
  } else {
    m = in, n = out;
  }
  if (shape.fp8) {
    first = CUBLAS_OP_T;
    const int64_t inner = forward                                 ? in
                          : shape.kind == Product::kInputGradient ? out
                                                                  : rows;
    layout(&a_, CUDA_R_8F_E4M3, inner, m);
    layout(&b_, forward ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2, inner, n);
    const void* const any = workspace_;
    Set(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, any);
    Set(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, any);
    // Sums of gradients are kept in fp32; the tensor cores' own have 14 bits.
    const int8_t fast = forward;
    Set(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  } else if (forward) {
    first = CUBLAS_OP_T;
    layout(&a_, CUDA_R_16BF, in, out);
    layout(&b_, CUDA_R_16BF, in, rows);
  } else if (shape.kind == Product::kInputGradient) {
    layout(&a_, CUDA_R_16BF, in, out);
    layout(&b_, CUDA_R_16BF, out, rows);
  } else {
    second = CUBLAS_OP_T;
    layout(&a_, CUDA_R_16BF, in, rows);
    layout(&b_, CUDA_R_16BF, out, rows);
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
    throw std::runtime_error("cuBLASLt has no algorithm for product " + Key());
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
  if (shape_.fp8) {
    // a_ is the second matrix: everything is computed transposed.
    Set(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, buffers.b_scale);
    Set(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, buffers.a_scale);
  }
  const float one = 1, beta = buffers.accumulate ? 1 : 0;
  return cublasLtMatmul(handle_, operation_, &one, buffers.b, a_, buffers.a, b_,
                        &beta, buffers.out, out_, buffers.out, out_, &algorithm,
                        workspace_, workspace_bytes_, stream);
}

std::string TunedProduct::Key() const {
  return std::to_string(static_cast<int>(shape_.kind)) + "_" +
         std::to_string(shape_.rows) + "_" + std::to_string(shape_.inputs) +
         "_" + std::to_string(shape_.outputs) +
         (shape_.float_out ? "_f" : "_b") + (shape_.fp8 ? "_fp8" : "");
}

void TunedProduct::Tune(const ProductBuffers& buffers, cudaStream_t stream,
                        KnownAlgorithms* known) {
  const std::string key = Key();
  if (const KnownAlgorithms::Found* found = known->Find(key)) {
    // One that does not run here any more is searched again.
    if (Call(buffers, found->algorithm, stream) == CUBLAS_STATUS_SUCCESS) {
      best_ = found->algorithm;
      seconds_ = found->seconds;
      return;
    }
  }
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
  if (seconds_ == 0) {
    throw std::runtime_error("cuBLASLt computes nothing for product " + key);
  }
  known->Add(key, {best_, seconds_});
}

std::string TunedProduct::AlgorithmName() const {
  std::string name;
  for (const cublasLtMatmulAlgoConfigAttributes_t part :
       {CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID,
        CUBLASLT_ALGO_CONFIG_STAGES_ID}) {
    int32_t value = 0;
    size_t written = 0;
    Check(cublasLtMatmulAlgoConfigGetAttribute(&best_, part, &value,
                                               sizeof(value), &written),
          "the name of an algorithm");
    name += (name.empty() ? "" : ".") + std::to_string(value);
  }
  return name;
}

void TunedProduct::Run(const ProductBuffers& buffers, cudaStream_t stream) {
  Check(Call(buffers, best_, stream), "product");
}

}  // namespace fused
}  // namespace feedrate
