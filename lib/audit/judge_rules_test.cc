// What an audit says about ranks, validation and the rest of a training, rule
// by rule.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/audit/history.h"
#include "lib/audit/judge.h"
#include "lib/audit/made_runs.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The batches of rank 0 of two; what the other process wrote is `other`.
std::vector<std::string> FaultsBesideRank0(std::vector<AuditLine> other,
                                           int world_size = 2) {
  std::vector<AuditLine> lines(1);
  lines[0].set_kind("pass");
  lines[0].set_number(1);
  for (const int64_t id : Shuffled(1)) {
    AuditLine& line = lines.emplace_back();
    line.set_kind("batch");
    line.set_training(true);
    line.set_number(1);
    line.set_world_size(world_size);
    line.set_weights(static_cast<int64_t>(lines.size()));
    line.add_ids(id);
  }
  lines.emplace_back().set_kind("end");
  lines.back().set_number(1);
  Runs runs;
  runs.run.lives.push_back(LifeOf({lines, std::move(other)}));
  return FaultsOf(runs);
}

TEST(JudgeTest, RanksWithoutABatch) {
  std::vector<AuditLine> other(1);
  other[0].set_kind("pass");
  other[0].set_number(1);
  EXPECT_THAT(FaultsBesideRank0(other),
              ElementsAre("epoch 1: the ranks got 100, 0 batches; a step that "
                          "waits for all of them hangs"));
  const auto many = FaultsBesideRank0(other, 60000);
  ASSERT_EQ(many.size(), 1);
  EXPECT_THAT(many[0], ::testing::HasSubstr("100, 0, 0"));
  EXPECT_THAT(many[0], ::testing::HasSubstr("0, ... batches"));
  EXPECT_LT(many[0].size(), 200);
  // What it got may be a batch that the hook cannot read.
  other.emplace_back().set_kind("problem");
  EXPECT_THAT(FaultsBesideRank0(other), IsEmpty());
}

// Validation by ranks, each of which got these items.
Runs Validated(const std::vector<std::vector<int64_t>>& ranks) {
  Runs runs;
  for (const std::vector<int64_t>& ids : ranks) {
    const std::vector<int64_t> all = Shuffled(1);
    const size_t r = runs.rank_index;
    runs.weights = 0;
    runs.Pass({all.begin() + r * all.size() / ranks.size(),
               all.begin() + (r + 1) * all.size() / ranks.size()});
    SeenPass pass;
    pass.number = 9;
    pass.ended = true;
    runs.rank().passes.push_back(pass);
    for (size_t at = 0; at < ids.size(); at += 4) {
      SeenBatch batch;
      batch.pass = 9;
      batch.ids.assign(ids.begin() + at,
                       ids.begin() + std::min(ids.size(), at + 4));
      runs.rank().evaluation.push_back(batch);
    }
    ++runs.rank_index;
  }
  return runs;
}

TEST(JudgeTest, ASplitOfTheTrainingsOwn) {
  const std::vector<int64_t> all = Shuffled(1);
  const std::vector<int64_t> kept(all.begin(), all.begin() + 80);
  // Trains on 80 items and evaluates `evaluated`.
  const auto run = [&](std::vector<int64_t> evaluated) {
    Runs runs;
    runs.Pass(kept);
    SeenBatch batch;
    batch.pass = 9;
    batch.ids = std::move(evaluated);
    runs.rank().evaluation.push_back(batch);
    return runs;
  };
  const Runs split = run({all.begin() + 80, all.end()});
  EXPECT_THAT(FaultsOf(split), IsEmpty());
  Audit audit;
  JudgeTraining(Items(), split.run, nullptr, {}, &audit);
  EXPECT_THAT(absl::StrJoin(audit.notes(), "\n"),
              HasSubstr("20 items of train/ only evaluated"));
  // Items of neither, and an evaluation of what was trained on.
  EXPECT_THAT(FaultsOf(run({all.begin() + 91, all.end()})),
              ElementsAre("epoch 1: 11 of 91 items never seen"));
  EXPECT_THAT(FaultsOf(run({all.begin() + 79, all.end()})),
              ElementsAre("epoch 1: 20 of 100 items never seen"));
  // Another split after a restart.
  Runs other = run({});
  other.Restart(4);
  other.Pass({all.begin() + 60, all.end()}, 0);
  EXPECT_THAT(FaultsOf(split, &other),
              ::testing::Contains(
                  HasSubstr("20 samples of the validation set were trained")));
}

