#include "lib/audit/judge.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/audit/history.h"
#include "lib/audit/made_runs.h"
#include "lib/base/xoshiro.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Epoch 1, and epoch 2 until its 7th batch; the weights are those after the
// 5th; goes on with batch `next` of `order`.
Runs Killed(int64_t next, const std::vector<int64_t>& order = Shuffled(2)) {
  Runs runs;
  runs.Pass(Shuffled(1));
  runs.Pass(Shuffled(2), 0, 7, false);
  runs.Restart(15);
  runs.Pass(order, next);
  return runs;
}

TEST(JudgeTest, RightTrainingsPass) {
  EXPECT_THAT(FaultsOf(TwoEpochs()), IsEmpty());
  const Runs killed = Killed(5);
  EXPECT_THAT(FaultsOf(TwoEpochs(), &killed), IsEmpty());
  // Two batches that the weights forgot are no repetition.
  Audit audit;
  JudgeTraining(Items(), TwoEpochs().run, &killed.run, {}, &audit);
  ASSERT_EQ(audit.training().restarts_size(), 1);
  EXPECT_EQ(audit.training().restarts(0).after_batches(), 5);
  EXPECT_EQ(audit.verdict(), "pass");
}

TEST(JudgeTest, WhatProcessesCouldNotSeeIsAFewShortLines) {
  std::vector<AuditLine> lines;
  for (int i = 0; i < 1000; ++i) {
    AuditLine& line = lines.emplace_back();
    line.set_kind("problem");
    line.set_text(
        absl::StrCat(i, "\npass: all is well", std::string(5000, 'x')));
  }
  const Life life = LifeOf({lines});
  ASSERT_EQ(life.problems.size(), 20);
  EXPECT_THAT(life.problems[0], ::testing::StartsWith("0\\npass"));
  EXPECT_LT(life.problems[0].size(), 1100);
}

TEST(JudgeTest, RestartsThatLoseAndRepeat) {
  const Runs lost = Killed(7);
  EXPECT_THAT(FaultsOf(TwoEpochs(), &lost),
              ElementsAre("epoch 2: 20 of 100 items never seen after the "
                          "first restart"));
  const Runs again = Killed(3);
  EXPECT_THAT(FaultsOf(TwoEpochs(), &again),
              ElementsAre("epoch 2: 20 seen twice, all from the 20 samples "
                          "before the restart"));
  // The second epoch as the first, as accelerate resumed for two years.
  const Runs first = Killed(5, Shuffled(1));
  EXPECT_THAT(FaultsOf(TwoEpochs(), &first),
              ElementsAre(::testing::ContainsRegex(
                  "epoch 2: [0-9]+ of 100 items never seen after the first "
                  "restart; [0-9]+ seen twice")));
}

// Lightning leaves a loader that began a new order after the steps that the
// epoch lacked.
TEST(JudgeTest, ARestartThatLeavesItsLoaderHasLostItems) {
  Runs runs;
  runs.Pass(Shuffled(1));
  runs.Pass(Shuffled(2), 0, 7, false);
  runs.Restart(15);
  runs.Pass(Shuffled(3), 0, 5, false);
  EXPECT_THAT(FaultsOf(TwoEpochs(), &runs),
              ElementsAre(::testing::ContainsRegex(
                  "epoch 2: [0-9]+ of 100 items never seen after the first "
                  "restart; [0-9]+ seen twice")));
}

TEST(JudgeTest, ARestartThatIsRightOnceAndThenWrong) {
  Runs runs;
  runs.Pass(Shuffled(1));
  runs.Pass(Shuffled(2), 0, 5, false);
  runs.Restart(13);
  runs.Pass(Shuffled(2), 3, 7, false);
  runs.Restart(15);
  runs.Pass(Shuffled(2), 6);
  EXPECT_THAT(FaultsOf(TwoEpochs(), &runs),
              ElementsAre("epoch 2: 10 of 100 items never seen after the "
                          "second restart"));
}

