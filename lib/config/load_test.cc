#include "lib/config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SweepTest, ParsesAxes) {
  const auto axes = ParseSweep(" workers=0, 2,4 ; batch-size=64;");
  ASSERT_TRUE(axes.ok());
  ASSERT_EQ(axes->size(), 2u);
  EXPECT_EQ((*axes)[0].name(), "workers");
  EXPECT_THAT((*axes)[0].values(), ElementsAre("0", "2", "4"));
  EXPECT_EQ((*axes)[1].name(), "batch_size");
}

TEST(SweepTest, EmptyTextHasNoAxis) { EXPECT_TRUE(ParseSweep("")->empty()); }

TEST(SweepTest, SaysWhatIsWrong) {
  for (const char* text : {"workers", "workers=", "=1", "workers=,"}) {
    const auto axes = ParseSweep(text);
    ASSERT_FALSE(axes.ok()) << text;
    EXPECT_THAT(std::string(axes.status().message()), HasSubstr("not an axis"));
  }
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/load_test_" + name;
  mkdir(folder.c_str(), 0755);
  return folder;
}

std::string Write(const std::string& path, const std::string& text) {
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

TEST(LoadConfigTest, OverridesWinAndAreNamedInErrors) {
  const std::string path = Write(Folder("a") + "/c.textproto",
                                 "execution {\n  workers: 1\n  seed: 3\n}\n"
                                 "selection { libraries: \"x\" }");
  Overrides overrides;
  overrides.Set("workers", "8");
  overrides.Set("libraries", "a,b");
  overrides.Set("sweep", "prefetch=1,2");
  const auto loaded = LoadConfig(path, overrides);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.execution().workers(), 8);
  EXPECT_EQ(loaded->config.execution().seed(), 3);
  EXPECT_THAT(loaded->config.selection().libraries(), ElementsAre("a", "b"));
  EXPECT_EQ(loaded->config.sweep(0).name(), "prefetch");
  EXPECT_EQ(loaded->places.Of("execution.workers"), "--workers");
  EXPECT_EQ(loaded->places.Of("sweep[0].values[1]"), "--sweep");
  EXPECT_EQ(loaded->places.Of("execution.seed"), path + ":3:3");
}

TEST(LoadConfigTest, AnotherDatasetDropsTheIdOfTheFile) {
  const std::string path =
      Write(Folder("b") + "/c.textproto",
            "data { id: \"val\" archive: \"val.tar\" archive_bytes: 1 }");
  Overrides overrides;
  overrides.Set("dataset", "other");
  const auto loaded = LoadConfig(path, overrides);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->config.data().dataset(), "other");
  EXPECT_FALSE(loaded->config.data().has_id());
  EXPECT_FALSE(loaded->config.data().has_archive());
}

TEST(LoadConfigTest, BadSweepIsSaid) {
  const std::string path = Write(Folder("c") + "/c.textproto", "version: 1");
  Overrides overrides;
  overrides.Set("sweep", "workers");
  EXPECT_THAT(std::string(LoadConfig(path, overrides).status().message()),
              HasSubstr("--sweep: \"workers\" is not an axis"));
}

TEST(FindConfigsFolderTest, LooksAboveTheConfig) {
  const std::string root = Folder("root");
  Write(root + "/matrix.textproto", "");
  mkdir((root + "/paper").c_str(), 0755);
  unsetenv("FEEDRATE_CONFIGS");
  EXPECT_EQ(*FindConfigsFolder("", root + "/paper/x.textproto"), root);
}

// From inside the folder, a relative path does not name what is above it.
TEST(FindConfigsFolderTest, LooksAboveTheWorkingFolder) {
  const std::string root = Folder("inside");
  Write(root + "/matrix.textproto", "");
  mkdir((root + "/paper").c_str(), 0755);
  mkdir((root + "/other").c_str(), 0755);
  unsetenv("FEEDRATE_CONFIGS");
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof(before)), nullptr);
  ASSERT_EQ(chdir((root + "/paper").c_str()), 0);
  for (const char* config : {"x.textproto", "./x.textproto",
                             "../paper/x.textproto", "../other/x.textproto"}) {
    const auto found = FindConfigsFolder("", config);
    ASSERT_TRUE(found.ok()) << config << ": " << found.status();
    EXPECT_TRUE(IsFile(*found + "/matrix.textproto"));
    EXPECT_TRUE(IsFolder(*found + "/other")) << config << ": " << *found;
  }
  ASSERT_EQ(chdir(before), 0);
}

TEST(FindConfigsFolderTest, TheFlagWinsOverTheVariable) {
  const std::string one = Folder("one"), two = Folder("two");
  Write(one + "/matrix.textproto", "");
  Write(two + "/matrix.textproto", "");
  setenv("FEEDRATE_CONFIGS", one.c_str(), 1);
  EXPECT_EQ(*FindConfigsFolder("", "/x.textproto"), one);
  EXPECT_EQ(*FindConfigsFolder(two, "/x.textproto"), two);
  setenv("FEEDRATE_CONFIGS", "/no/such", 1);
  EXPECT_THAT(std::string(FindConfigsFolder("", "").status().message()),
              HasSubstr("/no/such: no matrix.textproto"));
  unsetenv("FEEDRATE_CONFIGS");
}

// As after `pip install`, where the configs are not in the working folder.
TEST(FindConfigTest, LooksInTheConfigsFolder) {
  const std::string root = Folder("installed");
  Write(root + "/matrix.textproto", "");
  Write(root + "/x.textproto", "label: \"installed\"");
  mkdir((root + "/paper").c_str(), 0755);
  setenv("FEEDRATE_CONFIGS", root.c_str(), 1);
  EXPECT_EQ(FindConfig("configs/x.textproto"), root + "/x.textproto");
  EXPECT_EQ(FindConfig("configs/paper"), root + "/paper");
  EXPECT_EQ(LoadConfig("configs/x.textproto", Overrides())->config.label(),
            "installed");
  EXPECT_EQ(FindConfig("configs/none.textproto"), "configs/none.textproto");
  EXPECT_EQ(FindConfig("other/x.textproto"), "other/x.textproto");
  EXPECT_EQ(FindConfig(root + "/x.textproto"), root + "/x.textproto");

  const std::string here = Folder("here");
  mkdir((here + "/configs").c_str(), 0755);
  Write(here + "/configs/x.textproto", "");
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof(before)), nullptr);
  ASSERT_EQ(chdir(here.c_str()), 0);
  EXPECT_EQ(FindConfig("configs/x.textproto"), "configs/x.textproto");
  ASSERT_EQ(chdir(before), 0);
  unsetenv("FEEDRATE_CONFIGS");
}

TEST(FindConfigsFolderTest, SaysWhereItLooked) {
  unsetenv("FEEDRATE_CONFIGS");
  EXPECT_THAT(std::string(FindConfigsFolder("", "/tmp").status().message()),
              HasSubstr("--configs or $FEEDRATE_CONFIGS"));
}

}  // namespace
}  // namespace feedrate
