#include "lib/audit/loader_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kLoaderItems = 20;

// Batches of four of a fixed shuffled order, which `by` turns.
BatchIds Epoch(int64_t by) {
  BatchIds epoch(kLoaderItems / 4);
  for (int64_t i = 0; i < kLoaderItems; ++i) {
    epoch[i / 4].push_back((7 * (i + by) + 3) % kLoaderItems);
  }
  return epoch;
}

BatchIds Part(const BatchIds& epoch, size_t first, size_t last) {
  return {epoch.begin() + first, epoch.begin() + last};
}

LoaderRun Good() {
  LoaderRun run;
  run.items = kLoaderItems;
  run.epochs = {Epoch(0), Epoch(5)};
  run.pieces = {Part(Epoch(0), 0, 2), Part(Epoch(0), 2, 3),
                Part(Epoch(0), 3, 5)};
  BatchIds even = Epoch(0), odd = Epoch(0);
  for (std::vector<int64_t>& batch : even) batch.resize(2);
  for (std::vector<int64_t>& batch : odd) {
    batch.erase(batch.begin(), batch.begin() + 2);
  }
  run.ranks = {{even, odd}};
  return run;
}

Audit Judged(const LoaderRun& run) {
  Audit audit;
  JudgeLoader(
      run, [](int64_t item) { return absl::StrCat("i", item); }, &audit);
  return audit;
}

std::string FaultsOf(const LoaderRun& run) {
  return absl::StrJoin(Judged(run).faults(), "\n");
}

TEST(LoaderRunTest, AGoodLoaderHasNoFault) {
  const Audit audit = Judged(Good());
  EXPECT_THAT(audit.faults(), IsEmpty());
  EXPECT_EQ(audit.coverage().epochs(), 2);
  EXPECT_EQ(audit.coverage().items(), kLoaderItems);
  EXPECT_EQ(audit.coverage().missing() + audit.coverage().duplicates(), 0);
  ASSERT_EQ(audit.resumes_size(), 2);
  EXPECT_EQ(audit.resumes(0).after_batches(), 2);
  EXPECT_EQ(audit.resumes(1).after_batches(), 3);
  ASSERT_EQ(audit.ranks_size(), 1);
  EXPECT_THAT(audit.ranks(0).batches(), ElementsAre(5, 5));
  EXPECT_EQ(audit.ranks(0).shared_items() + audit.ranks(0).missing(), 0);
}

TEST(LoaderRunTest, ItemsAreCountedAndNamed) {
  LoaderRun run = Good();
  run.epochs[0][1][0] = run.epochs[0][0][0];
  const Audit audit = Judged(run);
  EXPECT_THAT(audit.faults(0),
              "epoch 1: 1 of 20 items never seen (i11); 1 seen twice (i3)");
  EXPECT_THAT(audit.coverage().first_missing(), ElementsAre("i11"));
  EXPECT_THAT(audit.coverage().first_duplicates(), ElementsAre("i3"));
  EXPECT_EQ(audit.coverage().missing(), 1);
  EXPECT_EQ(audit.coverage().duplicates(), 1);
  // A remainder that fills no batch is a loss too.
  run = Good();
  run.epochs[1].pop_back();
  EXPECT_THAT(FaultsOf(run), HasSubstr("epoch 2: 4 of 20 items never seen"));
  run.epochs[1].clear();
  EXPECT_THAT(FaultsOf(run), HasSubstr("epoch 2: no item came"));
  EXPECT_EQ(Judged(run).coverage().missing(), kLoaderItems);
  // What cannot be read is not called missing, and prevents no verdict.
  run = Good();
  for (std::vector<int64_t>& batch : run.epochs[0]) {
    std::fill(batch.begin(), batch.end(), -1);
  }
  EXPECT_EQ(Judged(run).coverage().unreadable(), kLoaderItems);
  EXPECT_THAT(FaultsOf(run), Not(HasSubstr("epoch 1: 20 of")));
}

TEST(LoaderRunTest, Orders) {
  LoaderRun run = Good();
  run.epochs[1] = run.epochs[0];
  EXPECT_THAT(FaultsOf(run), "epoch 2 has the order of epoch 1");
}

TEST(LoaderRunTest, Ranks) {
  LoaderRun run = Good();
  run.ranks[0][1].pop_back();
  EXPECT_THAT(FaultsOf(run), HasSubstr("2 ranks: epoch 1: 2 of 20 items"));
  EXPECT_THAT(FaultsOf(run), HasSubstr("2 ranks: epoch 1: the ranks got 5, 4"));
  EXPECT_EQ(Judged(run).ranks(0).missing(), 2);
  // An item that fills the other's last batch is a fault of a loader.
  run = Good();
  run.ranks[0][1].back().back() = run.ranks[0][0].back().back();
  EXPECT_THAT(FaultsOf(run), HasSubstr("1 of them by two ranks"));
  EXPECT_EQ(Judged(run).ranks(0).shared_items(), 1);
  run.ranks[0][0].clear();
  EXPECT_THAT(FaultsOf(run), HasSubstr("2 ranks: rank 0 got no item"));
}

TEST(LoaderRunTest, ResumesThatLoseAndRepeat) {
  LoaderRun run = Good();
  run.pieces[2].erase(run.pieces[2].begin());
  EXPECT_THAT(FaultsOf(run),
              HasSubstr("4 of 20 items never seen after the second restart"));
  EXPECT_EQ(Judged(run).resumes(1).lost(), 4);
  run.pieces[2].clear();
  EXPECT_THAT(FaultsOf(run),
              HasSubstr("8 of 20 items never seen after the second restart"));
  run = Good();
  run.pieces[1] = Part(Epoch(0), 1, 3);
  EXPECT_THAT(FaultsOf(run), HasSubstr("epoch 1: 4 seen twice"));
  EXPECT_EQ(Judged(run).resumes(0).repeated_items(), 4);
  EXPECT_EQ(Judged(run).resumes(1).repeated_items(), 0);
  run.pieces.clear();
  EXPECT_THAT(Judged(run).resumes(), IsEmpty());
}

}  // namespace
}  // namespace feedrate
