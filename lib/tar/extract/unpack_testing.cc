#include "lib/tar/extract/unpack_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace feedrate::tar {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteAll(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count <= 0) return;  // The reader has stopped.
    done += count;
  }
}

Status UnpackFile(int root_fd, const std::string& archive,
                  const UnpackOptions& options, UnpackResult* result) {
  const int fd = memfd_create("archive", MFD_CLOEXEC);
  WriteAll(fd, archive);
  FileInput input(fd, archive.size(), "test.tar");
  Status status = Unpack(&input, "test.tar", root_fd, options, result);
  close(fd);
  return status;
}

Status UnpackStream(int root_fd, const std::string& archive,
                    const UnpackOptions& options, UnpackResult* result) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  std::thread writer([&archive, fd = ends[1]] {
    WriteAll(fd, archive);
    close(fd);
  });
  StreamInput input(ends[0], "stdin");
  Status status = Unpack(&input, "stdin", root_fd, options, result);
  close(ends[0]);
  writer.join();
  return status;
}

}  // namespace

Sandbox::Sandbox() {
  signal(SIGPIPE, SIG_IGN);
  const char* base = getenv("TEST_TMPDIR");
  outer_ = std::string(base != nullptr ? base : "/tmp") + "/sandbox.XXXXXX";
  if (mkdtemp(outer_.data()) == nullptr) abort();
  fs::create_directory(inner());
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  fs::remove_all(outer_, ignored);
}

std::map<std::string, std::string> Sandbox::Tree() const {
  std::map<std::string, std::string> tree;
  for (const auto& item : fs::recursive_directory_iterator(inner())) {
    const std::string name = item.path().lexically_relative(inner());
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

std::string Sandbox::Escaped() const {
  std::string names;
  for (const auto& item : fs::directory_iterator(outer_)) {
    const std::string name = item.path().filename();
    if (name != "inner") names += name + " ";
  }
  return names;
}

Status UnpackInto(const Sandbox& sandbox, const std::string& archive,
                  Arrival arrival, const UnpackOptions& options,
                  UnpackResult* result) {
  const int root_fd =
      open(sandbox.inner().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  Status status = arrival == Arrival::kFile
                      ? UnpackFile(root_fd, archive, options, result)
                      : UnpackStream(root_fd, archive, options, result);
  close(root_fd);
  return status;
}

}  // namespace feedrate::tar
