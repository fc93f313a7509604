#include "lib/analysis/known_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {
namespace {

// A row as its fields, which keep their texts alive.
class Line {
 public:
  Line& Add(const std::string& key, const std::string& value, Act act,
            int also_slot = -1) {
    keys_.push_back(absl::StrCat("\"", key, "\":"));
    values_.push_back(value);
    steps_.push_back({act, -1, also_slot});
    return *this;
  }
  std::vector<PrintedField> Fields() const {
    std::vector<PrintedField> fields;
    for (size_t i = 0; i < keys_.size(); ++i) {
      fields.push_back({keys_[i], values_[i], steps_[i]});
    }
    return fields;
  }
  std::string Text() const {
    std::string text;
    for (size_t i = 0; i < keys_.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "{" : ",", keys_[i], values_[i]);
    }
    return absl::StrCat(text, "}\n");
  }

 private:
  std::vector<std::string> keys_;
  std::vector<std::string> values_;
  std::vector<Step> steps_;
};

Line MakeLine(const std::string& job_id, const std::string& library,
              const std::string& throughput) {
  Line line;
  line.Add("record", "\"row\"", Act::kRecord)
      .Add("job_id", absl::StrCat("\"", job_id, "\""), Act::kJobId)
      .Add("library", absl::StrCat("\"", library, "\""), Act::kSlot)
      .Add("elapsed_s", throughput, Act::kSkip)
      .Add("throughput", throughput, Act::kThroughput)
      .Add("unit", "\"image\"", Act::kSlot);
  return line;
}

// Group of the row that `text` starts with, from 1; 0 when it is not known.
uint32_t Walk(const KnownRows& known, std::string text,
              std::vector<std::string>* values = nullptr) {
  const size_t size = text.size();
  text.append(kPrintedPadding, '\0');
  const char* at = text.data();
  const char* const end = at + size;
  uint64_t path = 0;
  const KnownRows::Text* piece = &known.start();
  for (;;) {
    piece = known.Next(*piece, at, end);
    if (piece == nullptr) return 0;
    path = KnownRows::Path(path, *piece);
    at += piece->size;
    if (piece->is_last) break;
    const char* const value = at;
    at = ValueEnd(at);
    if (at == nullptr) return 0;
    if (values != nullptr) values->emplace_back(value, at);
  }
  const KnownRows::Kind* kind = known.Find(path);
  return kind == nullptr ? 0 : kind->group;
}

constexpr size_t kRoom = 1 << 20;

TEST(KnownRowsTest, KnowsNothingAtFirst) {
  EXPECT_EQ(Walk(KnownRows(kRoom), MakeLine("a", "kornia", "1").Text()), 0u);
}

TEST(KnownRowsTest, OnlyHolesMayDiffer) {
  KnownRows known(kRoom);
  ASSERT_TRUE(known.Learn(MakeLine("a", "kornia", "1").Fields(), 4, {}));
  std::vector<std::string> values;
  EXPECT_EQ(Walk(known, MakeLine("other", "kornia", "17.25").Text(), &values),
            5u);
  EXPECT_EQ(values, (std::vector<std::string>{"\"other\"", "17.25", "17.25"}));
  EXPECT_EQ(Walk(known, MakeLine("a", "opencv", "1").Text()), 0u);
}

TEST(KnownRowsTest, TellsManyTextsOfDifferentLengthsApart) {
  KnownRows known(kRoom);
  const auto library = [](uint32_t i) {
    return absl::StrCat(std::string(i % 90, 'x'), "library", i);
  };
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(known.Learn(MakeLine("a", library(i), "1").Fields(), i, {}));
  }
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(Walk(known, MakeLine("b", library(i), "2.5").Text()), i + 1);
  }
  EXPECT_EQ(Walk(known, MakeLine("b", "library3000", "2.5").Text()), 0u);
}