// What a restart skips may reach beyond the end of the epoch.
TEST(JudgeTest, ARestartThatSkipsTheRestOfItsEpoch) {
  const auto restarted = [](bool trains_on) {
    const auto line = [](const char* kind, int64_t number) {
      AuditLine line;
      line.set_kind(kind);
      line.set_number(number);
      return line;
    };
    int64_t step = 0;
    const auto add_pass = [&](int64_t number, uint64_t seed, int64_t batches,
                              bool ends, std::vector<AuditLine>* lines) {
      lines->push_back(line("pass", number));
      const std::vector<int64_t> order = Shuffled(seed);
      for (int64_t i = 0; i < batches * kBatch; ++i) {
        if (i % kBatch == 0) {
          lines->push_back(line("batch", number));
          lines->back().set_training(true);
          lines->back().set_weights(++step);
        }
        lines->back().add_ids(order[i]);
      }
      if (ends) lines->push_back(line("end", number));
    };
    std::vector<AuditLine> first, second;
    Runs run;
    add_pass(1, 1, 10, true, &first);
    add_pass(2, 2, 9, false, &first);
    add_pass(1, 2, 0, true, &second);
    if (trains_on) add_pass(2, 3, 10, true, &second);
    run.run.lives.push_back(LifeOf({first}));
    run.run.lives.push_back(LifeOf({second}));
    return run;
  };
  for (const bool trains_on : {true, false}) {
    Runs whole = TwoEpochs();
    if (trains_on) whole.Pass(Shuffled(3));
    const Runs killed = restarted(trains_on);
    EXPECT_THAT(FaultsOf(whole, &killed),
                ElementsAre("epoch 2: 10 of 100 items never seen after the "
                            "first restart"));
  }
}

TEST(JudgeTest, ARankThatWentOnSaysThatTheEpochWasWhole) {
  // The first rank is killed between its last batch and the next epoch.
  const auto half = [](uint64_t seed, size_t rank) {
    const std::vector<int64_t> all = Shuffled(seed);
    const auto middle = all.begin() + kItems / 2;
    return rank == 0 ? std::vector<int64_t>(all.begin(), middle)
                     : std::vector<int64_t>(middle, all.end());
  };
  Runs whole, killed;
  for (size_t rank : {0, 1}) {
    whole.rank_index = killed.rank_index = rank;
    whole.weights = killed.weights = 0;
    for (uint64_t seed : {1, 2}) whole.Pass(half(seed, rank));
    killed.Pass(half(1, rank), 0, -1, rank == 1);
    killed.rank().end_weights = killed.weights + 1;
  }
  killed.Pass(half(2, 1), 0, 1, false);
  killed.rank_index = 0;
  killed.Restart(5);
  for (size_t rank : {0, 1}) {
    killed.rank_index = rank;
    killed.weights = 5;
    killed.Pass(half(2, rank));
  }
  EXPECT_THAT(FaultsOf(whole, &killed), IsEmpty());
}

TEST(JudgeTest, ARestartWithUnknownWeightsCannotBeJudged) {
  Runs runs = Killed(5);
  runs.run.lives[1].ranks[0].training[0].weights = 999;
  Audit audit;
  JudgeTraining(Items(), TwoEpochs().run, &runs.run, {}, &audit);
  // What it began with may be the rest of an epoch.
  EXPECT_THAT(audit.faults(), IsEmpty());
  EXPECT_EQ(audit.verdict(), "");
  EXPECT_THAT(audit.reason(), HasSubstr("the weights of no earlier step"));
}

TEST(JudgeTest, ATrainingThatEndsEarlyAfterARestart) {
  Runs three = TwoEpochs();
  three.Pass(Shuffled(3));
  const Runs two = Killed(5);
  EXPECT_THAT(FaultsOf(three, &two),
              ElementsAre("the training ended after 2 of 3 epochs once it was "
                          "restarted"));
}

