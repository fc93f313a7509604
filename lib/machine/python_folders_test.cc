#include "lib/machine/python_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Link(const FakeRoot& files, const char* target, const char* path) {
  files.Write(path, "");
  const std::string full = files.root().PathOf(path);
  unlink(full.c_str());
  ASSERT_EQ(symlink(target, full.c_str()), 0);
}

void AddDebianPython(const FakeRoot& files) {
  files.Write("/usr/bin/python3.11", "");
  Link(files, "python3.11", "/usr/bin/python3");
}

TEST(PythonFoldersTest, Debian) {
  FakeRoot files;
  AddDebianPython(files);
  EXPECT_THAT(
      PythonPackageFolders(files.root(),
                           FixedVariables({{"PATH", "/bin:/usr/bin"},
                                           {"HOME", "/home/me"},
                                           {"PYTHONPATH", "/extra:"}})),
      ElementsAre("/extra", "/home/me/.local/lib/python3.11/site-packages",
                  "/usr/local/lib/python3.11/dist-packages",
                  "/usr/lib/python3/dist-packages",
                  "/usr/lib/python3.11/site-packages",
                  "/usr/lib64/python3.11/site-packages"));
}

TEST(PythonFoldersTest, UsersPackagesSwitchedOff) {
  FakeRoot files;
  AddDebianPython(files);
  EXPECT_EQ(PythonPackageFolders(files.root(),
                                 FixedVariables({{"PATH", "/usr/bin"},
                                                 {"HOME", "/home/me"},
                                                 {"PYTHONNOUSERSITE", "1"}}))
                .front(),
            "/usr/local/lib/python3.11/dist-packages");
}

TEST(PythonFoldersTest, VirtualEnvironment) {
  FakeRoot files;
  AddDebianPython(files);
  Link(files, "../../usr/bin/python3", "/venv/bin/python3");
  files.Write("/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = false\n");
  files.Write("/venv/lib/python3.11/site-packages/x", "");
  const VariableReader variables =
      FixedVariables({{"PATH", "/venv/bin:/usr/bin"}});
  EXPECT_THAT(PythonPackageFolders(files.root(), variables),
              ElementsAre("/venv/lib/python3.11/site-packages"));

  files.Write("/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = true\n");
  EXPECT_THAT(PythonPackageFolders(files.root(), variables),
              ElementsAre("/venv/lib/python3.11/site-packages",
                          "/usr/local/lib/python3.11/dist-packages",
                          "/usr/lib/python3/dist-packages",
                          "/usr/lib/python3.11/site-packages",
                          "/usr/lib64/python3.11/site-packages"));
}

TEST(PythonFoldersTest, PyenvShims) {
  FakeRoot files;
  AddDebianPython(files);
  files.Write("/home/me/.pyenv/shims/python3", "#!/bin/sh\n");
  files.Write("/home/me/.pyenv/version", "3.12.4\n");
  files.Write("/home/me/.pyenv/versions/3.12.4/bin/python3.12", "");
  Link(files, "python3.12", "/home/me/.pyenv/versions/3.12.4/bin/python3");
  const std::string path = "/home/me/.pyenv/shims:/usr/bin";
  EXPECT_EQ(PythonPackageFolders(files.root(), FixedVariables({{"PATH", path}}))
                .front(),
            "/home/me/.pyenv/versions/3.12.4/lib/python3.12/site-packages");
  EXPECT_EQ(PythonPackageFolders(
                files.root(),
                FixedVariables({{"PATH", path}, {"PYENV_VERSION", "system"}}))
                .front(),
            "/usr/local/lib/python3.11/dist-packages");
}

TEST(PythonFoldersTest, NameWithoutAVersionTakesTheNewest) {
  FakeRoot files;
  files.Write("/opt/py/bin/python3", "");
  files.Write("/opt/py/lib/python3.9/x", "");
  files.Write("/opt/py/lib/python3.10/x", "");
  EXPECT_EQ(PythonPackageFolders(files.root(),
                                 FixedVariables({{"PATH", "/opt/py/bin"}}))
                .front(),
            "/opt/py/lib/python3.10/site-packages");
}

TEST(PythonFoldersTest, NoPython) {
  FakeRoot files;
  EXPECT_THAT(PythonPackageFolders(files.root(),
                                   FixedVariables({{"PATH", "/usr/bin:rel"}})),
              IsEmpty());
  EXPECT_THAT(PythonPackageFolders(files.root(), FixedVariables({})),
              IsEmpty());
}

}  // namespace
}  // namespace feedrate
