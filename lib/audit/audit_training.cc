#include "lib/audit/audit_training.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "lib/audit/audit_report.h"
#include "lib/audit/judge.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

constexpr char kManifest[] = "feedrate_audit.json";
// Codes of items have so many values.
constexpr int64_t kMostItems = 65536;

absl::StatusOr<AuditItems> ReadItems(const std::string& folder) {
  const std::string path = JoinPath(folder, kManifest);
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  AuditItems items;
  JsonReader reader;
  const auto fail = [&path](const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", status.message(),
        "; make it again: ", ProgramCommand("audit"), " --make=FOLDER"));
  };
  const absl::StatusOr<std::string> record =
      reader.Open(absl::StripTrailingAsciiWhitespace(text));
  if (!record.ok()) return fail(record.status());
  const absl::Status read = reader.Read(&items);
  if (!read.ok()) return fail(read);
  if (*record != "audit_items" || items.items() < 1 ||
      items.validation_items() < 0 || items.items() > kMostItems ||
      items.validation_items() > kMostItems ||
      absl::c_any_of(items.sources(),
                     [](int64_t n) { return n < 1 || n > kMostItems; }) ||
      (items.sources_size() > 0 &&
       absl::c_accumulate(items.sources(), int64_t{0}) != items.items())) {
    return fail(absl::InvalidArgumentError("is not what --make writes"));
  }
  return items;
}

// The folder of the data set: the flag, or a word of the command that is one or
// is in one.
absl::StatusOr<std::string> FindDataset(const AuditOptions& options) {
  if (!options.dataset.empty()) return options.dataset;
  std::vector<std::string> words = options.plan.command;
  for (const absl::string_view word :
       absl::StrSplit(absl::StrJoin(options.plan.command, " "),
                      absl::ByAnyChar(" ='\""), absl::SkipEmpty())) {
    words.emplace_back(word);
  }
  for (const std::string& word : words) {
    for (const std::string& folder : {word, ParentFolder(word)}) {
      if (IsFile(JoinPath(folder, kManifest))) return folder;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no word of the command names a data set of --make; name it "
                   "with --dataset=FOLDER, or make one: ",
                   ProgramCommand("audit"), " --make=FOLDER"));
}

// A folder that is removed at the end.
class WorkFolder {
 public:
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Create() {
    const char* const base = getenv("TMPDIR");
    std::string path =
        JoinPath(base == nullptr || *base == '\0' ? "/tmp" : base,
                 "feedrate-audit.XXXXXX");
    if (mkdtemp(&path[0]) == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot make ", path, ": ", strerror(errno)));
    }
    return std::unique_ptr<WorkFolder>(new WorkFolder(path));
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

absl::StatusOr<AuditedTraining> AuditOne(const TrainingPlan& plan,
                                         const AuditItems& items,
                                         const std::vector<double>& weights,
                                         const std::string& dataset) {
  AuditedTraining one;
  Audit& audit = one.audit;
  audit.set_mode("training");
  audit.set_library(absl::StrJoin(plan.command, " "));
  audit.set_device("cpu");
  audit.set_dataset(BaseName(dataset));
  audit.set_seed(static_cast<int64_t>(plan.seed));
  audit.set_status("ok");
  audit.mutable_training()->set_world_size(plan.world_size);
  absl::StatusOr<TrainingRun> whole = RunWhole(plan);
  RETURN_IF_ERROR(whole.status());
  one.runs.push_back(*std::move(whole));
  const auto steps =
      static_cast<int64_t>(one.runs[0].lives[0].ranks[0].training.size());
  if (plan.kills > 0 && steps > 1) {
    absl::StatusOr<TrainingRun> killed = RunWithKills(plan, steps);
    RETURN_IF_ERROR(killed.status());
    one.runs.push_back(*std::move(killed));
  }
  JudgeTraining(items, one.runs[0],
                one.runs.size() > 1 ? &one.runs[1] : nullptr,
                {weights, false, nullptr}, &audit);
  const int64_t kills = audit.training().kills();
  if (audit.verdict() == "pass" && kills < plan.kills) {
    audit.clear_verdict();
    audit.set_reason(absl::StrCat(
        "only ", kills, " of ", Counted(plan.kills, "kill"),
        " came before the training ended by itself; train for more steps, or "
        "ask for fewer kills"));
  }
  return one;
}

absl::StatusOr<std::string> Render(const std::string& format,
                                   const AuditItems& items,
                                   const std::vector<AuditedTraining>& done) {
  if (format == "text" || format == "txt") return TrainingText(done);
  if (format == "markdown" || format == "md") return TrainingMarkdown(done);
  if (format == "junit" || format == "xml") return TrainingJunit(done);
  if (format == "html") return TrainingHtml(items, done);
  if (format != "jsonl") {
    return absl::InvalidArgumentError(
        absl::StrCat("--reports: \".", format,
                     "\" says not what to write; use .html, .xml, .md, .txt or "
                     ".jsonl"));
  }
  std::string text;
  for (const AuditedTraining& one : done) AppendRecord(one.audit, &text);
  return text;
}

std::string EndingOf(const std::string& path) {
  const std::string name = BaseName(path);
  const size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

ExitCode CodeOf(const std::vector<AuditedTraining>& done) {
  ExitCode code = ExitCode::kDone;
  for (const AuditedTraining& one : done) {
    if (one.audit.verdict() == "fail") return ExitCode::kCheckSaidNo;
    if (one.audit.verdict().empty()) code = ExitCode::kCannotTell;
  }
  return code;
}

}  // namespace

absl::StatusOr<ExitCode> MakeItems(const ItemsToMake& wanted) {
  int64_t all = wanted.validation_items;
  for (const auto text : absl::StrSplit(wanted.items, ',')) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(text, &count) || count < 1 || count > kMostItems) {
      return absl::InvalidArgumentError(
          absl::StrCat("--items: \"", text,
                       "\" is not a number of items from 1 to ", kMostItems));
    }
    all += count;
  }
  if (wanted.validation_items < 0 || all > kMostItems) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--items and --validation_items: at most ", kMostItems, " together"));
  }
  if (wanted.classes < 1 || wanted.side < 16 || wanted.side > 4096) {
    return absl::InvalidArgumentError(
        "--classes must be at least 1, and --side 16 to 4096");
  }
  ASSIGN_OR_RETURN(const std::string hook, FindHook());
  const std::vector<std::string> words = {wanted.python,
                                          JoinPath(hook, "make_items.py"),
                                          wanted.folder,
                                          wanted.layout,
                                          wanted.items,
                                          absl::StrCat(wanted.validation_items),
                                          absl::StrCat(wanted.classes),
                                          absl::StrCat(wanted.side)};
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return absl::InvalidArgumentError(absl::StrCat(
      "--python: cannot start ", wanted.python, ": ", strerror(errno)));
}

