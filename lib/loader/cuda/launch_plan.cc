#include "lib/loader/cuda/launch_plan.h"

#include <vector>

#include "lib/loader/cuda/batch_queue.h"

namespace feedrate {
namespace {

// The launch that writes `count` samples from the piece's own sample `first`.
LaunchPlan LaunchFrom(const BatchQueue::Piece& piece, int first, int count) {
  const int all = piece.samples();
  LaunchPlan plan;
  plan.at = piece.PlaceOf(first);
  plan.count = count;
  for (int i = 0; i < all; ++i) {
    const int sample = (first + i) % all;
    const int partner = piece.PartnerOf(sample);
    plan.samples.push_back(sample);
    plan.partners.push_back(partner < 0 ? -1 : (partner - first + all) % all);
  }
  return plan;
}

}  // namespace

std::vector<LaunchPlan> LaunchesOf(const BatchQueue::Piece& piece) {
  std::vector<LaunchPlan> plans = {LaunchFrom(piece, 0, piece.count)};
  if (piece.mirror_count > 0) {
    plans.push_back(LaunchFrom(piece, piece.count, piece.mirror_count));
  }
  return plans;
}

}  // namespace feedrate
