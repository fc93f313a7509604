#include "lib/analysis/rows/row_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_templates.h"
#include "lib/analysis/rows/text_scan.h"

namespace feedrate {
namespace {

constexpr size_t kBehind = 16;

// `size` random letters, and more letters after them that must not matter.
std::string RandomText(size_t size, std::mt19937_64* random) {
  std::string text;
  for (size_t i = 0; i < size + kBehind; ++i) {
    text += static_cast<char>('a' + (*random)() % 26);
  }
  return text;
}

TEST(WordsTest, ComparisonsLookAtEveryByteAndNoOther) {
  std::mt19937_64 random(1);
  for (size_t size = 0; size < 200; ++size) {
    const std::string text = RandomText(size, &random);
    std::string other = text;
    other[size] ^= 1;
    EXPECT_TRUE(SameBytes(text.data(), other.data(), size)) << size;
    EXPECT_TRUE(SameLong(text.data(), other.data(), size)) << size;
    for (size_t i = 0; i < size; ++i) {
      other = text;
      other[i] ^= 1;
      EXPECT_FALSE(SameBytes(text.data(), other.data(), size)) << size;
      EXPECT_FALSE(SameLong(text.data(), other.data(), size)) << size;
    }
  }
}

TEST(WordsTest, HashesLookAtEveryByteAndNoOther) {
  std::mt19937_64 random(2);
  for (size_t size = 0; size < 200; ++size) {
    const std::string text = RandomText(size, &random);
    std::string other = text;
    other[size] ^= 1;
    EXPECT_EQ(HashBytes(text.data(), size, 7),
              HashBytes(other.data(), size, 7));
    EXPECT_EQ(HashLong(text.data(), size), HashLong(other.data(), size));
    for (size_t i = 0; i < size; ++i) {
      other = text;
      other[i] ^= 1;
      EXPECT_NE(HashBytes(text.data(), size, 7),
                HashBytes(other.data(), size, 7));
      EXPECT_NE(HashLong(text.data(), size), HashLong(other.data(), size));
    }
  }
}

TEST(WordsTest, HashesOfLikeTextsSpreadOverLowAndHighBits) {
  std::set<uint64_t> low;
  std::set<uint64_t> high;
  for (int i = 0; i < 4096; ++i) {
    std::string text = std::string(60, 'x') + std::to_string(10000 + i);
    text.append(kBehind, '\0');
    const uint64_t hash = HashLong(text.data(), 65);
    low.insert(hash & 4095);
    high.insert(hash >> 52);
  }
  // 4096 balls in 4096 bins fill 63% of the bins.
  EXPECT_GT(low.size(), 2400u);
  EXPECT_GT(high.size(), 2400u);
}

TEST(WordsTest, PlainStringsEndAtTheirQuote) {
  for (size_t size = 0; size < 70; ++size) {
    const std::string text =
        std::string(size, 'a') + "\"\n" + std::string(32, '\0');
    EXPECT_EQ(PlainStringEnd(text.data()), text.data() + size + 1) << size;
  }
}

TEST(WordsTest, StringsThatNeedACloserLookHaveNoPlainEnd) {
  for (const char* odd :
       {"a\\\"b\"", "a\x01\"", "\xC3\xA9\"", "never closed\n"}) {
    const std::string text = std::string(odd) + "\n" + std::string(32, '\0');
    EXPECT_EQ(PlainStringEnd(text.data()), nullptr) << odd;
  }
}

TEST(BigArrayTest, IsZeroedAndWritableToItsEnds) {
  for (const size_t size : {1u, 511u, 4097u, 262144u, 262145u, 1000003u}) {
    const BigArray<uint64_t> array(size);
    ASSERT_EQ(array.size(), size);
    EXPECT_EQ(array[0], 0u);
    EXPECT_EQ(array[size - 1], 0u);
    for (size_t i = 0; i < size; ++i) array[i] = ~i;
    EXPECT_EQ(array[size / 2], ~(size / 2));
  }
}

TEST(BigArrayTest, LargeOnesAreAlignedForHugePages) {
  const BigArray<char> array(5 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % (2 << 20), 0u);
}

TEST(BigArrayTest, EmptyHasNoMemory) {
  const BigArray<int> none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(BigArray<int>(0).data(), nullptr);
}

TEST(BigArrayTest, MovesItsMemory) {
  BigArray<int> one(10);
  one[3] = 7;
  int* const data = one.data();
  const BigArray<int> other = std::move(one);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(other[3], 7);
}

constexpr size_t kPadding = 64;

std::string Path(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Reads lines, with their inputs, from three threads.
std::vector<std::string> Lines(LineBlocks* blocks) {
  std::vector<std::string> lines;
  std::mutex mutex;
  const auto work = [&] {
    LineBlock block;
    while (blocks->Next(&block)) {
      std::lock_guard<std::mutex> lock(mutex);
      std::string text(block.lines);
      if (!text.empty() && text.back() == '\n') text.pop_back();
      if (block.lines.empty()) continue;
      for (const auto& line : absl::StrSplit(text, '\n')) {
        lines.push_back(absl::StrCat(block.input, ":", line));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(LineBlocksTest, EveryLineOnce) {
  std::mt19937 random(1);
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; content.size() < 3 * LineBlocks::kBlock + 5000; ++i) {
    // A few lines longer than a block.
    const size_t length =
        i % 3000 == 2999 ? LineBlocks::kBlock * 3 / 2 : random() % 700;
    const std::string line = absl::StrCat(
        i, "-", std::string(length, static_cast<char>('a' + i % 26)));
    expected.push_back(absl::StrCat("0:", line));
    absl::StrAppend(&content, line, "\n");
  }
  // Lines that end exactly where blocks do.
  std::string exact(LineBlocks::kBlock - 1, 'x');
  exact += "\n";
  for (int i = 0; i < 2; ++i) {
    expected.push_back(absl::StrCat("1:", exact.substr(0, exact.size() - 1)));
  }
  expected.push_back("2:no newline");
  std::sort(expected.begin(), expected.end());
  const std::string a = Path("a"), b = Path("b"), c = Path("c"), d = Path("d");
  Write(a, content);
  Write(b, exact + exact);
  Write(c, "no newline");
  Write(d, "");
  auto blocks = LineBlocks::Open({a, b, c, d}, kPadding);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(blocks->bytes(),
            static_cast<int64_t>(content.size() + 2 * exact.size() + 10));
  EXPECT_EQ(Lines(&*blocks), expected);
  EXPECT_TRUE(blocks->status().ok());
}

// Bytes that this process has read, as the kernel counts them.
int64_t BytesRead() {
  std::ifstream file("/proc/self/io");
  std::string name;
  int64_t bytes = -1;
  file >> name >> bytes;
  return name == "rchar:" ? bytes : -1;
}

// Every block of a long line used to read the line to its end.
TEST(LineBlocksTest, ALongLineIsReadOnce) {
  if (BytesRead() < 0) GTEST_SKIP() << "the kernel counts no bytes";
  constexpr size_t kSize = 64 * LineBlocks::kBlock;
  const std::string path = Path("long");
  Write(path, absl::StrCat("first\n", std::string(kSize, 'x'), "\nlast\n"));
  auto blocks = LineBlocks::Open({path}, kPadding);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  const int64_t before = BytesRead();
  const std::vector<std::string> lines = Lines(&*blocks);
  EXPECT_LT(BytesRead() - before, 4 * static_cast<int64_t>(kSize));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "0:first", "0:last",
                       absl::StrCat("0:", std::string(kSize, 'x'))}));
}

TEST(LineBlocksTest, PipesAreReadInTurns) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; i < 200000; ++i) {
    const std::string line = absl::StrCat("line ", i);
    absl::StrAppend(&content, line, "\n");
    expected.push_back(absl::StrCat("0:", line));
  }
  content += "the end";
  expected.push_back("0:the end");
  std::sort(expected.begin(), expected.end());
  std::thread writer([&] { Write(path, content); });
  auto blocks = LineBlocks::Open({path}, kPadding);
  ASSERT_TRUE(blocks.ok());
  EXPECT_TRUE(blocks->has_streams());
  EXPECT_EQ(Lines(&*blocks), expected);
  writer.join();
}

TEST(LineBlocksTest, AMissingFileIsNotFound) {
  EXPECT_EQ(LineBlocks::Open({Path("none")}, kPadding).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(LineBlocksTest, ADeviceWithoutEndIsNotRead) {
  auto blocks = LineBlocks::Open({"/dev/zero"}, kPadding);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_TRUE(Lines(&*blocks).empty());
  EXPECT_EQ(blocks->status().code(), absl::StatusCode::kInvalidArgument);
}

constexpr char kLineEnd[] = "}\n";

// A row as a list of fields; owns their texts.
class Line {
 public:
  Line& Add(const std::string& key, const std::string& value, Act act,
            int also_slot = -1) {
    before_.push_back(
        absl::StrCat(before_.empty() ? "{" : ",", "\"", key, "\":"));
    values_.push_back(value);
    steps_.push_back({act, -1, also_slot});
    return *this;
  }
  std::vector<PrintedField> Fields() const {
    std::vector<PrintedField> fields;
    for (size_t i = 0; i < before_.size(); ++i) {
      fields.push_back({before_[i], values_[i], steps_[i]});
    }
    return fields;
  }
  std::string Text() const {
    std::string text;
    for (size_t i = 0; i < before_.size(); ++i) {
      absl::StrAppend(&text, before_[i], values_[i]);
    }
    return absl::StrCat(text, kLineEnd);
  }

 private:
  std::vector<std::string> before_;
  std::vector<std::string> values_;
  std::vector<TemplateStep> steps_;
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

// The group, counted from 1, of the row that `text` starts with; 0 if unknown.
uint32_t Walk(const RowTemplates& known, std::string text,
              std::vector<std::string>* values = nullptr) {
  const size_t size = text.size();
  text.append(kScanPadding, '\0');
  const char* at = text.data();
  const char* const end = at + size;
  uint64_t path = 0;
  const RowTemplates::Text* piece = &known.start();
  for (;;) {
    piece = known.Next(*piece, at, end);
    if (piece == nullptr) return 0;
    path = RowTemplates::Path(path, *piece);
    at += piece->size;
    if (piece->is_last) break;
    const char* const value = at;
    at = ValueEnd(at);
    if (at == nullptr) return 0;
    if (values != nullptr) values->emplace_back(value, at);
  }
  const RowTemplates::Kind* kind = known.Find(path);
  return kind == nullptr ? 0 : kind->group;
}

constexpr size_t kRoom = 1 << 20;

TEST(RowTemplatesTest, KnowsNothingAtFirst) {
  EXPECT_EQ(Walk(RowTemplates(kRoom), MakeLine("a", "kornia", "1").Text()), 0u);
}

TEST(RowTemplatesTest, OnlyHolesMayDiffer) {
  RowTemplates known(kRoom);
  ASSERT_TRUE(
      known.Learn(MakeLine("a", "kornia", "1").Fields(), kLineEnd, 4, {}));
  std::vector<std::string> values;
  EXPECT_EQ(Walk(known, MakeLine("other", "kornia", "17.25").Text(), &values),
            5u);
  EXPECT_EQ(values, (std::vector<std::string>{"\"other\"", "17.25", "17.25"}));
  EXPECT_EQ(Walk(known, MakeLine("a", "opencv", "1").Text()), 0u);
}

TEST(RowTemplatesTest, TellsManyTextsOfDifferentLengthsApart) {
  RowTemplates known(kRoom);
  const auto library = [](uint32_t i) {
    return absl::StrCat(std::string(i % 90, 'x'), "library", i);
  };
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(
        known.Learn(MakeLine("a", library(i), "1").Fields(), kLineEnd, i, {}));
  }
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(Walk(known, MakeLine("b", library(i), "2.5").Text()), i + 1);
  }
  EXPECT_EQ(Walk(known, MakeLine("b", "library3000", "2.5").Text()), 0u);
}

TEST(RowTemplatesTest, TextsInAnotherOrderAreAnotherKind) {
  RowTemplates known(kRoom);
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
  ASSERT_TRUE(known.Learn(one.Fields(), kLineEnd, 0, {}));
  ASSERT_TRUE(known.Learn(other.Fields(), kLineEnd, 1, {}));
  EXPECT_EQ(Walk(known, one.Text()), 1u);
  EXPECT_EQ(Walk(known, other.Text()), 2u);
}

TEST(RowTemplatesTest, LinesThatEndTooSoonAreNotKnown) {
  RowTemplates known(kRoom);
  const Line line = MakeLine("a", "kornia", "1");
  ASSERT_TRUE(known.Learn(line.Fields(), kLineEnd, 0, {}));
  const std::string text = line.Text();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Walk(known, text.substr(0, size)), 0u) << size;
  }
}

