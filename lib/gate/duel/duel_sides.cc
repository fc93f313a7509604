#include "lib/gate/duel/duel_sides.h"

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/gate/duel/duel.h"
#include "lib/imports/imports.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"

namespace feedrate {

std::string Filled(
    const std::string& command,
    const std::vector<std::pair<std::string, std::string>>& values) {
  return absl::StrReplaceAll(command, values);
}

std::vector<DuelRound> RoundsOf(const std::string& a,
                                const std::vector<std::string>& candidates,
                                const DuelParameters& parameters) {
  std::vector<DuelRound> rounds(1);
  for (const auto& parameter : parameters) {
    std::vector<DuelRound> more;
    for (const DuelRound& round : rounds) {
      for (const std::string& value : parameter.second) {
        more.push_back(round);
        absl::StrAppend(&more.back().point, round.point.empty() ? "" : ", ",
                        parameter.first, "=", value);
        more.back().values.emplace_back(absl::StrCat("{", parameter.first, "}"),
                                        value);
      }
    }
    rounds = std::move(more);
  }
  for (DuelRound& round : rounds) {
    round.a = Filled(a, round.values);
    for (const std::string& candidate : candidates) {
      Contest contest;
      contest.set_a(round.a);
      contest.set_b(Filled(candidate, round.values));
      std::vector<std::string> words;
      if (!round.point.empty()) words.push_back(round.point);
      if (candidates.size() > 1) words.push_back(contest.b());
      contest.set_name(absl::StrJoin(words, ", "));
      round.contests.push_back(std::move(contest));
    }
  }
  return rounds;
}

absl::StatusOr<std::pair<std::string, std::vector<std::string>>> ParseParameter(
    const std::string& text) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  std::vector<std::string> values =
      absl::StrSplit(parts.second, ',', absl::SkipEmpty());
  if (parts.first.empty() || values.empty() || parts.first == "jobs" ||
      parts.first == "seed" || parts.first == "side") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--parameter: \"", text,
        "\" is not a name other than jobs, seed and side, and its values, such "
        "as n=1,2,4"));
  }
  return std::make_pair(parts.first, std::move(values));
}

namespace {

constexpr char kJobsPlace[] = "{jobs}";

Row IdentityRow(const std::string& name) {
  Job job;
  job.set_mode("command");
  (*job.mutable_settings())["name"] = name;
  Row row;
  row.set_job_id(JobId(job));
  row.set_mode(job.mode());
  *row.mutable_settings() = job.settings();
  row.set_unit("sample");
  row.set_timed_unit("item");
  return row;
}

}  // namespace

absl::StatusOr<std::vector<Row>> RowsIn(const std::string& output,
                                        std::string* refused) {
  std::vector<Row> rows;
  if (!DetectHarness(output).empty()) {
    // The duel itself knows which machine this is.
    Importer importer({"", {}}, [&rows](const Row& row) {
      rows.push_back(row);
      rows.back().clear_machine_profile();
      return absl::OkStatus();
    });
    RETURN_IF_ERROR(importer.ReadText("output", output, false));
    return rows;
  }
  JsonReader reader;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    ++number;
    if (!absl::StartsWith(line, "{") ||
        !absl::StrContains(line, "\"record\"")) {
      continue;
    }
    const absl::StatusOr<std::string> record = reader.Open(line);
    absl::Status status = record.status();
    if (record.ok() && *record == "row") {
      Row row;
      status = reader.Read(&row);
      if (status.ok() && row.job_id().empty()) {
        status = absl::InvalidArgumentError("field \"job_id\" is missing");
      }
      if (status.ok()) rows.push_back(std::move(row));
    }
    if (!status.ok() && refused->empty()) {
      *refused = absl::StrCat("line ", number, ": ", status.message());
    }
  }
  return rows;
}

std::string CommandWithJobs(const std::string& command,
                            const std::string& jobs_file) {
  const std::string flag =
      jobs_file.empty() ? "" : absl::StrCat("--jobs=", jobs_file);
  if (absl::StrContains(command, kJobsPlace)) {
    return absl::StrReplaceAll(command, {{kJobsPlace, flag}});
  }
  return flag.empty() ? command : absl::StrCat(command, " ", flag);
}

