// Writes the corpus as files, one archive each: all of it, the cut archives
// too, into a folder for a fuzzer
//
//   bazel run //lib/tar:write_corpus -- /tmp/corpus
//
// or what is not cut to the files named, which must be as many.
#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <vector>

#include "lib/tar/corpus.h"

namespace {

using feedrate::tar::CorpusCase;

bool Write(const CorpusCase& test, const std::string& path) {
  FILE* file = fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = fwrite(test.bytes.data(), 1, test.bytes.size(), file) ==
                       test.bytes.size();
  return fclose(file) == 0 && written;
}

std::vector<CorpusCase> Uncut() {
  std::vector<CorpusCase> all;
  for (const auto& some :
       {feedrate::tar::GoodCorpus(), feedrate::tar::BrokenCorpus(),
        feedrate::tar::HostileCorpus()}) {
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
  const auto cases = folder ? feedrate::tar::WholeCorpus() : Uncut();
  if (!folder && cases.size() != static_cast<size_t>(argc - 1)) {
    fprintf(stderr,
            "write_corpus: the corpus has %zu archives; want a folder, or as "
            "many files and not %d\n",
            cases.size(), argc - 1);
    return 1;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string path =
        folder ? std::string(argv[1]) + "/" + cases[i].name + ".tar"
               : argv[i + 1];
    if (Write(cases[i], path)) continue;
    fprintf(stderr, "write_corpus: %s: cannot be written\n", path.c_str());
    return 2;
  }
  return 0;
}