// A training that says where it is by its steps, and saves when it is told to
// end.
TEST(HistoryTest, AStepThatWasCountedIsRemembered) {
  const auto line = [](int64_t step) {
    AuditLine batch;
    batch.set_kind("batch");
    batch.set_training(true);
    batch.set_weights(step + 1);
    batch.add_ids(step);
    return batch;
  };
  TrainingRun run;
  run.lives.push_back(LifeOf({{line(0), line(1)}}));
  run.lives.push_back(LifeOf({{line(2)}}));
  const History history = HistoryOf(run, 3);
  EXPECT_EQ(history.restarts[0].reason, "");
  EXPECT_EQ(history.restarts[0].steps_lost, 0);
  EXPECT_EQ(history.epochs.size(), 1u);
}

// Without a word where epochs begin, as many samples are one.
TEST(HistoryTest, EpochsOfLoadersThatSayNothing) {
  const auto windows = [](int64_t samples, bool drop_last) {
    Runs runs;
    std::vector<int64_t> all;
    for (const uint64_t seed : {1, 2, 3}) {
      std::vector<int64_t> order = Shuffled(seed);
      if (drop_last) order.resize(samples);
      all.insert(all.end(), order.begin(), order.end());
    }
    for (size_t at = 0; at + 7 <= all.size(); at += 7) {
      SeenBatch batch;
      batch.weights = ++runs.weights;
      batch.ids.assign(all.begin() + at, all.begin() + at + 7);
      runs.rank().training.push_back(batch);
    }
    return runs;
  };
  // Batches of 7 have samples of two epochs.
  const Runs whole = windows(kItems, false);
  EXPECT_EQ(EpochSamples(whole.run, kItems), kItems);
  EXPECT_THAT(FaultsOf(whole), IsEmpty());
  Runs repeats = windows(kItems, false);
  repeats.rank().training[3].ids[0] = repeats.rank().training[2].ids[0];
  EXPECT_THAT(FaultsOf(repeats),
              ::testing::Contains(HasSubstr("1 seen twice")));
  // The last 2 items of each epoch fill no batch.
  const Runs drops = windows(98, true);
  EXPECT_EQ(EpochSamples(drops.run, kItems), 98);
  EXPECT_THAT(FaultsOf(drops), IsEmpty());
}

// Three ranks share steps of 21, of which the fifth ends an epoch of 100.
TEST(JudgeTest, RanksOfLoadersThatSayNothing) {
  const auto faults = [](bool is_equal) {
    std::vector<int64_t> all;
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<int64_t> order = Shuffled(seed);
      all.insert(all.end(), order.begin(), order.end());
    }
    Runs runs;
    for (runs.rank_index = 0; runs.rank_index < 3; ++runs.rank_index) {
      for (size_t at = 0; at + 21 <= 294; at += 21) {
        SeenBatch batch;
        batch.weights = static_cast<int64_t>(at) + 1;
        const auto first = all.begin() + at + 7 * runs.rank_index;
        batch.ids.assign(first, first + 7);
        runs.rank().training.push_back(batch);
      }
    }
    if (!is_equal) runs.run.lives[0].ranks[2].training.pop_back();
    return FaultsOf(runs);
  };
  EXPECT_THAT(faults(true), IsEmpty());
  EXPECT_THAT(faults(false),
              ::testing::Contains(HasSubstr("the ranks got 14, 14, 13")));
}

TEST(JudgeTest, MixedImagesShareTheItemsOfABatch) {
  Runs runs = TwoEpochs();
  for (SeenBatch& batch : runs.rank().training) {
    batch.seconds = batch.ids;
    std::reverse(batch.seconds.begin(), batch.seconds.end());
    // The hook names the image first that has the larger share of the mix.
    for (size_t i = 0; i < batch.ids.size() / 2; ++i) {
      std::swap(batch.ids[i], batch.seconds[i]);
    }
  }
  EXPECT_THAT(FaultsOf(runs), IsEmpty());
  runs.rank().training[2].seconds[0] = runs.rank().training[0].ids[0];
  EXPECT_THAT(FaultsOf(runs), ElementsAre("epoch 1: 1 seen twice"));
}

