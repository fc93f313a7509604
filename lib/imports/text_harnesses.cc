#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/imports/harnesses.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

std::string LineText(size_t line) { return absl::StrCat("line ", line); }

// Go: `BenchmarkSort/n=64-2  2000  2850 ns/op  536 B/op`, after lines such as
// `pkg: example.org/sort`.

// Name, parameters and GOMAXPROCS, as benchstat takes them apart.
void SetGoName(absl::string_view name, Row* row) {
  absl::ConsumePrefix(&name, "Benchmark");
  const size_t dash = name.rfind('-');
  int procs;
  if (dash != absl::string_view::npos &&
      absl::SimpleAtoi(name.substr(dash + 1), &procs)) {
    (*row->mutable_settings())["gomaxprocs"] = absl::StrCat(procs);
    name = name.substr(0, dash);
  }
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    const std::pair<std::string, std::string> setting =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const bool is_setting =
        !row->transform().empty() && absl::StrContains(part, "=") &&
        !setting.first.empty() && row->settings().count(setting.first) == 0;
    if (is_setting) {
      (*row->mutable_settings())[setting.first] = setting.second;
    } else {
      absl::StrAppend(row->mutable_transform(),
                      row->transform().empty() ? "" : "/", part);
    }
  }
}

absl::Status ReadGo(absl::string_view content, RowSink* sink) {
  std::map<std::string, std::string> about;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    for (const char* key : {"goos", "goarch", "pkg", "cpu"}) {
      absl::string_view rest = line;
      if (absl::ConsumePrefix(&rest, absl::StrCat(key, ": "))) {
        about[key] = std::string(absl::StripAsciiWhitespace(rest));
      }
    }
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    int64_t iterations;
    // Other lines, such as logs, may start like a benchmark.
    if (words.size() < 4 || words.size() % 2 != 0 ||
        !absl::StartsWith(words[0], "Benchmark") ||
        !absl::SimpleAtoi(words[1], &iterations)) {
      continue;
    }
    Row* const row = sink->Start();
    SetGoName(words[0], row);
    row->set_library(about["pkg"]);
    row->set_hardware(about["cpu"]);
    row->set_machine_profile(MachineName({about["cpu"], about["goarch"]}));
    double seconds = std::nan("");
    for (size_t i = 2; i < words.size(); i += 2) {
      double value;
      if (!absl::SimpleAtod(words[i], &value)) {
        return sink->Error(
            LineText(number),
            absl::StrCat("\"", words[i], "\" is not a number in front of ",
                         words[i + 1]));
      }
      if (words[i + 1] == "ns/op") {
        seconds = value * 1e-9;
      } else {
        AddCounter(words[i + 1], value, row);
      }
    }
    if (std::isnan(seconds)) {
      sink->LeaveOut();
      continue;
    }
    RETURN_IF_ERROR(sink->Add({&seconds, 1}, static_cast<double>(iterations)));
  }
  return absl::OkStatus();
}

// Catch2: <TestCase name=""><BenchmarkResults name="" samples=""> <mean
// value=""/> <standardDeviation value=""/>, in nanoseconds.

struct Tag {
  std::string name;
  bool closes = false;
  // `<mean/>` opens and closes.
  bool is_whole = false;
  std::map<std::string, std::string> attributes;
};

std::string Unescape(absl::string_view text) {
  std::string plain;
  while (!text.empty()) {
    bool found = false;
    constexpr std::pair<const char*, char> kEntities[] = {{"&lt;", '<'},
                                                          {"&gt;", '>'},
                                                          {"&quot;", '"'},
                                                          {"&apos;", '\''},
                                                          {"&amp;", '&'}};
    for (const auto& [entity, character] : kEntities) {
      if (!absl::ConsumePrefix(&text, entity)) continue;
      plain += character;
      found = true;
      break;
    }
    if (found) continue;
    plain += text[0];
    text.remove_prefix(1);
  }
  return plain;
}

