#include "lib/adapters/worker/params.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const Params& params) {
  return std::string(params.Finish().message());
}

TEST(ParamsTest, ReadsEveryKindOfValue) {
  Params params({"n=-0.5", "i=3", "b=True", "t=L of Lab", "q=\"a=b\"",
                 "tuple=(1, 2.5,3)", "one=(7,)", "u=U(-20,20)", "fixed=1.2",
                 "k=uniform(0,3)", "c=uniform{3,5,7}", "w=INTER_LINEAR"});
  EXPECT_EQ(params.Number("n"), -0.5);
  EXPECT_EQ(params.Integer("i"), 3);
  EXPECT_TRUE(params.Boolean("b"));
  EXPECT_EQ(params.Text("t"), "L of Lab");
  EXPECT_EQ(params.Text("q"), "a=b");
  EXPECT_TRUE(params.IsTuple("tuple"));
  EXPECT_FALSE(params.IsTuple("n"));
  EXPECT_FALSE(params.IsTuple("missing"));
  EXPECT_THAT(params.Tuple("tuple", 3), ElementsAre(1, 2.5, 3));
  EXPECT_THAT(params.Tuple("one", 1), ElementsAre(7));
  const Range drawn = params.Draw("u");
  EXPECT_EQ(drawn.low, -20);
  EXPECT_EQ(drawn.high, 20);
  EXPECT_TRUE(params.Draw("fixed").fixed());
  EXPECT_EQ(params.DrawInteger("k").high, 3);
  EXPECT_THAT(params.Choices("c"), ElementsAre(3, 5, 7));
  EXPECT_EQ(params.Word("w", {{"INTER_NEAREST", 0}, {"INTER_LINEAR", 1}}), 1);
  EXPECT_TRUE(params.Finish().ok()) << params.Finish();
}

TEST(ParamsTest, NoneIsAbsenceAndCountsAsRead) {
  Params params({"fill=None", "scale=2"});
  EXPECT_FALSE(params.Has("fill"));
  EXPECT_EQ(params.NumberOr("scale", 1), 2);
  EXPECT_EQ(params.NumberOr("rotate", 0), 0);
  EXPECT_EQ(params.DrawOr("shear", 0).high, 0);
  EXPECT_TRUE(params.Finish().ok()) << params.Finish();
}

TEST(ParamsTest, WhatNobodyReadsIsAMistake) {
  Params params({"bits=4", "p=1"});
  EXPECT_EQ(params.Integer("bits"), 4);
  EXPECT_EQ(Message(params), "parameter p=1 is not known to this operation");
}

TEST(ParamsTest, KeepsTheFirstMistakeAndGoesOn) {
  Params params({"size=(512,x)", "bits=4.5"});
  EXPECT_THAT(params.Tuple("size", 2), ElementsAre(512, 0));
  EXPECT_EQ(params.Integer("bits"), 0);
  EXPECT_EQ(Message(params), "parameter size=(512,x): \"x\" is not a number");
}

TEST(ParamsTest, NamesTheParameterAndTheRemedy) {
  const auto message = [](const char* param, auto read) {
    Params params({param});
    read(&params);
    return Message(params);
  };
  EXPECT_EQ(message("a=1", [](Params* p) { p->Number("b"); }),
            "parameter b is missing");
  EXPECT_THAT(message("a=1.5", [](Params* p) { p->Integer("a"); }),
              HasSubstr("a=1.5: must be a whole number"));
  EXPECT_THAT(message("a=1e30", [](Params* p) { p->Integer("a"); }),
              HasSubstr("whole number"));
  EXPECT_THAT(message("a=inf", [](Params* p) { p->Number("a"); }),
              HasSubstr("not a number"));
  EXPECT_THAT(message("a=U(2,1)", [](Params* p) { p->Draw("a"); }),
              HasSubstr("U(low,high)"));
  EXPECT_THAT(
      message("a=uniform(0,1.5)", [](Params* p) { p->DrawInteger("a"); }),
      HasSubstr("uniform(low,high)"));
  EXPECT_THAT(message("a=yes", [](Params* p) { p->Boolean("a"); }),
              HasSubstr("must be one of False, True"));
  EXPECT_THAT(message("a=(1,2)", [](Params* p) { p->Tuple("a", 3); }),
              HasSubstr("must have 3 numbers"));
  EXPECT_THAT(message("a=7", [](Params* p) { p->Tuple("a"); }),
              HasSubstr("round brackets"));
  EXPECT_THAT(message("nonsense", [](Params*) {}),
              HasSubstr("nonsense is not of the form NAME=VALUE"));
}

TEST(ParamsTest, ANameTwiceIsAMistake) {
  EXPECT_THAT(Message(Params({"a=1", "a=2"})), HasSubstr("given twice"));
}

}  // namespace
}  // namespace feedrate
