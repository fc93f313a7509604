// Matrix products of the fused engine by cuBLASLt, each with the algorithm that
// was fastest on this device. It is searched once per kind of device and kept
// in a file, so that later trainings start faster and compute the same bits.
#pragma once

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace feedrate {
namespace fused {

// What a product does besides. All matrices are row-major.
enum class Product {
  // out[rows][outputs] = x[rows][inputs] weight[outputs][inputs]^T.
  kForward,
  // The same plus bias[outputs].
  kForwardBias,
  // `before` = the same, out = its GELU in the tanh form.
  kForwardGelu,
  // dx[rows][inputs] = dy[rows][outputs] weight.
  kInputGradient,
  // dweight[outputs][inputs] (+)= dy^T x, in fp32.
  kWeightGradient,
};

struct ProductShape {
  Product kind = Product::kForward;
  int64_t rows = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  // fp32 instead of bf16 out; always for weight gradients.
  bool float_out = false;
  // Reads FP8: x and weights in E4M3, dy in E5M2. The tensor cores read bytes
  // along rows only, so an input gradient takes the transposed weights, and a
  // weight gradient the transposed dy and x.
  bool fp8 = false;
};

struct ProductBuffers {
  // kForward*: x, weight. kInputGradient: dy, weight. kWeightGradient: dy, x.
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  void* bias = nullptr;
  void* before = nullptr;
  bool accumulate = false;
  // Of FP8: on the device, aligned to 16 bytes; what a and b are multiplied by.
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
};

// The algorithms that were fastest, by what they compute: a file in the user's
// cache folder for each device and version of cuBLASLt. A file that is missing,
// damaged or cannot be written costs only time.
class KnownAlgorithms {
 public:
  struct Found {
    cublasLtMatmulAlgo_t algorithm = {};
    double seconds = 0;
  };

  // Reads the file of the current device.
  KnownAlgorithms();
  // Writes the file if anything was added.
  ~KnownAlgorithms();

  // Null if unknown.
  const Found* Find(const std::string& key) const;
  void Add(const std::string& key, const Found& found);

 private:
  std::string path_;
  std::map<std::string, Found> found_;
  bool changed_ = false;
};

// One product of a fixed shape. Errors are std::runtime_error.
class TunedProduct {
 public:
  TunedProduct(cublasLtHandle_t handle, const ProductShape& shape,
               void* workspace, size_t workspace_bytes);
  ~TunedProduct();
  TunedProduct(const TunedProduct&) = delete;
  TunedProduct& operator=(const TunedProduct&) = delete;

  // Takes the algorithm that `known` has, else tries every one that cuBLASLt
  // proposes on these buffers, whose content it destroys, keeps the fastest and
  // adds it to `known`. std::runtime_error if none runs.
  void Tune(const ProductBuffers& buffers, cudaStream_t stream,
            KnownAlgorithms* known);
  void Run(const ProductBuffers& buffers, cudaStream_t stream);

  double flops() const {
    return 2.0 * shape_.rows * shape_.inputs * shape_.outputs;
  }
  // The algorithm as cuBLASLt numbers it: "id.tile.stages".
  std::string AlgorithmName() const;
  // Seconds of the fastest algorithm; 0 before Tune.
  double seconds() const { return seconds_; }

 private:
  // What `known` calls it.
  std::string Key() const;
  cublasStatus_t Call(const ProductBuffers& buffers,
                      const cublasLtMatmulAlgo_t& algorithm,
                      cudaStream_t stream);

  const cublasLtHandle_t handle_;
  const ProductShape shape_;
  void* const workspace_;
  const size_t workspace_bytes_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t out_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  cublasLtMatmulAlgo_t best_ = {};
  double seconds_ = 0;
};

}  // namespace fused
}  // namespace feedrate