// Reads the tag at the start of `text`, after its `<`. False if it has no end.
bool ReadTag(absl::string_view* text, Tag* tag) {
  *tag = Tag();
  tag->closes = absl::ConsumePrefix(text, "/");
  const auto skip_space = [text] {
    *text = absl::StripLeadingAsciiWhitespace(*text);
  };
  const auto word = [text] {
    size_t size = 0;
    while (
        size < text->size() && !absl::ascii_isspace((*text)[size]) &&
        !absl::StrContains("<>/=\"'", absl::string_view(&(*text)[size], 1))) {
      ++size;
    }
    const std::string found(text->substr(0, size));
    text->remove_prefix(size);
    return found;
  };
  tag->name = word();
  while (true) {
    skip_space();
    if (text->empty()) return false;
    if (absl::ConsumePrefix(text, ">")) return true;
    if (absl::ConsumePrefix(text, "/") || absl::ConsumePrefix(text, "?")) {
      tag->is_whole = true;
      continue;
    }
    const std::string key = word();
    skip_space();
    if (key.empty()) return false;
    if (!absl::ConsumePrefix(text, "=")) continue;
    skip_space();
    if (text->empty()) return false;
    const char quote = (*text)[0];
    if (quote != '"' && quote != '\'') return false;
    const size_t end = text->find(quote, 1);
    if (end == absl::string_view::npos) return false;
    tag->attributes[key] = Unescape(text->substr(1, end - 1));
    text->remove_prefix(end + 1);
  }
}

absl::Status ReadCatch2(absl::string_view content, RowSink* sink) {
  absl::string_view text = content;
  // Names of the test case and its sections that are open.
  std::vector<std::string> open;
  bool in_benchmark = false;
  std::string name;
  std::string failure;
  SampleSummary summary;
  const auto place = [&] {
    return LineText(1 + std::count(content.begin(), text.begin(), '\n'));
  };
  while (true) {
    const size_t start = text.find('<');
    if (start == absl::string_view::npos) break;
    text.remove_prefix(start + 1);
    if (absl::StartsWith(text, "!--") || absl::StartsWith(text, "![CDATA[")) {
      const char* const end = text[1] == '-' ? "-->" : "]]>";
      const size_t at = text.find(end);
      if (at == absl::string_view::npos) {
        return sink->Error(place(), "the XML ends in the middle");
      }
      text.remove_prefix(at + 3);
      continue;
    }
    Tag tag;
    if (!ReadTag(&text, &tag)) {
      return sink->Error(place(), "broken XML; the file may be half-written");
    }
    double value = 0;
    const auto found = tag.attributes.find("value");
    const bool has_value = found != tag.attributes.end() &&
                           absl::SimpleAtod(found->second, &value);
    if (tag.name == "TestCase" || tag.name == "Section") {
      if (!tag.closes && !tag.is_whole) {
        open.push_back(tag.attributes["name"]);
      } else if (tag.closes && !open.empty()) {
        open.pop_back();
      }
    } else if (tag.name == "BenchmarkResults" && !tag.closes) {
      in_benchmark = true;
      name = tag.attributes["name"];
      failure.clear();
      summary.Clear();
      int64_t samples;
      if (absl::SimpleAtoi(tag.attributes["samples"], &samples) &&
          samples > 0) {
        summary.set_count(samples);
      }
    } else if (tag.name == "BenchmarkResults") {
      if (!in_benchmark || name.empty()) {
        return sink->Error(place(), "a benchmark has no name");
      }
      in_benchmark = false;
      Row* const row = sink->Start();
      row->set_transform(name);
      if (!open.empty()) {
        (*row->mutable_settings())["test_case"] = absl::StrJoin(open, "/");
      }
      if (!failure.empty()) {
        RETURN_IF_ERROR(sink->AddStatus("failed", failure));
      } else if (summary.mean_s() == 0) {
        return sink->Error(
            place(), absl::StrCat("the benchmark \"", name, "\" has no mean"));
      } else {
        RETURN_IF_ERROR(sink->AddSummary(summary));
      }
    } else if (in_benchmark && tag.name == "mean" && has_value) {
      summary.set_mean_s(value * 1e-9);
    } else if (in_benchmark && tag.name == "standardDeviation" && has_value) {
      summary.set_stddev_s(value * 1e-9);
    } else if (in_benchmark && tag.name == "failed") {
      failure = tag.attributes["message"];
      if (failure.empty()) failure = "the benchmark failed";
    }
  }
  if (in_benchmark || !open.empty()) {
    return sink->Error(place(), "the XML ends in the middle");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadText(const std::string& harness, absl::string_view content,
                      RowSink* sink) {
  if (harness == "go") return ReadGo(content, sink);
  if (harness == "catch2") return ReadCatch2(content, sink);
  return ReadCsv(content, harness == "nvbench", sink);
}

}  // namespace feedrate