TEST(KnownRowsTest, TextsInAnotherOrderAreAnotherKind) {
  KnownRows known(kRoom);
  Line one;
  one.Add("a", "\"x\"", Act::kSlot)
      .Add("n", "1", Act::kSkip)
      .Add("b", "\"x\"", Act::kSlot)
      .Add("n", "1", Act::kSkip);
  Line other;
  other.Add("a", "\"x\"", Act::kSlot)
      .Add("n", "1", Act::kSkip)
      .Add("b", "\"y\"", Act::kSlot)
      .Add("n", "1", Act::kSkip);
  ASSERT_TRUE(known.Learn(one.Fields(), 0, {}));
  ASSERT_TRUE(known.Learn(other.Fields(), 1, {}));
  EXPECT_EQ(Walk(known, one.Text()), 1u);
  EXPECT_EQ(Walk(known, other.Text()), 2u);
}

TEST(KnownRowsTest, LinesThatEndTooSoonAreNotKnown) {
  KnownRows known(kRoom);
  const Line line = MakeLine("a", "kornia", "1");
  ASSERT_TRUE(known.Learn(line.Fields(), 0, {}));
  const std::string text = line.Text();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Walk(known, text.substr(0, size)), 0u) << size;
  }
}

// --by=job_id: the id decides about the group, so it is no hole.
TEST(KnownRowsTest, KeepsConstantsThatStandInTexts) {
  KnownRows known(kRoom);
  Line line;
  line.Add("job_id", "\"a\"", Act::kJobId, /*also_slot=*/0)
      .Add("run_index", "3", Act::kRunIndex)
      .Add("throughput", "1", Act::kThroughput);
  KnownRows::Constants constants;
  constants.attempt = 2;
  constants.job_id = PaddedText("\"a\"");
  constants.run_index = PaddedText("3");
  ASSERT_TRUE(known.Learn(line.Fields(), 0, std::move(constants)));
  uint64_t path = 0;
  const std::string text = line.Text() + std::string(kPrintedPadding, '\0');
  const char* const end = text.data() + line.Text().size();
  const KnownRows::Text* first = known.Next(known.start(), text.data(), end);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->hole, Act::kRunIndex);
  path = KnownRows::Path(path, *first);
  const KnownRows::Text* second =
      known.Next(*first, text.data() + first->size + 1, end);
  ASSERT_NE(second, nullptr);
  path = KnownRows::Path(path, *second);
  const KnownRows::Text* last = known.Next(
      *second, text.data() + first->size + 1 + second->size + 1, end);
  ASSERT_NE(last, nullptr);
  const KnownRows::Kind* kind = known.Find(KnownRows::Path(path, *last));
  ASSERT_NE(kind, nullptr);
  ASSERT_NE(kind->constants, 0u);
  EXPECT_EQ(known.constants(*kind).attempt, 2);
  EXPECT_EQ(known.constants(*kind).job_id.view(), "\"a\"");
  EXPECT_TRUE(known.constants(*kind).run_index.empty());
}

TEST(KnownRowsTest, DoesNotLearnGroupsByThroughput) {
  KnownRows known(kRoom);
  Line line;
  line.Add("throughput", "1", Act::kThroughput, /*also_slot=*/0);
  EXPECT_FALSE(known.Learn(line.Fields(), 0, {}));
}

TEST(KnownRowsTest, StopsWhenFullAndKeepsWhatItKnows) {
  KnownRows known(4096);
  uint32_t learnt = 0;
  const auto line = [](uint32_t i) {
    return MakeLine("a", absl::StrCat("library", i), "1");
  };
  while (known.Learn(line(learnt).Fields(), learnt, {})) ++learnt;
  EXPECT_GT(learnt, 5u);
  EXPECT_LT(learnt, 40u);
  for (uint32_t i = 0; i < learnt; ++i) {
    EXPECT_EQ(Walk(known, line(i).Text()), i + 1);
  }
  EXPECT_EQ(Walk(known, line(learnt).Text()), 0u);
}

TEST(PaddedTextTest, HasReadableBytesBehindIt) {
  const PaddedText text("abc");
  EXPECT_EQ(text.view(), "abc");
  EXPECT_EQ(text.view().data()[3 + kPrintedPadding - 1], '\0');
  EXPECT_TRUE(PaddedText().empty());
}

}  // namespace
}  // namespace feedrate