absl::StatusOr<ExitCode> AuditTrainings(const AuditOptions& options,
                                        std::ostream& log) {
  if (options.plan.command.empty()) {
    return absl::InvalidArgumentError(
        "name the training after --, such as: audit --dataset=ids -- python "
        "train.py --data ids");
  }
  ASSIGN_OR_RETURN(const std::string dataset, FindDataset(options));
  ASSIGN_OR_RETURN(const AuditItems items, ReadItems(dataset));
  if (!options.weights.empty() &&
      options.weights.size() != static_cast<size_t>(items.sources_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--weights has ", options.weights.size(), " numbers, and ",
                     dataset, " has ", Counted(items.sources_size(), "source"),
                     "; make it with one number of --items per source"));
  }
  for (const std::string& path : options.reports) {
    RETURN_IF_ERROR(Render(EndingOf(path), items, {}).status());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<WorkFolder> work,
                   WorkFolder::Create());
  TrainingPlan plan = options.plan;
  ASSIGN_OR_RETURN(plan.hook, FindHook());
  plan.work = work->path();
  const Interrupt interrupt;
  plan.is_interrupted = [&interrupt] { return interrupt.happened(); };
  std::vector<AuditedTraining> done;
  for (const int world_size : options.world_sizes) {
    plan.world_size = world_size;
    ASSIGN_OR_RETURN(AuditedTraining one,
                     AuditOne(plan, items, options.weights, dataset));
    done.push_back(std::move(one));
  }
  log << TrainingText(done) << std::flush;
  for (const std::string& path : options.reports) {
    ASSIGN_OR_RETURN(const std::string text,
                     Render(EndingOf(path), items, done));
    RETURN_IF_ERROR(WriteFileAtomically(path, text));
  }
  const bool is_stdout = options.output == "-";
  // A terminal has the page of people already.
  if (is_stdout && options.format == "jsonl" && isatty(STDOUT_FILENO) != 0) {
    return CodeOf(done);
  }
  ASSIGN_OR_RETURN(const std::string text, Render(options.format, items, done));
  if (is_stdout) {
    std::cout << text << std::flush;
  } else {
    RETURN_IF_ERROR(WriteFileAtomically(options.output, text));
  }
  return CodeOf(done);
}

}  // namespace feedrate
