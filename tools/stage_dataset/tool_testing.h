// For tests: runs the real stage_dataset, and an HTTP server to stage from.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace feedrate {

struct ToolRun {
  int exit_code = -1;  // 128 + N when it was killed by signal N.
  std::string out;
  std::string err;
};

// The binary under test.
std::string ToolPath();

// Starts a program without waiting for it. Its stdin is `stdin_fd`, or
// /dev/null if that is -1. `environment` is added to ours.
pid_t StartProgram(const std::vector<std::string>& argv, int stdin_fd,
                   int stdout_fd, int stderr_fd,
                   const std::map<std::string, std::string>& environment);

// Waits until it exits. Returns its exit code as in ToolRun.
int WaitForProgram(pid_t pid);

// Whether the program is on the PATH.
bool Have(const std::string& program);

// Runs stage_dataset with these arguments and waits for it.
ToolRun RunTool(const std::vector<std::string>& arguments, int stdin_fd = -1,
                const std::map<std::string, std::string>& environment = {});

// The same for any program.
ToolRun RunProgram(const std::vector<std::string>& argv, int stdin_fd = -1,
                   const std::map<std::string, std::string>& environment = {});

// A temporary folder with an absolute path, removed by the destructor.
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

// What is below a folder: maps a path to its content, "<folder>" or "->
// target". The tool's own files are left out.
std::map<std::string, std::string> ReadTree(const std::string& path);

// A small HTTP server on the loopback interface. Answers GET and HEAD, one
// connection at a time:
//   /set.tar   the body, with its ETag
//   /moved     a redirect to /set.tar
//   /broken    promises the whole body and hangs up in the middle
//   /silent    promises the whole body and says nothing after the middle
//   /mute      takes the request and says nothing
//   others     404
// The query is ignored.
class HttpServer {
 public:
  explicit HttpServer(std::string body);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string Url(const std::string& path) const;
  void SetBody(std::string body, std::string etag);
  // /set.tar behaves like this path from now on.
  void Be(const std::string& path);
  // Number of GET requests so far.
  int gets() const { return gets_; }

 private:
  void Run();
  void Answer(int connection);

  std::mutex mutex_;
  std::string body_;
  std::string etag_ = "\"one\"";
  std::string like_ = "/set.tar";
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> gets_{0};
  std::thread thread_;
};

}  // namespace feedrate
