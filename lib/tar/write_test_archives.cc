// Writes the test archives as files: all of them, including the cut ones, into
// a folder for a fuzzer,
//
//   bazel run //lib/tar:write_test_archives -- /tmp/archives
//
// or those that are not cut to the named files, one file per archive.
#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <vector>

#include "lib/tar/test_archives.h"

namespace {

using feedrate::tar::TestArchive;

bool Write(const TestArchive& test, const std::string& path) {
  FILE* file = fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = fwrite(test.bytes.data(), 1, test.bytes.size(), file) ==
                       test.bytes.size();
  return fclose(file) == 0 && written;
}

std::vector<TestArchive> Uncut() {
  std::vector<TestArchive> all;
  for (const auto& some :
       {feedrate::tar::GoodArchives(), feedrate::tar::BrokenArchives(),
        feedrate::tar::HostileArchives()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool IsFolder(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

int main(int argc, char** argv) {
  const bool folder = argc == 2 && IsFolder(argv[1]);
  const auto cases = folder ? feedrate::tar::AllTestArchives() : Uncut();
  if (!folder && cases.size() != static_cast<size_t>(argc - 1)) {
    fprintf(stderr,
            "write_test_archives: there are %zu archives; want a folder, or as "
            "many files and not %d\n",
            cases.size(), argc - 1);
    return 1;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string path =
        folder ? std::string(argv[1]) + "/" + cases[i].name + ".tar"
               : argv[i + 1];
    if (Write(cases[i], path)) continue;
    fprintf(stderr, "write_test_archives: %s: cannot be written\n",
            path.c_str());
    return 2;
  }
  return 0;
}
