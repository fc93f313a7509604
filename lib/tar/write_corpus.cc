// Writes the corpus into a folder, one archive a file.
//
//   bazel run //lib/tar:write_corpus -- /tmp/corpus
#include <cstdio>

#include "lib/tar/corpus.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: write_corpus FOLDER\n");
    return 1;
  }
  for (const auto& test : feedrate::tar::WholeCorpus()) {
    const std::string path = std::string(argv[1]) + "/" + test.name + ".tar";
    FILE* file = fopen(path.c_str(), "wb");
    if (file == nullptr ||
        fwrite(test.bytes.data(), 1, test.bytes.size(), file) !=
            test.bytes.size() ||
        fclose(file) != 0) {
      fprintf(stderr, "write_corpus: %s: cannot be written\n", path.c_str());
      return 2;
    }
  }
  return 0;
}
