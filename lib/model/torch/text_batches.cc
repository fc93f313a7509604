#include "lib/model/torch/text_batches.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace feedrate {
namespace {

class TextBatches : public BatchSource {
 public:
  explicit TextBatches(const TextOptions& options) : options_(options) {
    std::ifstream in(options.file, std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    const std::string text = content.str();
    if (!in || text.size() <= static_cast<size_t>(options.context)) {
      throw std::runtime_error(options.file +
                               ": is not there, or shorter than one sample");
    }
    text_ = TensorOfBytes(text);
    const int64_t last = text_.numel() - options.context - 1;
    starts_.push_back(0);
    for (int64_t i = 1; i <= last; ++i) {
      if (text[i - 1] == '\n') starts_.push_back(i);
    }
  }

  TrainBatch Get(int64_t index) override {
    std::mt19937_64 random(options_.seed * 1000003 + index);
    std::vector<at::Tensor> inputs, targets;
    for (int64_t i = 0; i < options_.batch_size; ++i) {
      const int64_t start = starts_[random() % starts_.size()];
      inputs.push_back(text_.narrow(0, start, options_.context));
      targets.push_back(text_.narrow(0, start + 1, options_.context));
    }
    return {at::stack(inputs), at::stack(targets)};
  }

 private:
  const TextOptions options_;
  at::Tensor text_;
  std::vector<int64_t> starts_;
};

}  // namespace

std::unique_ptr<BatchSource> MakeTextBatches(const TextOptions& options) {
  return std::make_unique<TextBatches>(options);
}

at::Tensor TensorOfBytes(const std::string& text) {
  const at::Tensor bytes =
      at::empty({static_cast<int64_t>(text.size())}, at::kLong);
  int64_t* values = bytes.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < text.size(); ++i) {
    values[i] = static_cast<unsigned char>(text[i]);
  }
  return bytes;
}

}  // namespace feedrate
