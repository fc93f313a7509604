#include "lib/tar/extract/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace feedrate::tar {
namespace {

namespace fs = std::filesystem;

class BeneathTest : public testing::TestWithParam<bool> {
 protected:
  BeneathTest() {
    root_ = testing::TempDir() + "/beneath.XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    fs::create_directories(root_ + "/dir/a/b");
    fs::create_directory(root_ + "/outside");
    fs::create_directory_symlink("a", root_ + "/dir/link");
    fs::create_directory_symlink("../outside", root_ + "/dir/out");
    close(open((root_ + "/dir/file").c_str(), O_CREAT | O_WRONLY, 0600));
    root_fd_ = open((root_ + "/dir").c_str(), O_PATH | O_DIRECTORY);
  }
  ~BeneathTest() override {
    close(root_fd_);
    fs::remove_all(root_);
  }

  // 0, or the errno of opening `path`.
  int Error(const std::string& path) {
    const Beneath beneath(root_fd_, GetParam());
    const int fd = beneath.OpenFolder(path);
    if (fd < 0) return errno;
    close(fd);
    return 0;
  }

  std::string root_;
  int root_fd_;
};

TEST_P(BeneathTest, OpensFolders) {
  EXPECT_EQ(Error(""), 0);
  EXPECT_EQ(Error("a"), 0);
  EXPECT_EQ(Error("a/b"), 0);
  EXPECT_EQ(Error("a/c"), ENOENT);
}

TEST_P(BeneathTest, FollowsNoLink) {
  for (const char* path : {"link", "link/b", "out", "out/x"}) {
    const int error = Error(path);
    EXPECT_TRUE(error == ELOOP || error == ENOTDIR) << path << " " << error;
  }
}

TEST_P(BeneathTest, TakesNoFileForAFolder) {
  EXPECT_EQ(Error("file"), ENOTDIR);
  EXPECT_EQ(Error("file/x"), ENOTDIR);
}

INSTANTIATE_TEST_SUITE_P(Calls, BeneathTest, testing::Bool());

// Makes openat2 fail as it does before Linux 5.6.
bool ForbidOpenat2() {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Beneath, DoesWithoutOpenat2OnOldKernels) {
  const std::string root = testing::TempDir() + "/old_kernel";
  fs::create_directories(root + "/a/b");
  fs::create_directory_symlink("a", root + "/link");
  const int root_fd = open(root.c_str(), O_PATH | O_DIRECTORY);
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidOpenat2()) _exit(77);
    const Beneath beneath(root_fd);
    const bool good = beneath.OpenFolder("a/b") >= 0;
    const bool refused = beneath.OpenFolder("link/b") < 0;
    _exit(good && refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(root_fd);
  fs::remove_all(root);
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this kernel has no seccomp filters: openat2 cannot be "
                    "taken away for the test";
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace feedrate::tar