// With --by=job_id, the id determines the group, so it is not a hole.
TEST(RowTemplatesTest, KeepsConstantsThatStandInTexts) {
  RowTemplates known(kRoom);
  Line line;
  line.Add("job_id", "\"a\"", Act::kJobId, /*also_slot=*/0)
      .Add("run_index", "3", Act::kRunIndex)
      .Add("throughput", "1", Act::kThroughput);
  RowTemplates::Constants constants;
  constants.attempt = 2;
  constants.job_id = PaddedText("\"a\"");
  constants.run_index = PaddedText("3");
  ASSERT_TRUE(known.Learn(line.Fields(), kLineEnd, 0, std::move(constants)));
  uint64_t path = 0;
  const std::string text = line.Text() + std::string(kScanPadding, '\0');
  const char* const end = text.data() + line.Text().size();
  const RowTemplates::Text* first = known.Next(known.start(), text.data(), end);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->hole, Act::kRunIndex);
  path = RowTemplates::Path(path, *first);
  const RowTemplates::Text* second =
      known.Next(*first, text.data() + first->size + 1, end);
  ASSERT_NE(second, nullptr);
  path = RowTemplates::Path(path, *second);
  const RowTemplates::Text* last = known.Next(
      *second, text.data() + first->size + 1 + second->size + 1, end);
  ASSERT_NE(last, nullptr);
  const RowTemplates::Kind* kind = known.Find(RowTemplates::Path(path, *last));
  ASSERT_NE(kind, nullptr);
  ASSERT_NE(kind->constants, 0u);
  EXPECT_EQ(known.constants(*kind).attempt, 2);
  EXPECT_EQ(known.constants(*kind).job_id.view(), "\"a\"");
  EXPECT_TRUE(known.constants(*kind).run_index.empty());
}

