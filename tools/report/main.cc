// Turns rows into a report with tables and figures (HTML or Markdown), and
// checks targets and claims.
//
//   bazel run //tools/report -- $PWD/rows.jsonl --output=$PWD/report.html
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/report/make_report.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"

DEFINE_string(output, "",
              "FILE: where to write the page or the Markdown; - means standard "
              "output, which is the default unless only figures, targets or "
              "claims are requested");
DEFINE_string(format, "html", "NAME: output format {html|markdown}");
DEFINE_string(
    svg, "",
    "FOLDER: write each figure to its own file in this folder, for papers");
DEFINE_string(baseline, "",
              "FILES: earlier rows, or folders with them, to show changes "
              "against; separated by commas");
DEFINE_string(history, "",
              "FILES: rows of many revisions, or folders with them, to plot "
              "with their change points; separated by commas");
DEFINE_string(commit_url, "",
              "URL: where a revision of --history can be looked at, with "
              "{commit} in place of its hash");
DEFINE_string(targets, "",
              "FILE: targets that the rows should reach, such as "
              "configs/gate/targets.textproto; exit 3 if one is missed");
DEFINE_string(check_claims, "",
              "FILE: Markdown whose numbers carry references to rows; exit 3 "
              "if a number does not follow from its rows");
DEFINE_string(relative_to, "",
              "BASE: library that speed-ups are relative to; default: the "
              "library that ran the most");
DEFINE_bool(
    any_work, false,
    "also show speed-ups between rows that are not known to do the same work");
DEFINE_string(title, "feedrate report", "TEXT: heading of the report");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "report";
  info.summary = "make an HTML page with charts and tables from rows";
  info.usage = "[flags] [FILE|FOLDER|-...]";
  info.description =
      "Reads rows (and env and run records) from files, folders or standard\n"
      "input (-). Writes one self-contained HTML page, Markdown or figures.\n"
      "With --targets and --check_claims, also checks the rows. Exit 1: a\n"
      "record is refused, and the others are shown; 3: a target is missed, or\n"
      "a number does not follow from the rows; 4: no target can be judged; 5:\n"
      "there is nothing to compare.";
  info.examples = {
      "report rows.jsonl --output=report.html --svg=figures",
      "report rows.jsonl --format=markdown --baseline=old.jsonl > report.md",
      "report rows.jsonl --targets=configs/gate/targets.textproto",
      "report rows.jsonl --check-claims=paper.md",
      "report --history=nightly --output=history.html "
      "--commit-url=https://github.com/me/project/commit/{commit}",
  };
  info.takes_arguments = true;
  info.flag_files = {"tools/report/main.cc"};
  return info;
}

absl::StatusOr<ExitCode> RunFromFlags(
    const std::vector<std::string>& arguments) {
  ReportRequest request;
  request.paths = arguments;
  // A history needs no rows.
  if (arguments.empty() && FLAGS_history.empty()) {
    if (isatty(STDIN_FILENO) == 1) {
      return absl::InvalidArgumentError(
          "no file is given; name files or folders, or pipe records in");
    }
    request.paths = {"-"};
  }
  request.output = FLAGS_output;
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"html", "markdown"}));
  request.markdown = FLAGS_format == "markdown";
  request.svg_folder = FLAGS_svg;
  request.baseline = FLAGS_baseline;
  request.history = FLAGS_history;
  request.commit_url = FLAGS_commit_url;
  request.targets = FLAGS_targets;
  request.claims = FLAGS_check_claims;
  request.relative_to = FLAGS_relative_to;
  request.any_work = FLAGS_any_work;
  request.title = FLAGS_title;
  request.warn = [](const std::string& text) {
    std::cerr << "report: " << PrintableText(text) << "\n";
  };
  return MakeReport(request, std::cout);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
