// Runs the real stage_dataset, for tests.
#ifndef FEEDRATE_TOOLS_STAGE_DATASET_RUN_TOOL_H_
#define FEEDRATE_TOOLS_STAGE_DATASET_RUN_TOOL_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace feedrate {

struct ToolRun {
  int exit_code = -1;  // 128 + N when signal N ended it.
  std::string out;
  std::string err;
};

// The binary under test.
std::string ToolPath();

// Starts a program without waiting. Its stdin is `stdin_fd`, or /dev/null.
// `environment` is added to ours.
pid_t StartProgram(const std::vector<std::string>& argv, int stdin_fd,
                   int stdout_fd, int stderr_fd,
                   const std::map<std::string, std::string>& environment);

// As ToolRun has it.
int WaitForProgram(pid_t pid);

// Runs stage_dataset with these arguments and waits for it.
ToolRun RunTool(const std::vector<std::string>& arguments, int stdin_fd = -1,
                const std::map<std::string, std::string>& environment = {});

// The same for any program.
ToolRun RunProgram(const std::vector<std::string>& argv, int stdin_fd = -1,
                   const std::map<std::string, std::string>& environment = {});

// A folder of its own for a test, empty and absolute, gone with this object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);

// What lies below a folder: path to content, "<folder>" or "-> target". The
// tool's own files are left out.
std::map<std::string, std::string> ReadTree(const std::string& path);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_RUN_TOOL_H_
