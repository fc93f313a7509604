#include "lib/config/value_places.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<int, int>> Of(const std::string& text, int line,
                                    int column) {
  std::vector<std::pair<int, int>> places;
  for (const TextPlace& place : ValuePlaces(text).Of({line, column})) {
    places.emplace_back(place.line, place.column);
  }
  return places;
}

TEST(ValuePlacesTest, ASingleValueIsAtItsName) {
  EXPECT_THAT(Of("a: 1 b: \"x\"", 0, 5), ElementsAre(Pair(0, 5)));
  EXPECT_THAT(Of("a { b: [1] }", 0, 0), ElementsAre(Pair(0, 0)));
}

TEST(ValuePlacesTest, ValuesOfAListHaveTheirOwn) {
  EXPECT_THAT(Of("x: 1 a: [\"p\", \"q\" 'r',\n  # no, [\n  3]", 0, 5),
              ElementsAre(Pair(0, 9), Pair(0, 14), Pair(2, 2)));
  EXPECT_THAT(Of("\n\n a: [ -1 , .5f ]", 2, 1),
              ElementsAre(Pair(2, 6), Pair(2, 11)));
}

TEST(ValuePlacesTest, MessagesInAList) {
  EXPECT_THAT(Of("s: [{ v: [1, 2] }, < v: 3, w: 4 >, {}]", 0, 0),
              ElementsAre(Pair(0, 4), Pair(0, 19), Pair(0, 35)));
  EXPECT_THAT(Of("s [{}]", 0, 0), ElementsAre(Pair(0, 3)));
}

TEST(ValuePlacesTest, EmptyListAndNoText) {
  EXPECT_THAT(Of("a: []", 0, 0), IsEmpty());
  EXPECT_THAT(Of("", 3, 0), ElementsAre(Pair(3, 0)));
  EXPECT_THAT(Of("a", -1, -1), ElementsAre(Pair(-1, -1)));
}

}  // namespace
}  // namespace feedrate
