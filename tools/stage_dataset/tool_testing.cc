#include "tools/stage_dataset/tool_testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
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
  // Leak checking costs a sanitized program seconds at exit, and there are
  // hundreds of runs; the tests of lib/tar check for leaks once each.
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

bool Have(const std::string& program) {
  return RunProgram({"sh", "-c", "command -v " + program}).exit_code == 0;
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

namespace {

void SendAll(int connection, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent =
        send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += sent;
  }
}

}  // namespace

HttpServer::HttpServer(std::string body) : body_(std::move(body)) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket_, any, size) != 0 || listen(socket_, 16) != 0 ||
      getsockname(socket_, any, &size) != 0) {
    abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  shutdown(socket_, SHUT_RDWR);
  thread_.join();
  close(socket_);
}

std::string HttpServer::Url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void HttpServer::SetBody(std::string body, std::string etag) {
  std::lock_guard<std::mutex> lock(mutex_);
  body_ = std::move(body);
  etag_ = std::move(etag);
}

void HttpServer::Be(const std::string& path) {
  std::lock_guard<std::mutex> lock(mutex_);
  like_ = path;
}

void HttpServer::Run() {
  while (!stop_) {
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection);
    shutdown(connection, SHUT_RDWR);
    close(connection);
  }
}

void HttpServer::Answer(int connection) {
  std::string request;
  char buffer[4096];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
    if (got <= 0) return;
    request.append(buffer, got);
  }
  const size_t space = request.find(' ');
  const std::string method = request.substr(0, space);
  std::string path =
      request.substr(space + 1, request.find(' ', space + 1) - space - 1);
  path = path.substr(0, path.find('?'));
  if (method == "GET") ++gets_;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string end = "Connection: close\r\n\r\n";
  if (path == "/set.tar") path = like_;
  const auto wait_for_the_client = [&] {
    while (recv(connection, buffer, sizeof(buffer), 0) > 0) {
    }
  };
  if (path == "/mute") {
    wait_for_the_client();
  } else if (path == "/moved") {
    SendAll(connection, "HTTP/1.1 302 Found\r\nLocation: " + Url("/set.tar") +
                            "\r\nContent-Length: 0\r\n" + end);
  } else if (path == "/set.tar" || path == "/broken" || path == "/silent") {
    SendAll(connection, "HTTP/1.1 200 OK\r\nContent-Length: " +
                            std::to_string(body_.size()) +
                            "\r\nETag: " + etag_ + "\r\n" + end);
    if (method != "GET") return;
    SendAll(connection,
            path == "/set.tar" ? body_ : body_.substr(0, body_.size() / 2));
    if (path == "/silent") wait_for_the_client();
  } else {
    SendAll(connection,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n" + end);
  }
}

}  // namespace feedrate