TEST(RowTemplatesTest, DoesNotLearnGroupsByThroughput) {
  RowTemplates known(kRoom);
  Line line;
  line.Add("throughput", "1", Act::kThroughput, /*also_slot=*/0);
  EXPECT_FALSE(known.Learn(line.Fields(), kLineEnd, 0, {}));
}

TEST(RowTemplatesTest, StopsWhenFullAndKeepsWhatItKnows) {
  RowTemplates known(4096);
  uint32_t learned = 0;
  const auto line = [](uint32_t i) {
    return MakeLine("a", absl::StrCat("library", i), "1");
  };
  while (known.Learn(line(learned).Fields(), kLineEnd, learned, {})) ++learned;
  EXPECT_GT(learned, 5u);
  EXPECT_LT(learned, 40u);
  for (uint32_t i = 0; i < learned; ++i) {
    EXPECT_EQ(Walk(known, line(i).Text()), i + 1);
  }
  EXPECT_EQ(Walk(known, line(learned).Text()), 0u);
}

// How many of the lines the fast reader takes, for groups by library.
int Taken(const std::vector<std::string>& lines) {
  const auto query = MakeQuery({"library"}, "", {}, "throughput");
  EXPECT_TRUE(query.ok()) << query.status();
  const RowSteps steps(*query);
  RowLog log(&*query);
  RowReader reader(&steps, query->slots.size(), &log);
  int taken = 0;
  for (const std::string& line : lines) {
    const std::string text =
        absl::StrCat(line, "\n", std::string(kScanPadding, '\0'));
    const char* const end = text.data() + line.size() + 1;
    const char* const newline = reader.Read(text.data(), end);
    EXPECT_TRUE(newline == nullptr || newline == end - 1) << line;
    taken += newline == nullptr ? 0 : 1;
  }
  EXPECT_EQ(log.size(), taken);
  return taken;
}