TEST(JudgeTest, WeightsOfAMixture) {
  AuditItems items = Items();
  items.add_sources(40);
  items.add_sources(60);
  Xoshiro256 random(1);
  Runs runs;
  std::vector<int64_t> ids;
  for (int i = 0; i < 2000; ++i) {
    ids.push_back(static_cast<int64_t>(
        random.Below(10) < 7 ? random.Below(40) : 40 + random.Below(60)));
  }
  runs.Pass(ids);
  const auto faults = [&](const std::vector<double>& weights) {
    Audit audit;
    JudgeTraining(items, runs.run, nullptr, {weights, false, nullptr}, &audit);
    return std::vector<std::string>(audit.faults().begin(),
                                    audit.faults().end());
  };
  EXPECT_THAT(faults({0.7, 0.3}), IsEmpty());
  EXPECT_THAT(faults({0.6, 0.4}),
              ElementsAre(HasSubstr("source 1 of the mixture has"),
                          HasSubstr("source 2 of the mixture has")));
}

TEST(JudgeTest, MissingAndRepeatedItems) {
  Runs missing = TwoEpochs();
  missing.rank().training[3].ids.pop_back();
  EXPECT_THAT(FaultsOf(missing),
              ElementsAre("epoch 1: 1 of 100 items never seen"));
  Runs repeated = TwoEpochs();
  repeated.rank().training[3].ids.push_back(repeated.rank().training[0].ids[0]);
  EXPECT_THAT(FaultsOf(repeated), ElementsAre("epoch 1: 1 seen twice"));
  // What cannot be read is not called missing.
  Runs unreadable = TwoEpochs();
  unreadable.rank().training[3].ids[0] = -1;
  EXPECT_THAT(FaultsOf(unreadable), IsEmpty());
}

TEST(JudgeTest, DroppedRemaindersAreNoFaultUnlessARestartDropsMore) {
  Runs whole;
  whole.drop_last = true;
  whole.Pass(Shuffled(1), 0, 9);
  EXPECT_THAT(FaultsOf(whole), ElementsAre("epoch 1: 10 of 100 items never "
                                           "seen"));
  // Fewer than a batch.
  Runs few;
  few.drop_last = true;
  for (const uint64_t seed : {1, 2}) {
    few.Pass(Shuffled(seed));
    few.rank().training.back().ids.resize(1);
  }
  EXPECT_THAT(FaultsOf(few), IsEmpty());
  few.run.lives[0].ranks[0].passes[0].drop_last = false;
  EXPECT_THAT(FaultsOf(few), ElementsAre("epoch 1: 9 of 100 items never seen"));
  // The whole run has them all.
  Runs full, killed;
  full.drop_last = killed.drop_last = true;
  full.Pass(Shuffled(1));
  killed.Pass(Shuffled(1), 0, 6, false);
  killed.Restart(5);
  killed.Pass(Shuffled(1), 5);
  killed.rank().training.back().ids.resize(7);
  EXPECT_THAT(FaultsOf(full, &killed),
              ElementsAre("epoch 1: 3 of 100 items never seen after the first "
                          "restart"));
}

TEST(JudgeTest, ALoaderThatKeepsItsRestDropsNone) {
  const auto with = [](bool keeps_rest) {
    Runs whole, killed;
    whole.Pass(Shuffled(1));
    if (keeps_rest) {
      SeenBatch& last = whole.rank().training.back();
      SeenBatch rest = last;
      rest.weights = ++whole.weights;
      rest.ids.resize(5);
      last.ids.erase(last.ids.begin(), last.ids.begin() + 5);
      whole.rank().training.push_back(rest);
    }
    // The rest would fill no batch of two ranks.
    killed.Pass(Shuffled(1), 0, 9, false);
    killed.Restart(9);
    killed.Pass({});
    killed.rank().passes[0].empty = true;
    killed.run.lives[1].ranks.resize(2);
    return FaultsOf(whole, &killed);
  };
  EXPECT_THAT(with(false), IsEmpty());
  EXPECT_THAT(with(true), ElementsAre("epoch 1: 10 of 100 items never seen "
                                      "after the first restart"));
}

