#include "lib/loader/mixture/mixture_list.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// As in octo's oxe_dataset_mixes.py and in openvla's mixtures.py.
constexpr char kMixes[] = R"(
BRIDGE_MIX = [
    ("bridge_dataset", 1.0),
]
OXE_MAGIC_SOUP = [
    ("fractal20220817_data", 0.54087122203),
    ("kuka", 0.8341046294),  # comment, ("no", 1)
    # ("left_out", 2.0),
    ('bridge_dataset', 1e0)
]
NAMED = {"rtx": [("kuka", 2)]}
)";

std::string Listed(absl::string_view text, absl::string_view name) {
  const auto entries = ParseMixtureList(text, name);
  if (!entries.ok()) return std::string(entries.status().message());
  std::string all;
  for (const DatasetEntry& entry : *entries) {
    absl::StrAppend(&all, entry.name, "=", entry.weight, " ");
  }
  return all;
}

TEST(MixtureListTest, ListsOfPython) {
  EXPECT_EQ(Listed(kMixes, ""), "bridge_dataset=1 ");
  EXPECT_EQ(Listed(kMixes, "OXE_MAGIC_SOUP"),
            "fractal20220817_data=0.540871 kuka=0.834105 bridge_dataset=1 ");
  EXPECT_EQ(Listed(kMixes, "rtx"), "kuka=2 ");
}

TEST(MixtureListTest, ListsOfJson) {
  EXPECT_EQ(Listed("[[\"a\", 1], [\"b\", 0.5]]", ""), "a=1 b=0.5 ");
  EXPECT_EQ(Listed("{\"mix\": [[\"a\", 1]]}", "mix"), "a=1 ");
}

TEST(MixtureListTest, ErrorsNameTheLine) {
  EXPECT_EQ(Listed(kMixes, "NOSUCH"), "has no list \"NOSUCH\"");
  EXPECT_THAT(Listed("", ""), HasSubstr("has no list of pairs"));
  EXPECT_THAT(Listed("[\n(\"a\", x)]", ""),
              HasSubstr("line 2: \"x\" is not a weight"));
  EXPECT_THAT(Listed("[(\"a\", -1)]", ""), HasSubstr("\"-1\" is not a weight"));
  EXPECT_THAT(Listed("[(a, 1)]", ""), HasSubstr("\"a\" is not a name"));
  EXPECT_THAT(Listed("[(\"a\", 1), (\"a\", 2)]", ""),
              HasSubstr("listed twice"));
  EXPECT_THAT(Listed("[(\"a\", 1)", ""), HasSubstr("has no end"));
  EXPECT_THAT(Listed("[(\"a\"", ""), HasSubstr("a whole pair"));
  EXPECT_THAT(Listed("[(\"a", ""), HasSubstr("line 1: a text has no end"));
  EXPECT_THAT(Listed("[]", ""), HasSubstr("is empty"));
}

}  // namespace
}  // namespace feedrate
