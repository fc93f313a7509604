#include "lib/runner/eval/eval_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ProbeTest, ScoresByAnswerAndByPattern) {
  const EvalProbe probe = *ParseProbe(
      "{\"prompt\":\"1 plus 1 is \",\"answer\":\"2\"}\n"
      "\n"
      "{\"prompt\":\"a word: \",\"pattern\":\"[a-z]+\"}\n",
      "x/sums_2.jsonl");
  EXPECT_EQ(probe.name, "sums_2");
  const ProbeResult result = ScoreProbe(probe, {" 2", "two words"});
  EXPECT_EQ(result.correct(), 1);
  EXPECT_DOUBLE_EQ(result.accuracy(), 50);
  EXPECT_THAT(result.answers(), ElementsAre(" 2", "two words"));
  EXPECT_TRUE(IsRight(probe.items[1], "word"));
  EXPECT_FALSE(IsRight(probe.items[0], "22"));
}

std::string Mistake(const std::string& line) {
  return std::string(ParseProbe(line, "p.jsonl").status().message());
}

TEST(ProbeTest, MistakesHaveTheirPlace) {
  EXPECT_THAT(Mistake("{\"prompt\":\"a\",\"answer\":\"b\"}\nnonsense"),
              HasSubstr("p.jsonl:2: is no JSON"));
  EXPECT_THAT(Mistake("{\"answer\":\"b\"}"), HasSubstr("no `prompt`"));
  EXPECT_THAT(Mistake("{\"prompt\":\"a\"}"), HasSubstr("either"));
  EXPECT_THAT(Mistake("{\"prompt\":\"a\",\"pattern\":\"(\"}"),
              HasSubstr("not a regular expression"));
  EXPECT_THAT(Mistake(""), HasSubstr("no question"));
}

std::string WithPattern(const std::string& pattern) {
  return "{\"prompt\":\"a\",\"pattern\":\"" + pattern + "\"}";
}

TEST(ProbeTest, NoPatternEndsTheStackOrTakesForEver) {
  EXPECT_THAT(Mistake(WithPattern(std::string(200000, '('))),
              HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(Mistake(WithPattern("(a*)*\\\\1")),
              HasSubstr("not a regular expression"));
  const auto probe = ParseProbe(WithPattern("(a*)*(a|aa)*(.*)*b"), "p.jsonl");
  ASSERT_TRUE(probe.ok());
  EXPECT_FALSE(IsRight(probe->items[0], std::string(24, 'a')));
  EXPECT_TRUE(IsRight(probe->items[0], "aab"));
}

Eval Known() {
  Eval eval;
  eval.set_model("m");
  eval.set_perplexity(2);
  eval.set_probe_accuracy(60);
  ProbeResult* const probe = eval.add_probes();
  probe->set_name("sums");
  probe->set_accuracy(40);
  return eval;
}

TEST(ExpectationTest, NamesWhatDiffers) {
  EXPECT_THAT(*CompareWithExpectation(
                  Known(), "{\"perplexity\":{\"value\":2.1,\"tolerance\":0.2}}",
                  "e.json"),
              IsEmpty());
  EXPECT_THAT(*CompareWithExpectation(
                  Known(),
                  "{\"perplexity\":{\"value\":2.3,\"tolerance\":0.2},"
                  "\"probes.sums\":{\"value\":50,\"tolerance\":5}}",
                  "e.json"),
              ElementsAre("perplexity is 2, expected 2.3 within 0.2",
                          "probes.sums is 40, expected 50 within 5"));
}

TEST(ExpectationTest, NoNumberIsNeverAsExpected) {
  Eval eval = Known();
  eval.set_perplexity(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(CompareWithExpectation(
                eval, "{\"perplexity\":{\"value\":2,\"tolerance\":9}}", "e")
                ->size(),
            1);
}

TEST(ExpectationTest, UnknownNumbersAreRefused) {
  EXPECT_FALSE(CompareWithExpectation(
                   Known(), "{\"perplex\":{\"value\":2,\"tolerance\":1}}", "e")
                   .ok());
  EXPECT_FALSE(CompareWithExpectation(Known(), "{\"loss\":2}", "e").ok());
  EXPECT_FALSE(CompareWithExpectation(Known(), "[]", "e").ok());
  EXPECT_FALSE(CompareWithExpectation(Known(), "{}", "e").ok());
}

TEST(ExpectationTest, JsonIsFlat) {
  const std::string json = EvalJson(Known(), "box");
  EXPECT_THAT(json, HasSubstr("\"machine_profile\": \"box\""));
  EXPECT_THAT(json, HasSubstr("\"probes.sums\": 40"));
}

}  // namespace
}  // namespace feedrate
