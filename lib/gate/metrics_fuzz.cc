// Two tests with the same bytes. Read as a metrics file, they are refused with
// the file's name, or every number is finite and every value has a line. Read
// as decisions, they make a file whose values and lines are known, maybe with
// one value that is wrong: exactly those are read, or the file is refused.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/gate/baselines.h"
#include "lib/records/json.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void ReadAnything(absl::string_view text) {
  const auto file = ParseMetrics(text, "f.json");
  if (!file.ok()) {
    CHECK(absl::StartsWith(file.status().message(), "f.json:"));
    CHECK_LT(file.status().message().size(), 500);
    return;
  }
  CHECK(!file->machine_profile.empty() && !file->metrics.empty());
  CHECK_EQ(file->lines.size(), file->metrics.size() + file->others.size());
  for (const auto& metric : file->metrics) {
    CHECK(std::isfinite(metric.second));
    CHECK_GE(file->lines.at(metric.first), 1);
  }
}

// Writes a file and remembers what is in it.
class Writer {
 public:
  explicit Writer(Decisions* decisions) : decisions_(*decisions) {}

  std::string Write() {
    Add("{");
    Key("machine_profile", "");
    Add("\"m\"");
    file.others["machine_profile"] = "text";
    Fields("", 4, /*first=*/false);
    Add("}");
    return text_;
  }

  MetricsFile file;
  bool is_right = true;

 private:
  void Add(absl::string_view text) {
    for (uint32_t left = decisions_.Below(4); left > 1; --left) {
      text_ += decisions_.Yes() ? '\n' : ' ';
      if (text_.back() == '\n') ++line_;
    }
    absl::StrAppend(&text_, text);
  }

  void Key(const std::string& name, const std::string& path) {
    std::string quoted;
    AppendJsonString(name, &quoted);
    // Any character may be written as an escape.
    if (decisions_.Yes()) {
      quoted =
          absl::StrCat(absl::StrFormat("\"\\u%04x", name[0]), quoted.substr(2));
    }
    Add(quoted);
    file.lines[path + name] = line_;
    Add(":");
  }

  void Fields(const std::string& path, int depth, bool first) {
    for (uint32_t left = decisions_.Below(5); left > 0; --left) {
      if (!first) Add(",");
      first = false;
      const std::string name =
          absl::StrCat("n", decisions_.Yes() ? "\":[{\\\n" : "", ++names_);
      Key(name, path);
      Value(path, name, depth);
    }
  }

  void Value(const std::string& path, const std::string& name, int depth) {
    switch (decisions_.Below(8)) {
      case 0:
        if (depth == 0) break;
        file.lines.erase(path + name);
        Add("{");
        Fields(path + name + ".", depth - 1, /*first=*/true);
        Add("}");
        return;
      case 1:
        Add("\"a\\\":\\\\\"");
        file.others[path + name] = "text";
        return;
      case 2:
        Add("true");
        file.others[path + name] = "true or false";
        return;
      case 3:
        Add("[[],{\"x\":{\"y\":1}},\"]:\"]");
        file.others[path + name] = "a list";
        return;
      case 4:
        if (decisions_.Below(4) != 1) break;
        Add(decisions_.Yes() ? "null" : "1e999");
        is_right = false;
        return;
      default:
        break;
    }
    const double number =
        std::ldexp(static_cast<int>(decisions_.Below(1 << 16)) - 30000,
                   static_cast<int>(decisions_.Below(200)) - 100);
    Add(absl::StrFormat("%.17g", number));
    file.metrics[path + name] = number;
  }

  Decisions& decisions_;
  std::string text_;
  int line_ = 1;
  int names_ = 0;
};

void ReadWhatIsKnown(Decisions* decisions) {
  Writer writer(decisions);
  const std::string text = writer.Write();
  const auto file = ParseMetrics(text, "f.json");
  const bool is_right = writer.is_right && !writer.file.metrics.empty();
  CHECK_EQ(file.ok(), is_right) << file.status() << text;
  if (!is_right) return;
  CHECK(file->metrics == writer.file.metrics) << text;
  CHECK(file->others == writer.file.others) << text;
  CHECK(file->lines == writer.file.lines) << text;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::ReadAnything(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