Duel HeadOf(const DuelOptions& options) {
  Duel duel;
  duel.set_a(options.a);
  duel.set_b(options.floor ? options.a : options.b);
  duel.set_seed(static_cast<int64_t>(options.seed));
  for (const int look : options.looks) duel.add_stages(look);
  duel.set_interest_percent(options.interest_percent);
  duel.set_pinned_to(absl::StrJoin(options.cpus, ","));
  duel.set_machine_profile(options.machine_profile);
  if (options.error_percent > 0) {
    duel.set_error_percent(options.error_percent);
  }
  if (!options.relink.empty()) duel.set_relinked(true);
  *duel.mutable_flags() = {options.flags.begin(), options.flags.end()};
  return duel;
}

TimedCommand CommandOfSide(const DuelOptions& options, bool side_b,
                           bool prints_rows, int padding) {
  TimedCommand spec;
  spec.shell = options.shell;
  spec.cpus = options.cpus;
  spec.timeout_s = options.timeout_s;
  spec.is_stopped = options.is_stopped;
  if (padding >= 0) {
    spec.variables.push_back(
        absl::StrCat("FEEDRATE_PADDING=", std::string(padding, 'x')));
  }
  if (options.slow_b_percent <= 0) return spec;
  if (!prints_rows) {
    // The same two processes on both sides, on A with almost no loop.
    spec.burn_percent = side_b ? options.slow_b_percent : 1e-9;
  } else if (side_b) {
    spec.variables.push_back(
        absl::StrCat(kSlowdownVariable, "=", options.slow_b_percent));
  }
  return spec;
}

bool IsRefusal(const TimedCommandResult& result) {
  return result.Status() == "failed" && (WEXITSTATUS(result.wait_status) == 1 ||
                                         WEXITSTATUS(result.wait_status) == 2);
}

