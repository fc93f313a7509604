// Two tests with the same bytes. Read as results of the harness that they look
// like, and of one that depends on their number, they never crash, and every
// row that is `ok` has a time. Read as decisions, they make results with known
// names and times in one of the formats, maybe cut off: every result comes back
// as it is, and what is cut off is an error or only the last result.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/imports/imports.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

constexpr char kFile[] = "kornia_results.json";

absl::Status Read(const std::string& harness, absl::string_view text,
                  std::vector<Row>* rows) {
  Importer importer({harness, {}}, [&](const Row& row) {
    CHECK(!row.job_id().empty());
    if (row.status() == "ok") {
      CHECK(row.throughput() > 0 && std::isfinite(row.throughput()));
      CHECK(row.elapsed_s() >= 0 && std::isfinite(row.elapsed_s()));
      CHECK(std::isfinite(row.summary().mean_s()));
      CHECK(std::isfinite(row.summary().median_s()));
      CHECK(std::isfinite(row.summary().stddev_s()));
    }
    rows->push_back(row);
    return absl::OkStatus();
  });
  const absl::Status status =
      importer.ReadText(kFile, text, /*may_read_files=*/false);
  if (!status.ok()) {
    CHECK(absl::StartsWith(status.message(), absl::StrCat(kFile, ": ")))
        << status;
  }
  return status;
}

struct Result {
  std::string name;
  double seconds;
};

// A file, and where each of its results ends.
struct Written {
  std::string text;
  std::vector<size_t> ends;
};

std::string Quoted(const std::string& text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return quoted;
}

enum Format { kCsv, kGo, kCatch2, kGoogle, kHyperfine, kJmh, kFormats };
constexpr const char* kNames[] = {
    "csv", "go", "catch2", "google_benchmark", "hyperfine", "jmh"};

std::string One(Format format, const Result& result) {
  const std::string time = absl::StrFormat("%.17g", result.seconds);
  const std::string ns = absl::StrFormat("%.17g", result.seconds * 1e9);
  switch (format) {
    case kCsv:
      return absl::StrCat("\"",
                          absl::StrReplaceAll(result.name, {{"\"", "\"\""}}),
                          "\",", time, ",\"a\"\n");
    case kGo:
      return absl::StrCat("BenchmarkA-2 \t 100 ", ns, " ns/op 3 B/op\n");
    case kCatch2:
      return absl::StrCat(
          "<BenchmarkResults name=\"",
          absl::StrReplaceAll(
              result.name,
              {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}}),
          "\" samples=\"9\"><mean value=\"", ns, "\"/></BenchmarkResults>");
    case kGoogle:
      return absl::StrCat("{\"name\":", Quoted(result.name),
                          ",\"real_time\":", ns, "}");
    case kHyperfine:
      return absl::StrCat("{\"command\":", Quoted(result.name), ",\"times\":[",
                          time, "]}");
    default:
      return absl::StrCat("{\"benchmark\":", Quoted(result.name),
                          ",\"primaryMetric\":{\"score\":1,\"scoreUnit\":",
                          "\"ns/op\",\"rawData\":[[", ns, "]]}}");
  }
}

Written Write(Format format, const std::vector<Result>& results) {
  constexpr const char* kBefore[] = {"name,time_s,note\n", "goos: linux\n",
                                     "<Catch2TestRun>",    "{\"benchmarks\":[",
                                     "{\"results\":[",     "["};
  constexpr const char* kAfter[] = {"",   "",   "</Catch2TestRun>",
                                    "]}", "]}", "]"};
  Written written;
  written.text = kBefore[format];
  for (const Result& result : results) {
    if (format >= kGoogle && !written.ends.empty()) written.text += ",";
    written.text += One(format, result);
    written.ends.push_back(written.text.size());
  }
  written.text += kAfter[format];
  return written;
}

void WriteAndRead(Decisions* decisions) {
  const auto format = static_cast<Format>(decisions->Below(kFormats));
  const bool is_cut = decisions->Yes();
  const uint32_t place = decisions->Below(1 << 16);
  std::vector<Result> results;
  while (!decisions->empty() && results.size() < 20) {
    Result result;
    // Not empty, and nothing that the formats cannot say.
    result.name = "n";
    for (const char c : decisions->Bytes(12)) {
      result.name += static_cast<char>(' ' + static_cast<uint8_t>(c) % 95);
    }
    if (decisions->Yes() && format == kCsv) result.name += "\n,\"";
    result.seconds = std::ldexp(1 + decisions->Below(1000),
                                static_cast<int>(decisions->Below(80)) - 60);
    results.push_back(result);
  }
  Written written = Write(format, results);
  size_t whole = results.size();
  if (is_cut) {
    written.text.resize(place % (written.text.size() + 1));
    whole = 0;
    for (const size_t end : written.ends) {
      if (end <= written.text.size()) ++whole;
    }
  }
  std::vector<Row> rows;
  const absl::Status status = Read(kNames[format], written.text, &rows);
  if (!is_cut) CHECK(status.ok()) << status << written.text;
  // Whatever follows an open quote would be dropped.
  if (format == kCsv &&
      std::count(written.text.begin(), written.text.end(), '"') % 2 == 1) {
    CHECK(!status.ok()) << written.text;
  }
  CHECK_LE(rows.size(), results.size()) << written.text;
  // A table may end in the middle of its last number.
  CHECK_LE(rows.size(), whole + 1) << written.text;
  if (status.ok()) CHECK_GE(rows.size(), whole) << written.text;
  for (size_t i = 0; i < rows.size() && i < whole; ++i) {
    CHECK_EQ(rows[i].status(), "ok") << written.text;
    CHECK_LE(std::abs(rows[i].p50_s() / results[i].seconds - 1), 1e-12)
        << written.text;
    if (format == kCsv || format == kCatch2) {
      CHECK_EQ(rows[i].transform(), results[i].name) << written.text;
    }
    if (format == kHyperfine) CHECK_EQ(rows[i].library(), results[i].name);
  }
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string>& names = feedrate::ImportNames();
  for (const std::string& harness :
       {std::string(), names[size % names.size()]}) {
    std::vector<feedrate::Row> rows;
    (void)feedrate::Read(harness, text, &rows);
  }
  feedrate::Decisions decisions(data, size);
  feedrate::WriteAndRead(&decisions);
  return 0;
}
