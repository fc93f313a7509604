// Bisection in noise: finds the first commit of a history that is slower (or
// faster) than those before it, from pairs of runs that scatter.
//
// Plain bisection believes every measurement, so one wrong step of eight loses
// the commit. This one keeps the probability of each commit to be the first
// with the change, measures where the answer is most informative, and repeats
// commits in doubt.
#pragma once

#include <vector>

#include "lib/stats/paired_design.h"

namespace feedrate {

struct BisectionOptions {
  // Number of commits after the good one, which is commit 0. The last is the
  // bad one.
  int commits = 0;
  // Stops when the answer is this probable.
  double confidence = 0.99;
  // Most pairs of one commit.
  int max_pairs = kMaxPairs;
  double interest_percent = kInterestPercent;
};

// Each measurement is a pair: the good commit and another one, next to each
// other and in random order, so drift cancels. First the bad commit is measured
// until its change is proved by the sign-flip test. Then the model is: the
// difference (logarithm of the commit's time over the good one's) is 0 before
// the commit that is sought and `step` from it on, plus noise of Student's t
// distribution with 4 degrees of freedom, so that one disturbed run does not
// mislead. Step and scale of the noise are unknown and are averaged over a
// grid. Every commit is equally probable at the start.
class BisectionSearch {
 public:
  enum class State {
    kSearching,
    kFound,
    // The bad commit is as fast as the good one.
    kSame,
    // The pairs of all informative commits are used up.
    kCannotTell
  };

  explicit BisectionSearch(const BisectionOptions& options);

  // A pair of the good commit and `commit`. REQUIRES: 1 <= commit <= commits.
  void Add(int commit, double difference);
  // Never measures this commit, because it cannot be built or run. REQUIRES:
  // 0 < commit < commits.
  void Exclude(int commit);

  State state() const { return state_; }
  // The commit to measure next. REQUIRES: kSearching.
  int next() const { return next_; }

  // The most probable answer: one of (after, last], the commits between two
  // neighbors that can be measured; a single commit if none is excluded.
  struct Answer {
    int after = 0;
    int last = 0;
    double probability = 0;
  };
  const Answer& answer() const { return answer_; }
  // By commit; 0 for the good one.
  const std::vector<double>& probabilities() const { return probabilities_; }
  // The fewest commits with this probability together, in order.
  std::vector<int> CredibleSet(double probability) const;
  // The differences of a commit, in the order measured.
  const std::vector<double>& differences(int commit) const {
    return differences_[commit];
  }
  int pairs() const { return pairs_; }

 private:
  // Judges the pairs of the bad commit. False: more are needed, or the search
  // is over.
  bool IsChangeProved();
  void UpdateProbabilities();
  void Choose();

  const BisectionOptions options_;
  std::vector<std::vector<double>> differences_;
  std::vector<bool> is_excluded_;
  std::vector<double> probabilities_;
  bool is_proved_ = false;
  // The proof that the bad commit changed the time, once there is one.
  PairedLook proof_;
  State state_ = State::kSearching;
  int next_;
  Answer answer_;
  int pairs_ = 0;
};

}  // namespace feedrate