double RunSeconds(const std::vector<Row>& rows, RunStatistic statistic) {
  double sum = 0;
  int count = 0;
  for (const Row& row : rows) {
    const absl::optional<double> log = RunLog(row, statistic);
    if (!log || row.library() == "null") continue;
    sum += *log;
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

Pair PairOf(const std::string& contest, bool side_b, int index) {
  Pair pair;
  pair.set_index(index);
  pair.set_side(side_b ? "b" : "a");
  if (!contest.empty()) pair.set_contest(contest);
  return pair;
}

Control ControlOf(const std::string& name, const std::string& contest,
                  bool side_b, int index, double seconds) {
  Control control;
  control.set_name(name);
  *control.mutable_pair() = PairOf(contest, side_b, index);
  control.set_seconds(seconds);
  return control;
}

Row WallRow(const std::string& name, const TimedCommandResult& result) {
  Row row = IdentityRow(name);
  row.set_status("ok");
  row.set_items(1);
  row.set_elapsed_s(result.wall_s);
  row.set_duration_s(result.wall_s);
  row.set_throughput(1 / result.wall_s);
  row.add_samples_s(result.wall_s);
  row.set_p50_s(result.wall_s);
  row.set_rss_peak_bytes(result.rss_peak_bytes);
  *row.mutable_usage() = result.usage;
  if (result.energy_j) row.mutable_energy()->set_cpu_j(*result.energy_j);
  return row;
}

Row FailureRow(const std::string& name, const TimedCommandResult& result) {
  Row row = IdentityRow(name);
  row.set_status(result.Status());
  row.set_reason(result.Reason());
  row.set_duration_s(result.wall_s);
  return row;
}

namespace {

// Copies a T from `offset`. False when it would be outside of the file.
template <typename T>
bool Load(absl::string_view file, uint64_t offset, T* value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(value, file.data() + offset, sizeof(T));
  return true;
}

// Linkers make ids of 8 to 32 bytes.
constexpr uint64_t kMaxIdBytes = 64;

uint64_t Aligned(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

// Clears the build ids among the notes in [start, start + size).
bool ClearNotes(uint64_t start, uint64_t size, std::string* elf) {
  if (start > elf->size() || size > elf->size() - start) return false;
  const uint64_t end = start + size;
  while (start + sizeof(Elf64_Nhdr) <= end) {
    Elf64_Nhdr note;
    if (!Load(*elf, start, &note)) return false;
    const uint64_t name = start + sizeof(note);
    const uint64_t content = name + Aligned(note.n_namesz);
    const uint64_t next = content + Aligned(note.n_descsz);
    if (next > end || next <= start) return false;
    const bool is_gnu =
        note.n_namesz == 4 && elf->compare(name, 4, std::string("GNU", 4)) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID &&
        note.n_descsz <= kMaxIdBytes) {
      std::memset(&(*elf)[content], 0, note.n_descsz);
    }
    start = next;
  }
  return true;
}

// The file that running `word` would start. Empty if there is none.
std::string FileOf(const std::string& word) {
  if (absl::StrContains(word, "/")) return word;
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder :
       absl::StrSplit(path != nullptr ? path : "", ':')) {
    const std::string file = JoinPath(folder, word);
    if (IsFile(file) && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace

std::string WithoutBuildIds(absl::string_view elf) {
  Elf64_Ehdr header;
  if (!Load(elf, 0, &header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return "";
  }
  std::string result(elf);
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!Load(elf, header.e_phoff + i * sizeof(segment), &segment)) return "";
    // Notes aligned to 8 are not build ids.
    if (segment.p_type != PT_NOTE || segment.p_align > 4) continue;
    if (!ClearNotes(segment.p_offset, segment.p_filesz, &result)) return "";
  }
  return result;
}

bool AreSamePrograms(const std::string& a, const std::string& b) {
  constexpr char kShellCharacters[] = "|&;<>()$`\\\"'*?[]#~{}!\n";
  for (const std::string& command : {a, b}) {
    if (command.find_first_of(kShellCharacters) != std::string::npos) {
      return false;
    }
  }
  const auto a_words = SplitCommand(a);
  const auto b_words = SplitCommand(b);
  if (!a_words.ok() || !b_words.ok() || a_words->empty() || b_words->empty() ||
      absl::StrContains((*a_words)[0] + (*b_words)[0], "=") ||
      !std::equal(a_words->begin() + 1, a_words->end(), b_words->begin() + 1,
                  b_words->end())) {
    return false;
  }
  const absl::StatusOr<std::string> a_file = ReadFile(FileOf((*a_words)[0]));
  const absl::StatusOr<std::string> b_file = ReadFile(FileOf((*b_words)[0]));
  if (!a_file.ok() || !b_file.ok() || a_file->size() != b_file->size() ||
      absl::StrContains(*a_file, "$ORIGIN")) {
    return false;
  }
  const std::string code = WithoutBuildIds(*a_file);
  return !code.empty() && code == WithoutBuildIds(*b_file);
}

std::vector<Contest> ContestsOf(const std::vector<DuelRound>& rounds) {
  std::vector<Contest> contests;
  for (const DuelRound& round : rounds) {
    contests.insert(contests.end(), round.contests.begin(),
                    round.contests.end());
  }
  return contests;
}

std::vector<Contest> TakeOutIdentical(std::vector<DuelRound>* rounds) {
  for (DuelRound& round : *rounds) {
    for (Contest& contest : round.contests) {
      if (AreSamePrograms(contest.a(), contest.b())) {
        contest.set_identical(true);
      }
    }
  }
  std::vector<Contest> contests = ContestsOf(*rounds);
  for (DuelRound& round : *rounds) {
    round.contests.erase(
        std::remove_if(round.contests.begin(), round.contests.end(),
                       [](const Contest& c) { return c.identical(); }),
        round.contests.end());
  }
  rounds->erase(
      std::remove_if(rounds->begin(), rounds->end(),
                     [](const DuelRound& r) { return r.contests.empty(); }),
      rounds->end());
  return contests;
}

}  // namespace feedrate
