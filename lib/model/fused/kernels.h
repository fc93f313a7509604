// CUDA kernels of the fused training engine: everything in a step that is not a
// matrix product or attention.
//
// Activations are bf16, the residual stream and its gradient Residual. Sums
// over rows are fp32 and go through parts, which SumList adds up in order, so
// that two runs agree to the bit. Widths are 128, 256, 384, 512 or 768; the
// width of a head is 64. All pointers are device memory, 16-byte aligned.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace feedrate {
namespace fused {

using Bf16 = __nv_bfloat16;
// The residual stream or its gradient: of each row, numbers of 16 bits around
// 2^15 and their unit, the largest value / 32,767. What norms make of a row
// depends on the error beside the row's norm, and that is at most a fifth of
// bf16's; in bf16 gradients of parameters were up to 2.5 times less exact. A
// row with a value that is not finite gets none that is; one whose values are
// below 3e-26 counts as zero.
struct Residual {
  uint16_t* values = nullptr;
  float* units = nullptr;
};

// The gradient of a scale that a product's results, weight x + bias, were
// multiplied by before they were added to the stream. It follows from gradients
// of that product, so nothing reads the results again: out[i] = (sum over j of
// weight[i][j] dweight[i][j], + bias[i] dbias[i]) / scale[i]. Of gradients that
// are sums of several passes it is the sum.
struct ScaleGradient {
  // outputs x inputs.
  const Bf16* weight = nullptr;
  const float* dweight = nullptr;
  // May be null.
  const Bf16* bias = nullptr;
  const float* dbias = nullptr;
  const float* scale = nullptr;
  float* out = nullptr;
  int outputs = 0;
  int inputs = 0;
};

// What kernels leave in parts, added up by one launch for many of them.
class SumList {
 public:
  struct Job {
    int blocks = 0;
    // Null: the gradient of a scale.
    const float* part = nullptr;
    int parts = 0;
    int pitch = 0;
    int count = 0;
    float* out = nullptr;
    bool accumulate = false;
    ScaleGradient scale;
  };
  static constexpr int kMost = 10;

  // The parts lie in `memory`.
  SumList(float* memory, int64_t floats) : memory_(memory), floats_(floats) {}

  // Room for parts, until Run.
  float* Take(int64_t floats);
  // Run will compute out[j] (+)= the sum over p of part[p * pitch + j], in
  // order.
  void Add(const float* part, int parts, int pitch, int count, float* out,
           bool accumulate);
  // Of a product whose gradients no other sum of this Run makes.
  void Add(const ScaleGradient& scale);
  void Run(cudaStream_t s);

 private:
  void Push(const Job& job);