TEST(JudgeTest, WhatLooksLikeDropLastIsSaid) {
  const auto notes = [](absl::optional<bool> drop_last) {
    Runs runs;
    runs.drop_last = drop_last;
    std::vector<int64_t> order = Shuffled(1);
    // One item fills no batch of 9.
    order.pop_back();
    SeenBatch batch;
    runs.Pass({});
    batch.pass = 1;
    for (const int64_t id : order) {
      batch.ids.push_back(id);
      if (batch.ids.size() < 9) continue;
      batch.weights = ++runs.weights;
      runs.rank().training.push_back(batch);
      batch.ids.clear();
    }
    Audit audit;
    JudgeTraining(Items(), runs.run, nullptr, {}, &audit);
    EXPECT_EQ(audit.verdict(), "pass");
    return absl::StrJoin(audit.notes(), "\n");
  };
  EXPECT_THAT(notes(absl::nullopt), HasSubstr("or a loss that looks like it"));
  EXPECT_THAT(notes(true), Not(HasSubstr("or a loss")));
}

TEST(JudgeTest, Orders) {
  Runs same;
  same.Pass(Shuffled(1));
  same.Pass(Shuffled(1));
  EXPECT_THAT(FaultsOf(same), ElementsAre("epoch 2 has the order of epoch 1"));
  std::vector<int64_t> files(kItems);
  std::iota(files.begin(), files.end(), 0);
  Runs sorted;
  sorted.Pass(files);
  sorted.Pass(files);
  EXPECT_THAT(FaultsOf(sorted),
              ElementsAre("items come in the order of the files: not "
                          "shuffled"));
}

TEST(JudgeTest, Ranks) {
  const std::vector<int64_t> all = Shuffled(1);
  const std::vector<int64_t> half(all.begin(), all.begin() + 50);
  const std::vector<int64_t> rest(all.begin() + 50, all.end());
  EXPECT_THAT(FaultsOf(Ranks({half, rest})), IsEmpty());
  // A third of the items each, and two of them again so that all have 34.
  const auto part = [&](int64_t first) {
    std::vector<int64_t> ids;
    for (int64_t i = first; i < 102; i += 3) ids.push_back(all[i % 100]);
    return ids;
  };
  EXPECT_THAT(FaultsOf(Ranks({part(0), part(1), part(2)})), IsEmpty());
  // Two ranks need none.
  std::vector<int64_t> padded = rest, longer = half;
  padded.push_back(all[0]);
  longer.push_back(all[1]);
  EXPECT_THAT(FaultsOf(Ranks({longer, padded})),
              ElementsAre(HasSubstr("2 seen twice")));
  EXPECT_THAT(FaultsOf(Ranks({half, padded})),
              ::testing::Contains("epoch 1: the ranks got 5, 6 batches; a step "
                                  "that waits for all of them hangs"));
  EXPECT_THAT(FaultsOf(Ranks({all, all})),
              ::testing::Contains("epoch 1: rank 1 saw the same items as rank "
                                  "0, in the same order"));
  // Each rank shuffles the whole set for itself.
  EXPECT_THAT(FaultsOf(Ranks({all, Shuffled(2)})),
              ::testing::Contains(HasSubstr("100 of them by two ranks")));
}

TEST(JudgeTest, LabelsOfOtherItems) {
  Runs runs = TwoEpochs();
  std::swap(runs.rank().training[2].labels[0],
            runs.rank().training[2].labels[1]);
  const bool equal =
      runs.rank().training[2].labels[0] == runs.rank().training[2].labels[1];
  EXPECT_EQ(FaultsOf(runs).empty(), equal);
  runs.rank().training[2].labels[0] = (runs.rank().training[2].ids[0] + 1) % 10;
  EXPECT_THAT(absl::StrJoin(FaultsOf(runs), "\n"),
              HasSubstr("have the label of another item"));
}