TEST(RowReaderTest, TakesRowsInAnyForm) {
  const std::vector<std::string> lines = {
      R"({"schema":1,"record":"row","library":"a","throughput":1.5})",
      R"({"schema": 1, "record": "row", "library": "a", "throughput": 1.5})",
      "\t{ \"throughput\" :2e3 ,\"record\":\"row\",\"schema\":1\t}\r",
      R"({"note":"\"\\","throughput":1,"record":"row","schema":1})",
      R"({"note":"µ","throughput":1,"record":"row","schema":1})",
      R"({"library":"\u00b5","throughput":1,"record":"row","schema":1})",
      R"({"throughput":0.5e+1,"record":"row","schema":1})",
      R"({"throughput":5E-3,"record":"row","schema":1})",
      R"({"samples_s":[ 1 , 2.5 ],"throughput":1,"record":"row","schema":1})",
  };
  for (const std::string& line : lines) EXPECT_EQ(Taken({line}), 1) << line;
  std::vector<std::string> twice = lines;
  twice.insert(twice.end(), lines.begin(), lines.end());
  EXPECT_EQ(Taken(twice), static_cast<int>(twice.size()));
}

TEST(RowReaderTest, LeavesWhatIsNoRowToTheThoroughReader) {
  for (const char* line :
       {"", "{}", R"({"schema":1,"record":"row")",
        R"({"schema":1,"record":"env","throughput":1})",
        R"({"schema":1,"record":"row","throughput":"fast"})",
        R"({"schema":1,"record":"row","throughput":-inf})",
        R"({"schema":1,"record":"row","throughput":1} x)",
        R"({"schema":1,"record":"row","note":"\)",
        R"({"schema":1,"record":"row","throughput":1,"throughput":2})",
        R"({"schema":1,"record":"row","throughput":01})",
        R"({"schema":1,"record":"row","throughput":-00.5})",
        R"({"schema":1,"record":"row","throughput":1.})",
        R"({"schema":1,"record":"row","throughput":1.e5})",
        R"({"schema":1,"record":"row","throughput":1,"samples_s":[1,02]})",
        R"({"schema":1,"record":"row","throughput":1,)"
        R"("settings":{"a":"1","a":"2"}})",
        "{\"schema\":1,\"record\":\"row\",\"note\":\"\xC3\"}"}) {
    EXPECT_EQ(Taken({line}), 0) << line;
  }
}

TEST(PaddedTextTest, HasReadableBytesBehindIt) {
  const PaddedText text("abc");
  EXPECT_EQ(text.view(), "abc");
  EXPECT_EQ(text.view().data()[3 + kScanPadding - 1], '\0');
  EXPECT_TRUE(PaddedText().empty());
}

}  // namespace
}  // namespace feedrate