  float* memory_;
  int64_t floats_;
  int64_t taken_ = 0;
  Job jobs_[kMost];
  int count_ = 0;
};

// Floats that one call of a kernel below takes of its list at most.
int64_t PartialFloats(int64_t width);

// Images (batch x channels x side x side) to patches, one row per patch, in the
// order channel, row, column.
void Patchify(const float* images, Bf16* patches, int64_t batch,
              int64_t channels, int64_t side, int64_t patch, cudaStream_t s);

// The first residual stream: `first` learned tokens (float, from
// `tokens_weight`) and then the patches of each sample.
void AssembleTokens(const Bf16* patches, const float* class_token,
                    const float* registers, const Residual& x, int64_t batch,
                    int64_t tokens, int64_t first, int64_t width,
                    cudaStream_t s);
// The reverse: gradients of patches (bf16, for products), of the learned tokens
// and of the bias of the patch embedding.
void AssembleTokensBackward(const Residual& dx, Bf16* dpatches,
                            float* dclass_token, float* dregisters,
                            float* dbias, SumList* sums, int64_t batch,
                            int64_t tokens, int64_t first, int64_t width,
                            bool accumulate, cudaStream_t s);

// The first residual stream of text: the row of the embedding of each byte.
void EmbedBytes(const int64_t* bytes, const float* embedding, const Residual& x,
                int64_t rows, int64_t width, cudaStream_t s);
// rows x `kinds`, 1 where the byte is the column: its product with the gradient
// of the stream is the gradient of the embedding, the same in every run.
void OneHot(const int64_t* bytes, Bf16* out, int64_t rows, int64_t kinds,
            cudaStream_t s);

// A branch of the stream, and what it is multiplied by.
struct Branch {
  const Bf16* y = nullptr;
  const float* scale = nullptr;
};

struct AddNorm {
  Residual x;
  // What is added, none, the first or both.
  Branch branches[2];
  const float* weight = nullptr;
  // The sum; may be x if `stride` is 1, or null.
  Residual x_out;
  // Keeps what weights of zero would lose: they count as 1e-20.
  Bf16* normed = nullptr;
  // One over the root mean square of each row.
  float* rstd = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  // Reads every so many rows of x; y and what is written have no gaps.
  int64_t stride = 1;
};
void RunAddNorm(const AddNorm& a, cudaStream_t s);

struct NormBackward {
  const Bf16* dnormed = nullptr;
  // What AddNorm wrote.
  const Bf16* normed = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  // Gradient of the stream that passes by the norm. Null: zero.
  Residual dresidual;
  // Scale of the branch that was added last. Null: there was none.
  const float* scale = nullptr;
  // May be null.
  Residual dx;
  // Gradient of the branch, or of the stream if there was none; may then be
  // null. Scales of zero count as 1e-20, see ScaleGradient.
  Bf16* dy = nullptr;
  float* dweight = nullptr;
  // Sum of dy over rows: the gradient of the bias that the branch ended with.
  // May be null.
  float* dbias = nullptr;
  SumList* sums = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  // `dresidual` holds rows 0, stride, 2 * stride, ... of dx. The other rows of
  // dx get no residual gradient.
  int64_t stride = 1;
  bool accumulate = false;
};
void RunNormBackward(const NormBackward& a, cudaStream_t s);

struct QkNormRope {
  // rows x 3 x heads x 64.
  const Bf16* qkv = nullptr;
  const float* q_weight = nullptr;
  const float* k_weight = nullptr;
  // tokens x 64.
  const float* cos = nullptr;
  const float* sin = nullptr;
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t heads = 0;
};
// Norms Q and K within each head and rotates them, in place: `qkv` is a.qkv.
// Weights of zero count as 1e-20. `rstd`, rows x 2 x heads: one over the root
// mean square of each head of Q, then of K.
void RunQkNormRope(const QkNormRope& a, Bf16* qkv, float* rstd, cudaStream_t s);
// Of what that wrote.
void RunQkNormRopeBackward(const QkNormRope& a, const float* rstd,
                           const Bf16* dq, const Bf16* dk, const Bf16* dv,
                           Bf16* dqkv, float* dq_weight, float* dk_weight,
                           SumList* sums, bool accumulate, cudaStream_t s);

// Attention of at most kShortTokens tokens per sample, with the norm and
// rotation of Q and K inside. `queries` tokens at the beginning of each sample
// are answered, all tokens are keys. `mixed` and its gradient: batch x queries
// x heads x 64. `log_sum`, base 2: batch x heads x kShortTokens.
constexpr int64_t kShortTokens = 208;
void RunShortAttention(const QkNormRope& a, int64_t queries, Bf16* mixed,
                       float* log_sum, cudaStream_t s);
void RunShortAttentionBackward(const QkNormRope& a, int64_t queries,
                               const Bf16* mixed, const float* log_sum,
                               const Bf16* dmixed, Bf16* dqkv, float* dq_weight,
                               float* dk_weight, SumList* sums, bool accumulate,
                               cudaStream_t s);

// gradient *= gelu'(in), tanh form; dbias[j] (+)= sum over rows of the result.
// Writes gelu(in) to `again`, unless it is null. `width` is a multiple of 256.
void GeluBackward(const Bf16* in, Bf16* gradient, Bf16* again, float* dbias,
                  SumList* sums, int64_t rows, int64_t width, bool accumulate,
                  cudaStream_t s);

// Cross entropy. `labels` are class numbers, or `probabilities` of all classes
// (the other is null). Writes each row's loss and the gradient of the logits of
// the mean loss, times `factor`.
void CrossEntropy(const float* logits, const int64_t* labels,
                  const float* probabilities, float* row_loss, Bf16* dlogits,
                  int64_t rows, int64_t classes, float factor, cudaStream_t s);
// out (+)= factor times the sum of `values`.
void SumTo(const float* values, int64_t count, float factor, bool accumulate,
           float* out, cudaStream_t s);
// out[j] (+)= sum over rows of in[row][j].
void SumRows(const Bf16* in, int64_t rows, int64_t width, bool accumulate,
             float* out, SumList* sums, cudaStream_t s);

// A step of an optimizer over one flat arena. Tensors start at multiples of
// kChunk; `decays` and `tensors` have one entry per chunk.
constexpr int64_t kChunk = 1024;
struct ChunkRange {
  int first, end;
};
struct OptimizerStep {
  float* values = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  // The weights that products read.
  Bf16* rounded = nullptr;
  const uint8_t* decays = nullptr;
  int64_t count = 0;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.05f;
  // Gradients whose `norm` is larger are scaled down to this one. 0: never.
  float clip_norm = 0;
  const float* norm = nullptr;
  // On the device, so that a graph that is replayed sees changes.
  const float* learning_rate = nullptr;
  float* steps = nullptr;
  // For LAMB only: the chunks of each chunk's tensor, and two floats per chunk.
  const ChunkRange* tensors = nullptr;
  float* chunk_squares = nullptr;
};
void RunAdamW(const OptimizerStep& a, cudaStream_t s);
// Without bias correction, as lib/model/torch/trainer.h has it.
void RunLamb(const OptimizerStep& a, cudaStream_t s);
void RoundToBf16(const float* in, Bf16* out, int64_t count, cudaStream_t s);
// Root of the sum of squares. `partial` has at least 1024 floats.
void Norm(const float* in, int64_t count, float* out, float* partial,
          cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
