#include "lib/model/worker/image_scores.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>

#include <future>

namespace feedrate {

void AddScores(const at::Tensor& logits, const at::Tensor& classes,
               ImageScores* scores) {
  const at::Tensor values = logits.to(at::kCPU).to(at::kDouble);
  const at::Tensor column = classes.to(at::kCPU).unsqueeze(1);
  const at::Tensor own = values.gather(1, column);
  // Not `gt`: NaN must never count as less likely.
  const at::Tensor above = values.le(own).logical_not();
  const at::Tensor tied_before =
      values.eq(own).logical_and(at::arange(values.size(1)).lt(column));
  const at::Tensor rank = above.logical_or(tied_before).sum(1);
  scores->images += values.size(0);
  scores->top1 += rank.lt(1).sum().item<int64_t>();
  scores->top5 += rank.lt(5).sum().item<int64_t>();
  scores->loss_sum -=
      at::log_softmax(values, -1).gather(1, column).sum().item<double>();
}

ImageScores ScoreImages(
    const LabeledImages& images, const LoaderBatchOptions& options,
    size_t threads,
    const std::function<at::Tensor(const at::Tensor&)>& classify) {
  ImageScores scores;
  std::vector<TrainBatch> waiting;
  const auto score_waiting = [&] {
    std::vector<std::future<at::Tensor>> logits;
    for (const TrainBatch& batch : waiting) {
      logits.push_back(std::async(std::launch::async, [&classify, &batch] {
        return classify(batch.input);
      }));
    }
    // In order, so that sums round the same.
    for (size_t i = 0; i < waiting.size(); ++i) {
      AddScores(logits[i].get(), waiting[i].target, &scores);
    }
    waiting.clear();
  };
  scores.skipped =
      ForEachImageBatch(images, options, [&](const TrainBatch& batch) {
        if (threads <= 1) {
          AddScores(classify(batch.input), batch.target, &scores);
          return;
        }
        waiting.push_back({batch.input.clone(), batch.target});
        if (waiting.size() == threads) score_waiting();
      });
  score_waiting();
  return scores;
}

}  // namespace feedrate
