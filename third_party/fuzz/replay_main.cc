// Runs a fuzz target without libFuzzer: every file named on the command line,
// or every case of a table NAME.cases (see testdata/bad_inputs/BUILD), then
// mutations of them. The seed is fixed, so a failure comes back. The work
// is done in a child, so that whatever way it dies its last input can be saved:
// as failing_input in $TEST_UNDECLARED_OUTPUTS_DIR, or in the working folder.
//
// FEEDRATE_FULL=1 multiplies the number of mutations by 100. --unpack=FOLDER
// runs nothing and writes every input to a file in FOLDER. --mutations=N sets
// their number.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << path << ": cannot be read\n";
    std::exit(1);
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// `\xHH`, `\n` and `\\` as the bytes that they stand for.
std::string Unescape(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
    } else if (text[++i] == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i] == 'n' ? '\n' : text[i];
    }
  }
  return bytes;
}

// Adds the inputs in `path`: the file, or the cases of a table.
void AddInputs(const std::string& path, std::vector<std::string>* corpus) {
  const std::string content = ReadFile(path);
  const std::string kTable = ".cases";
  if (path.size() < kTable.size() ||
      path.substr(path.size() - kTable.size()) != kTable) {
    corpus->push_back(content);
    return;
  }
  const std::string kCase = "\n=== ";
  const std::string text = "\n" + content + "=== ";  // A head without a body.
  size_t at = text.find(kCase);
  size_t body = text.find('\n', at + kCase.size());
  while (body != std::string::npos) {
    const std::string head = text.substr(at, body - at);
    at = text.find(kCase, body);
    if (head.find(" escaped") == std::string::npos) {
      corpus->push_back(text.substr(body + 1, at - body));
    } else {
      corpus->push_back(Unescape(text.substr(body + 1, at - body - 1)));
    }
    body = text.find('\n', at + kCase.size());
  }
}

// Writes each input to a file in `folder`, for libFuzzer to start from.
int Unpack(const std::vector<std::string>& corpus, const std::string& folder) {
  for (size_t i = 0; i < corpus.size(); ++i) {
    std::ofstream file(folder + "/" + std::to_string(i), std::ios::binary);
    if (!(file << corpus[i]).flush()) {
      std::cerr << folder << ": cannot be written\n";
      return 1;
    }
  }
  return 0;
}

// The input at work, in memory that outlives the child.
struct Shared {
  size_t size;
  char bytes[1 << 20];
};

void RunOne(const std::string& input, Shared* shared) {
  shared->size = std::min(input.size(), sizeof(shared->bytes));
  std::memcpy(shared->bytes, input.data(), shared->size);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

// Changes `input` in one to four places: a byte replaced, a range removed, a
// range repeated elsewhere, or a piece of another input put in.
std::string Mutate(std::string input, const std::vector<std::string>& corpus,
                   std::mt19937& random) {
  const auto below = [&random](size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
  };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::string& other = corpus[below(corpus.size())];
    const size_t at = below(input.size() + 1);
    const size_t length = 1 + below(16);
    switch (below(4)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 1:
        input.erase(at, length);
        break;
      case 2:
        input.insert(at, input.substr(below(input.size() + 1), length));
        break;
      default:
        input.insert(at, other.substr(below(other.size() + 1), length));
    }
  }
  return input;
}

void RunAll(const std::vector<std::string>& corpus, int mutations,
            Shared* shared) {
  for (const std::string& input : corpus) RunOne(input, shared);
  if (std::getenv("FEEDRATE_FULL") != nullptr) mutations *= 100;
  std::mt19937 random(20240229);
  for (int i = 0; i < mutations; ++i) {
    RunOne(Mutate(corpus[random() % corpus.size()], corpus, random), shared);
  }
  std::cout << corpus.size() << " inputs and " << mutations
            << " mutations, no failure" << std::endl;
}

std::string SaveFailure(const Shared& shared) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path =
      std::string(folder != nullptr ? folder : ".") + "/failing_input";
  std::ofstream(path, std::ios::binary).write(shared.bytes, shared.size);
  return path;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus = {""};
  const std::string kUnpack = "--unpack=";
  const std::string kMutations = "--mutations=";
  std::string folder;
  // A second or two for a reader that takes 100 microseconds per input.
  int mutations = 20000;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(kUnpack, 0) == 0) {
      folder = argument.substr(kUnpack.size());
    } else if (argument.rfind(kMutations, 0) == 0) {
      mutations = std::stoi(argument.substr(kMutations.size()));
    } else {
      AddInputs(argument, &corpus);
    }
  }
  if (!folder.empty()) return Unpack(corpus, folder);

  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = memory == MAP_FAILED ? -1 : fork();
  if (child < 0) {
    std::perror("replay_main");
    return 1;
  }
  auto* shared = static_cast<Shared*>(memory);
  if (child == 0) {
    RunAll(corpus, mutations, shared);
    return 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  std::cerr << "failed on the input in " << SaveFailure(*shared) << "\n";
  return 1;
}