TEST(JudgeTest, Validation) {
  const auto with = [](const std::vector<int64_t>& ids, bool ended) {
    Runs runs = TwoEpochs();
    SeenPass pass;
    pass.number = 9;
    pass.ended = ended;
    SeenBatch batch;
    batch.pass = 9;
    batch.ids = ids;
    runs.rank().passes.push_back(pass);
    runs.rank().evaluation.push_back(batch);
    return runs;
  };
  std::vector<int64_t> ids(20);
  std::iota(ids.begin(), ids.end(), kItems);
  EXPECT_THAT(FaultsOf(with(ids, true)), IsEmpty());
  ids.back() = ids.front();
  EXPECT_THAT(FaultsOf(with(ids, true)),
              ElementsAre("validation: 1 of 20 items never seen",
                          "validation: 1 item seen more than once"));
  // Lightning looks at two batches before it trains.
  EXPECT_THAT(FaultsOf(with({kItems}, false)), IsEmpty());
}

TEST(JudgeTest, ValidationItemsInTraining) {
  Runs runs = TwoEpochs();
  runs.rank().training[0].ids.push_back(kItems + 3);
  EXPECT_THAT(FaultsOf(runs), ElementsAre("epoch 1: 1 sample of the validation "
                                          "set was trained on"));
}

TEST(JudgeTest, TooLittleReadableIsNoVerdict) {
  Runs runs;
  runs.Pass(std::vector<int64_t>(kItems, -1));
  Audit audit;
  JudgeTraining(Items(), runs.run, nullptr, {}, &audit);
  EXPECT_EQ(audit.verdict(), "");
  EXPECT_THAT(audit.reason(), HasSubstr("show no item"));
}

TEST(DrawsTest, RepeatedDrawsAreFound) {
  const auto with = [](std::function<int64_t()> draw) {
    Runs runs;
    runs.draw = std::move(draw);
    for (const uint64_t seed : {1, 2}) runs.Pass(Shuffled(seed));
    return FaultsOf(runs);
  };
  Xoshiro256 random(1);
  const auto any = [&random] {
    return static_cast<int64_t>(random.Below(1 << 24));
  };
  EXPECT_THAT(with(any), IsEmpty());
  // Not augmented.
  EXPECT_THAT(with([] { return 0x808080; }), IsEmpty());
  // Two loader workers with the same seed: each second batch repeats one.
  std::vector<int64_t> batch;
  int64_t count = 0;
  EXPECT_THAT(absl::StrJoin(with([&] {
                              const int64_t at = count++ % (2 * kBatch);
                              if (at == 0) batch.clear();
                              if (at < kBatch) batch.push_back(any());
                              return batch[at % kBatch];
                            }),
                            "\n"),
              HasSubstr("loader workers repeat the same augmentation draws"));
  // Each epoch has the draws of the first.
  std::vector<int64_t> epoch;
  count = 0;
  EXPECT_THAT(absl::StrJoin(with([&] {
                              const int64_t at = count++ % kItems;
                              if (count <= kItems) epoch.push_back(any());
                              return epoch[at];
                            }),
                            "\n"),
              HasSubstr("draws of an epoch repeat those of another one"));
  // An item is augmented as its number says.
  std::vector<int64_t> of_item(kItems);
  for (int64_t& draw : of_item) draw = any();
  std::vector<int64_t> order = Shuffled(1);
  for (const int64_t id : Shuffled(2)) order.push_back(id);
  count = 0;
  EXPECT_THAT(with([&] { return of_item[order[count++]]; }),
              ElementsAre(HasSubstr("augmented the same way in each epoch")));
}

}  // namespace
}  // namespace feedrate
