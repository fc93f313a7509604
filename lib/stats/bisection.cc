#include "lib/stats/bisection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glog/logging.h"

namespace feedrate {
namespace {

// For "good and bad differ", which the caller believes anyway.
constexpr double kProofLevel = 0.05;
// The grid of steps: this many standard errors around the estimate, on each
// side.
constexpr double kStepReach = 3;
constexpr int kSteps = 33;
// The grid of scales, as factors of the robust standard deviation. A scale of t
// with 4 degrees of freedom is about 0.8 of a normal standard deviation.
constexpr double kScales[] = {0.4, 0.5, 0.63, 0.8, 1.0, 1.25, 1.6, 2.0};
constexpr double kDegrees = 4;
// A commit that was measured before needs no build. It is measured again if it
// splits the probability almost as evenly as the best one.
constexpr double kWorthABuild = 0.1;
// A commit that splits the probability less evenly than this says nothing.
constexpr double kUseless = 0.498;

// The logarithm of the density of t, without its constant.
double LogT(double x, double scale) {
  const double z = x / scale;
  return -std::log(scale) - (kDegrees + 1) / 2 * std::log1p(z * z / kDegrees);
}

}  // namespace

BisectionSearch::BisectionSearch(const BisectionOptions& options)
    : options_(options),
      differences_(options.commits + 1),
      is_excluded_(options.commits + 1, false),
      probabilities_(options.commits + 1, 1.0 / options.commits),
      next_(options.commits) {
  CHECK_GE(options.commits, 1);
  probabilities_[0] = 0;
}

void BisectionSearch::Exclude(int commit) {
  CHECK(commit > 0 && commit < options_.commits);
  is_excluded_[commit] = true;
  if (is_proved_) Choose();
}

void BisectionSearch::Add(int commit, double difference) {
  CHECK(commit > 0 && commit <= options_.commits);
  differences_[commit].push_back(difference);
  ++pairs_;
  if (!is_proved_ && !IsChangeProved()) return;
  UpdateProbabilities();
  Choose();
}

bool BisectionSearch::IsChangeProved() {
  const std::vector<double>& pairs = differences_[options_.commits];
  PairedDesign design;
  design.looks = DefaultLooks(options_.max_pairs);
  design.level = kProofLevel;
  design.interest_percent = options_.interest_percent;
  const auto look =
      std::find(design.looks.begin(), design.looks.end(), pairs.size());
  if (look == design.looks.end()) return false;
  proof_ = LookAt(pairs, design, static_cast<int>(look - design.looks.begin()));
  is_proved_ = proof_.verdict == PairedVerdict::kSlower ||
               proof_.verdict == PairedVerdict::kFaster;
  if (proof_.verdict == PairedVerdict::kSame) {
    state_ = State::kSame;
  } else if (!is_proved_ && look + 1 == design.looks.end()) {
    state_ = State::kCannotTell;
  }
  return is_proved_;
}

void BisectionSearch::UpdateProbabilities() {
  const int n = options_.commits;
  // Runs that are equal to the last digit have no spread.
  const double spread = std::max(proof_.spread, 1e-9);
  const double error =
      spread / std::sqrt(static_cast<double>(differences_[n].size()));
  // A step that is not of interest would not have been proved; in the model it
  // would fit any commit.
  const double least =
      std::min(std::abs(proof_.estimate),
               std::log1p(options_.interest_percent / 100) / 2);
  std::vector<std::vector<double>> logs;
  double highest = -INFINITY;
  for (const double factor : kScales) {
    const double scale = factor * spread;
    double before = 0;
    std::vector<double> without(n + 1, 0);
    for (int c = 1; c <= n; ++c) {
      for (const double d : differences_[c]) without[c] += LogT(d, scale);
      before += without[c];
    }
    for (int i = 0; i < kSteps; ++i) {
      const double step =
          proof_.estimate + error * kStepReach * (2.0 * i / (kSteps - 1) - 1);
      if (std::copysign(step, step * proof_.estimate) < least) continue;
      // The likelihood if the change came with commit k, from the last to the
      // first.
      std::vector<double>& log = logs.emplace_back(n + 1, -INFINITY);
      double sum = before;
      for (int k = n; k >= 1; --k) {
        for (const double d : differences_[k]) sum += LogT(d - step, scale);
        sum -= without[k];
        log[k] = sum;
        highest = std::max(highest, sum);
      }
    }
  }
  double total = 0;
  for (int k = 1; k <= n; ++k) {
    probabilities_[k] = 0;
    for (const auto& log : logs) {
      probabilities_[k] += std::exp(log[k] - highest);
    }
    total += probabilities_[k];
  }
  for (double& p : probabilities_) p /= total;
}

void BisectionSearch::Choose() {
  const int n = options_.commits;
  answer_ = {};
  int best = n;
  int cheap = n;
  double best_gap = 1;
  double cheap_gap = 1;
  double below = 0;
  double group = 0;
  int after = 0;
  for (int c = 1; c <= n; ++c) {
    group += probabilities_[c];
    if (is_excluded_[c]) continue;
    if (group > answer_.probability) answer_ = {after, c, group};
    below += group;
    group = 0;
    after = c;
    const int pairs = static_cast<int>(differences_[c].size());
    if (c == n || pairs >= options_.max_pairs) continue;
    const double gap = std::abs(below - 0.5);
    if (gap < best_gap) {
      best = c;
      best_gap = gap;
    }
    if (pairs > 0 && gap < cheap_gap) {
      cheap = c;
      cheap_gap = gap;
    }
  }
  next_ = cheap_gap <= best_gap + kWorthABuild ? cheap : best;
  if (answer_.probability >= options_.confidence) {
    state_ = State::kFound;
  } else if (best_gap > kUseless) {
    state_ = State::kCannotTell;
  }
}

std::vector<int> BisectionSearch::CredibleSet(double probability) const {
  std::vector<int> order(options_.commits);
  std::iota(order.begin(), order.end(), 1);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return probabilities_[a] > probabilities_[b];
  });
  double sum = 0;
  size_t count = 0;
  while (count < order.size() && sum < probability) {
    sum += probabilities_[order[count++]];
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace feedrate