TEST(JudgeTest, ValidationByRanks) {
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), kItems);
  const std::vector<int64_t> half(all.begin(), all.begin() + 10);
  const std::vector<int64_t> rest(all.begin() + 10, all.end());
  EXPECT_THAT(FaultsOf(Validated({half, rest})), IsEmpty());
  // Each rank validates all.
  EXPECT_THAT(FaultsOf(Validated({all, all})), IsEmpty());
  // Only the first rank validates, and misses one.
  EXPECT_THAT(FaultsOf(Validated({half, {}})), IsEmpty());
  EXPECT_THAT(FaultsOf(Validated({half, half})),
              ::testing::Contains("validation: 10 of 20 items never seen"));
  // The last batches have one item each that fills them.
  std::vector<int64_t> odd = rest, even = half;
  odd.push_back(kItems);
  even.push_back(kItems + 10);
  EXPECT_THAT(FaultsOf(Validated({even, odd})),
              ElementsAre("validation: 2 items seen more than once"));
  // 20 items are no multiple of three.
  std::vector<std::vector<int64_t>> thirds(3);
  for (int64_t i = 0; i < 21; ++i) thirds[i % 3].push_back(all[i % 20]);
  Audit audit;
  JudgeTraining(Items(), Validated(thirds).run, nullptr, {}, &audit);
  EXPECT_EQ(audit.verdict(), "pass");
  EXPECT_THAT(absl::StrJoin(audit.notes(), "\n"),
              HasSubstr("validation counts 1 item twice"));
}

std::string NotesOf(const Runs& whole, const Runs* killed = nullptr) {
  Audit audit;
  JudgeTraining(Items(), whole.run, killed == nullptr ? nullptr : &killed->run,
                {}, &audit);
  EXPECT_THAT(audit.faults(), IsEmpty());
  return absl::StrJoin(audit.notes(), "\n");
}

TEST(JudgeTest, WhatIsNoFaultIsSaid) {
  EXPECT_EQ(NotesOf(TwoEpochs()),
            "validation was not judged: no whole pass over its items was seen");
  Runs unlabeled = TwoEpochs();
  for (SeenBatch& batch : unlabeled.rank().training) batch.labels.clear();
  EXPECT_THAT(NotesOf(unlabeled),
              HasSubstr("labels were not judged: none was seen"));
  // The training leaves its loader and begins the next epoch.
  Runs left;
  left.Pass(Shuffled(1), 0, 4, false);
  left.Pass(Shuffled(2));
  EXPECT_THAT(NotesOf(left), HasSubstr("epoch 1: the training left its loader "
                                       "after 40 samples"));
  Runs drawn = TwoEpochs();
  drawn.rank().passes[0].replacement = true;
  drawn.rank().training[3] = drawn.rank().training[2];
  EXPECT_THAT(NotesOf(drawn), HasSubstr("draws with replacement"));
  Runs scratch;
  scratch.Pass(Shuffled(1), 0, 7, false);
  scratch.Restart(0);
  scratch.Pass(Shuffled(1));
  scratch.Pass(Shuffled(2));
  const Runs whole = TwoEpochs();
  EXPECT_THAT(NotesOf(whole, &scratch),
              HasSubstr("the first restart began from scratch: 7 steps of "
                        "training were lost"));
  Runs other;
  other.Pass(Shuffled(3));
  other.Pass(Shuffled(2));
  EXPECT_THAT(NotesOf(whole, &other),
              HasSubstr("two runs of the command saw the items in different "
                        "orders"));
  Runs unreadable = TwoEpochs();
  unreadable.rank().training[3].ids[0] = -1;
  EXPECT_THAT(NotesOf(unreadable), HasSubstr("1 of 200 samples show no item"));
}

TEST(JudgeTest, LoadersAloneAreJudgedStrictly) {
  std::vector<int64_t> all = Shuffled(1);
  const auto part = [&](int64_t first) {
    std::vector<int64_t> ids;
    for (int64_t i = first; i < 102; i += 3) ids.push_back(all[i % 100]);
    return ids;
  };
  const Runs padded = Ranks({part(0), part(1), part(2)});
  const auto audited = [&](bool is_strict) {
    Audit audit;
    JudgeTraining(Items(), padded.run, nullptr,
                  {{},
                   is_strict,
                   [](int64_t item) { return "item-" + std::to_string(item); }},
                  &audit);
    return audit;
  };
  EXPECT_EQ(audited(false).verdict(), "pass");
  const Audit audit = audited(true);
  const std::string first = std::to_string(std::min(all[0], all[1]));
  const std::string second = std::to_string(std::max(all[0], all[1]));
  EXPECT_THAT(audit.faults(),
              ElementsAre("epoch 1: 2 seen twice, 2 of them by two ranks "
                          "(item-" +
                          first + ", item-" + second + ")"));
  EXPECT_THAT(audit.coverage().first_duplicates(),
              ElementsAre("item-" + first, "item-" + second));
}

TEST(JudgeTest, WaitAndMemory) {
  Runs runs = TwoEpochs();
  for (size_t i = 0; i < runs.rank().training.size(); ++i) {
    SeenBatch& batch = runs.rank().training[i];
    batch.time_s = static_cast<double>(i);
    batch.wait_s = 0.25;
    batch.rss_bytes = 1000 + static_cast<int64_t>(i);
  }
  Audit audit;
  JudgeTraining(Items(), runs.run, nullptr, {}, &audit);
  EXPECT_DOUBLE_EQ(audit.training().wait_share(), 0.25);
  EXPECT_EQ(audit.training().first_rss_bytes(), 1000);
  EXPECT_EQ(audit.training().last_rss_bytes(), 1019);
  EXPECT_EQ(audit.training().samples(), 200);
}

}  // namespace
}  // namespace feedrate
