#include "tools/stage_dataset/run_tool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace feedrate {
namespace {

namespace fs = std::filesystem;

std::string TakeText(int fd) {
  std::string text(lseek(fd, 0, SEEK_END), '\0');
  if (pread(fd, text.data(), text.size(), 0) < 0) text.clear();
  close(fd);
  return text;
}

}  // namespace

std::string ToolPath() {
  return fs::absolute("tools/stage_dataset/stage_dataset");
}

pid_t StartProgram(const std::vector<std::string>& argv, int stdin_fd,
                   int stdout_fd, int stderr_fd,
                   const std::map<std::string, std::string>& environment) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  // Looking for leaks takes a sanitized program seconds at its end, and there
  // are hundreds of runs; the tests of lib/tar look for them once each.
  setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  dup2(stdin_fd >= 0 ? stdin_fd : open("/dev/null", O_RDONLY), 0);
  dup2(stdout_fd, 1);
  dup2(stderr_fd, 2);
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(126);
}

int WaitForProgram(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

ToolRun RunProgram(const std::vector<std::string>& argv, int stdin_fd,
                   const std::map<std::string, std::string>& environment) {
  const int out = memfd_create("out", MFD_CLOEXEC);
  const int err = memfd_create("err", MFD_CLOEXEC);
  ToolRun run;
  run.exit_code =
      WaitForProgram(StartProgram(argv, stdin_fd, out, err, environment));
  run.out = TakeText(out);
  run.err = TakeText(err);
  return run;
}

ToolRun RunTool(const std::vector<std::string>& arguments, int stdin_fd,
                const std::map<std::string, std::string>& environment) {
  std::vector<std::string> argv = {ToolPath()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return RunProgram(argv, stdin_fd, environment);
}

TempFolder::TempFolder() {
  const char* base = getenv("TEST_TMPDIR");
  path_ = std::string(base != nullptr ? base : "/tmp") + "/stage.XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) abort();
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void WriteFile(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::map<std::string, std::string> ReadTree(const std::string& path) {
  std::map<std::string, std::string> tree;
  for (const auto& item : fs::recursive_directory_iterator(path)) {
    const std::string name = item.path().lexically_relative(path);
    if (name.rfind(".stage_dataset.", 0) == 0) continue;
    if (item.is_symlink()) {
      tree[name] = "-> " + fs::read_symlink(item.path()).string();
    } else if (item.is_directory()) {
      tree[name] = "<folder>";
    } else {
      tree[name] = ReadFile(item.path());
    }
  }
  return tree;
}

}  // namespace feedrate
