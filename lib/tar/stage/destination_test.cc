#include "lib/tar/stage/destination.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace feedrate::tar {
namespace {

namespace fs = std::filesystem;

TEST(Destination, IsMadeWithItsParents) {
  const std::string root = testing::TempDir() + "/dest_made";
  for (const std::string& path : {root + "/a/b/c", root + "//d/"}) {
    Destination dest;
    ASSERT_TRUE(dest.Open(path).ok()) << path;
    EXPECT_TRUE(fs::is_directory(path));
  }
  fs::remove_all(root);
}

TEST(Destination, IsAFolder) {
  const std::string path = testing::TempDir() + "/dest_file";
  std::ofstream(path) << "x";
  Destination dest;
  EXPECT_EQ(dest.Open(path).exit_code(), 1);
  Destination below;
  EXPECT_EQ(below.Open(path + "/d").exit_code(), 2);
}

TEST(Destination, IsOneProcessAtATime) {
  const std::string path = testing::TempDir() + "/dest_locked";
  Destination dest;
  ASSERT_TRUE(dest.Open(path).ok());
  ASSERT_TRUE(dest.Lock([] { FAIL() << "nobody else is here"; }).ok());
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(dest.fd());  // Or the lock would be the child's as well.
    Destination other;
    const bool opened = other.Open(path).ok();
    const bool locked = other.Lock([&] { (void)!write(said[1], "w", 1); }).ok();
    (void)!write(said[1], "l", 1);
    _exit(opened && locked ? 0 : 1);
  }
  char word = 0;
  ASSERT_EQ(read(said[0], &word, 1), 1);
  EXPECT_EQ(word, 'w');
  // Closing is what the end of a process does, too.
  close(dest.fd());
  ASSERT_EQ(read(said[0], &word, 1), 1);
  EXPECT_EQ(word, 'l');
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace feedrate::tar
