// The command line of stage_dataset, its help text and its shell completion.
//
// Has its own parser, because this program links nothing but libc.
#ifndef FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_
#define FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_

#include <string>
#include <vector>

#include "lib/staging/stage.h"
#include "lib/tar/status.h"

namespace feedrate {

struct Flags {
  tar::StageOptions options;
  bool json = false;
  bool help = false;
  bool version = false;
  std::string completion;  // The shell whose completion script to print.
};

// One flag, for completion.
struct FlagInfo {
  const char* name;
  bool takes_value;
  const char* text;
};

// All flags, in the order of the help text.
std::vector<FlagInfo> FlagList();

// Parses the arguments after the program's name. Hyphens and underscores are
// equivalent in flag names. A value follows "=" or is the next argument.
tar::Status ParseFlags(const std::vector<std::string>& arguments, Flags* flags);

inline constexpr char kVersion[] = "0.1.0";

inline constexpr char kHelp[] =
    R"(stage_dataset puts a data set on local disk: once, whole, and safely.

  stage_dataset --source=val.tar --dest=/mnt/nvme/val

It unpacks a tar (ustar, pax, GNU, v7; plain, .gz or .zst), or copies a folder,
into DIR and then leaves a sentinel there. Run it again: it returns at once if
the source is the same, goes on where it was if it was killed, and waits if
another process stages into the same folder. Nothing is written outside of DIR,
whatever the archive says.

Flags (hyphens or underscores; --flag=value or --flag value):
  --source=S            a tar, "-" for stdin, file://, https://, gs://, s3://
                        (by curl, gcloud or gsutil, aws), or a folder
  --dest=DIR            where it goes; made if it is missing
  --expected-bytes=N    size of the source; checked before and after
  --sha256=HEX          SHA-256 of the source as it is stored; "compute" only
                        reports it
  --strip-components=N  leave out the first N parts of every name
  --threads=N           writers (default: one a processor, 2 to 8)
  --max-bytes=N         refuse to unpack more data than that
  --no-sync             do not wait for the disk; the sentinel then holds until
                        the next boot
  --force               stage again even if it is done
  --json                one JSON record on stdout when it is done
  --help, --version, --completion=bash|zsh|fish

Exit codes:
  0    staged, now or earlier
  1    a mistake on the command line
  2    the run failed, or the archive was refused; there is no sentinel
  130  interrupted; run it again to go on

Left out always, and counted: .DS_Store, ._*, __MACOSX, .AppleDouble, extended
attributes. Make archives without them by make_dataset_tar.sh.
)";

// The completion script for "bash", "zsh" or "fish".
tar::Status CompletionScript(const std::string& shell, std::string* script);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_
