// The commands of a duel: which run against each other, whether they are the
// same program, and the rows that they print or get.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/gate/duel/timed_command.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// The commands that run in one round: the baseline and its candidates, with one
// combination of parameters.
struct DuelRound {
  // Such as `n=4, m=x`. Empty without parameters.
  std::string point;
  std::string a;
  std::vector<Contest> contests;
  // Values of the parameters by `{name}`.
  std::vector<std::pair<std::string, std::string>> values;
};

// Names of parameters and the values of each.
using DuelParameters =
    std::vector<std::pair<std::string, std::vector<std::string>>>;

// One round per combination of parameters. `{name}` in the commands is replaced
// by the parameter's value.
std::vector<DuelRound> RoundsOf(const std::string& a,
                                const std::vector<std::string>& candidates,
                                const DuelParameters& parameters);

// `command` with each `{name}` replaced by its value.
std::string Filled(
    const std::string& command,
    const std::vector<std::pair<std::string, std::string>>& values);

// Parses `n=1,2,4`. InvalidArgument, with the flag, if it is something else.
absl::StatusOr<std::pair<std::string, std::vector<std::string>>> ParseParameter(
    const std::string& text);

// The rows in a command's output, which may also be results of another harness.
// InvalidArgument if those cannot be read. Ignores lines that are not records,
// because a plain command may print anything. `refused` says what is wrong with
// the first line that looks like a record and is none; it stays empty if there
// is no such line.
absl::StatusOr<std::vector<Row>> RowsIn(const std::string& output,
                                        std::string* refused);

// `command` restricted to the jobs in `jobs_file`: replaces `{jobs}` by
// `--jobs=FILE`, or appends that if there is no `{jobs}`. Without a file,
// removes `{jobs}`.
std::string CommandWithJobs(const std::string& command,
                            const std::string& jobs_file);

struct DuelOptions;

// The record of how the duel runs, without its contests.
Duel HeadOf(const DuelOptions& options);

// What is the same in all runs of a side but the command itself. The
// environment grows by `padding` bytes if that is not below 0.
TimedCommand CommandOfSide(const DuelOptions& options, bool side_b,
                           bool prints_rows, int padding);

// Whether the command may have refused a flag: exit code 1, a usage error in
// all programs of this project and in most others, or 2.
bool IsRefusal(const TimedCommandResult& result);

// Time of a run that printed `rows`: the geometric mean over its jobs. 0 if
// there is none.
double RunSeconds(const std::vector<Row>& rows, RunStatistic statistic);

// The place of a run in the duel. `contest` may be empty.
Pair PairOf(const std::string& contest, bool side_b, int index);
Control ControlOf(const std::string& name, const std::string& contest,
                  bool side_b, int index, double seconds);

// The row of a plain command's run, with its wall time as the only sample.
Row WallRow(const std::string& name, const TimedCommandResult& result);

// The row of a command that did not run to completion.
Row FailureRow(const std::string& name, const TimedCommandResult& result);

// `elf` with its build ids (notes of type NT_GNU_BUILD_ID, up to 64 bytes) set
// to zeros. Empty if it is not a whole 64-bit little-endian ELF file.
std::string WithoutBuildIds(absl::string_view elf);

// Whether `a` and `b` are sure to do the same work: plain words without
// anything that a shell would expand, equal apart from the first word, which
// names ELF programs with equal bytes apart from their build ids. False for
// scripts and for programs that look for libraries next to themselves
// ($ORIGIN), because what those load may differ.
bool AreSamePrograms(const std::string& a, const std::string& b);

// All contests, in their order.
std::vector<Contest> ContestsOf(const std::vector<DuelRound>& rounds);
// The same, with `identical` set for those of the same programs, which are then
// no longer among `rounds`.
std::vector<Contest> TakeOutIdentical(std::vector<DuelRound>* rounds);

}  // namespace feedrate
