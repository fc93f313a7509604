#include "lib/stats/bisection.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

using State = BisectionSearch::State;

// A history whose times change by `step` (in logarithms) at commit `at`, and
// whose pairs scatter by `spread`; every `disturbed`th pair is 40% off.
class NoisyHistory {
 public:
  NoisyHistory(int at, double step, double spread, uint64_t seed,
               int disturbed = 0)
      : at_(at),
        step_(step),
        spread_(spread),
        disturbed_(disturbed),
        random_(seed) {}

  double Pair(int commit) {
    ++pairs_;
    // The sum of twelve uniform numbers is nearly normal, on every machine.
    double noise = -6;
    for (int i = 0; i < 12; ++i) noise += (random_() >> 11) * 0x1p-53;
    const bool is_off = disturbed_ > 0 && pairs_ % disturbed_ == 0;
    return (commit >= at_ ? step_ : 0) + spread_ * noise + (is_off ? 0.4 : 0);
  }

  void Search(BisectionSearch* search) {
    while (search->state() == State::kSearching) {
      search->Add(search->next(), Pair(search->next()));
    }
  }

 private:
  const int at_;
  const double step_;
  const double spread_;
  const int disturbed_;
  std::mt19937_64 random_;
  int pairs_ = 0;
};

BisectionOptions Commits(int commits) {
  BisectionOptions options;
  options.commits = commits;
  return options;
}

// 5% at 2% noise per run, which is 2.8% per pair. simulate_bisect has the
// figures of docs/duel.md.
int FoundSteps(int disturbed) {
  int found = 0;
  for (int i = 0; i < 40; ++i) {
    const int at = 1 + (i * 67) % 200;
    NoisyHistory history(at, std::log(1.05), 0.0283, i + 1, disturbed);
    BisectionSearch search(Commits(200));
    history.Search(&search);
    found += search.state() == State::kFound && search.answer().last == at;
    EXPECT_LT(search.pairs(), 250);
  }
  return found;
}

TEST(BisectionTest, FindsFivePercentInNoise) { EXPECT_GE(FoundSteps(0), 38); }

TEST(BisectionTest, DisturbedRunsDoNotMislead) {
  EXPECT_GE(FoundSteps(15), 36);
}

TEST(BisectionTest, WithoutNoiseItTakesOnePairPerCommit) {
  BisectionSearch search(Commits(16));
  int pairs = 0;
  while (search.state() == State::kSearching) {
    const int next = search.next();
    search.Add(next, (next >= 11 ? 0.2 : 0) + 1e-4 * (++pairs % 3));
  }
  EXPECT_EQ(search.state(), State::kFound);
  EXPECT_EQ(search.answer().last, 11);
  EXPECT_EQ(search.CredibleSet(0.99), std::vector<int>{11});
  // 10 for good and bad, and the four steps of plain bisection.
  EXPECT_LE(search.pairs(), 10 + 5);
}

TEST(BisectionTest, FindsWhatBecameFaster) {
  NoisyHistory history(3, -0.1, 0.01, 7);
  BisectionSearch search(Commits(10));
  history.Search(&search);
  EXPECT_EQ(search.answer().last, 3);
}

TEST(BisectionTest, GoodAndBadThatAreTheSameEndTheSearch) {
  NoisyHistory history(3, 0, 0.005, 7);
  BisectionSearch search(Commits(10));
  history.Search(&search);
  EXPECT_EQ(search.state(), State::kSame);
  EXPECT_EQ(search.pairs(), 8);
  EXPECT_EQ(search.answer().probability, 0);
}

TEST(BisectionTest, TooMuchNoiseIsCannotTell) {
  NoisyHistory history(3, 0.02, 0.5, 7);
  BisectionSearch search(Commits(10));
  history.Search(&search);
  EXPECT_EQ(search.state(), State::kCannotTell);
}

TEST(BisectionTest, NeverMeasuresExcludedCommitsAndNamesTheGroup) {
  NoisyHistory history(5, 0.2, 0.01, 7);
  BisectionSearch search(Commits(10));
  for (const int commit : {4, 5, 6}) search.Exclude(commit);
  while (search.state() == State::kSearching) {
    const int next = search.next();
    EXPECT_TRUE(next < 4 || next > 6) << next;
    search.Add(next, history.Pair(next));
  }
  EXPECT_EQ(search.state(), State::kFound);
  EXPECT_EQ(search.answer().after, 3);
  EXPECT_EQ(search.answer().last, 7);
  EXPECT_EQ(search.CredibleSet(0.99), (std::vector<int>{4, 5, 6, 7}));
}

TEST(BisectionTest, OneCommitNeedsNoSearch) {
  NoisyHistory history(1, 0.2, 0.01, 7);
  BisectionSearch search(Commits(1));
  history.Search(&search);
  EXPECT_EQ(search.state(), State::kFound);
  EXPECT_EQ(search.answer().last, 1);
}

}  // namespace
}  // namespace feedrate
