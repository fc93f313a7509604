// The command line of stage_dataset, its help text and its shell completion.
//
// Has its own parser, because this program links nothing but libc.
#pragma once

#include <string>
#include <vector>

#include "lib/staging/stage.h"
#include "lib/tar/status.h"

namespace feedrate {

struct Flags {
  tar::StageOptions options;
  bool index = false;
  bool json = false;  // --format=jsonl.
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
    R"(stage_dataset: copy a data set to local disk, once and safely

usage: stage_dataset --source=SOURCE --dest=DIR [flags]

Unpacks a tar (ustar, pax, GNU, v7; plain, .gz or .zst), or copies a folder,
into DIR and then writes a sentinel file there. You can run it again at any
time: it returns at once if the same source is already staged, continues where
it stopped if it was killed, and waits if another process stages into the same
folder. It never writes outside DIR, whatever the archive contains.

Examples
  stage_dataset --source=val.tar --dest=/mnt/nvme/val
  stage_dataset --source=gs://bucket/val.tar.zst --dest=/mnt/nvme/val \
      --format=jsonl

Flags (hyphens or underscores; --flag=value or --flag value)
  --source=SOURCE       a tar, "-" for stdin, file://, https://, gs://, s3://
                        (with curl, gcloud or gsutil, aws), or a folder
  --dest=DIR            folder to write to; created if missing
  --expected-bytes=N    size of the source; checked before and after
  --sha256=HEX          SHA-256 of the source as stored; "compute" only reports
                        it
  --strip-components=N  remove the first N parts of every name
  --threads=N           writer threads (default: one per processor, 2 to 8)
  --timeout=SECONDS     give up a server that sends less than 1 kB/s for this
                        long; 0 never does (default 120)
  --max-bytes=N         refuse to unpack more data than this
  --no-sync             do not wait for the disk; the sentinel is then valid
                        until the next boot
  --force               stage again even if the data set is already staged
  --index               then make DIR/feedrate.jpegindex, with which loaders
                        read less of each JPEG; needs the program pipeline,
                        beside this one or on the PATH
  --format=NAME         what is written on stdout at the end: nothing, or one
                        record {text|jsonl} (default text)
  --help, --version, --completion=bash|zsh|fish

Exit codes
  0    staged, now or earlier
  1    a mistake on the command line
  2    the run failed, or the archive was refused; there is no sentinel,
       unless only --index failed
  130  interrupted; run it again to continue

Always skipped and counted: .DS_Store, ._*, __MACOSX, .AppleDouble, extended
attributes. make_dataset_tar.sh makes archives without them.
)";

// The completion script for "bash", "zsh" or "fish".
tar::Status CompletionScript(const std::string& shell, std::string* script);

}  // namespace feedrate
