#include "lib/machine/torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class TorchTest : public ::testing::Test {
 protected:
  TorchTest() {
    files_.Write("/usr/bin/python3", "");
    files_.Write("/usr/lib/python3.11/os.py", "");
  }

  void AddTorch(const std::string& folder, const std::string& version) {
    files_.Write(folder + "/version.py",
                 "from typing import Optional\n\n__all__ = ['__version__']\n"
                 "__version__ = '" +
                     version + "'\ndebug = False\n");
  }

  TorchInfo Find(std::map<std::string, std::string> variables) {
    variables.insert({{"PATH", "/usr/bin"}, {"HOME", "/home/me"}});
    return FindTorch(files_.root(), FixedVariables(variables));
  }

  FakeRoot files_;
};

constexpr char kSystem[] = "/usr/local/lib/python3.11/dist-packages/torch";

TEST_F(TorchTest, NoneIsEmpty) { EXPECT_EQ(Find({}).version, ""); }

TEST_F(TorchTest, PythonsTorch) {
  AddTorch(kSystem, "2.11.0+cu130");
  EXPECT_EQ(Find({}).version, "2.11.0+cu130");
  EXPECT_EQ(Find({}).folder, kSystem);
}

TEST_F(TorchTest, OwnCopyComesBeforePythons) {
  AddTorch(kSystem, "2.5.1");
  const std::string cache = "/home/me/.cache/feedrate";
  AddTorch(cache + "/venvs/old-0-py3.11/lib/python3.11/site-packages/torch",
           "1.13.1");
  EXPECT_EQ(Find({}).version, "2.5.1") << "another release is not ours";
  AddTorch(cache + "/venvs/x-0-py3.11/lib/python3.11/site-packages/torch",
           "2.11.0+cpu");
  EXPECT_EQ(Find({}).version, "2.11.0+cpu");
  AddTorch(cache + "/libtorch/torch-0a1b-x86_64/torch", "2.11.0+cu130");
  EXPECT_EQ(Find({}).version, "2.11.0+cu130");
  EXPECT_EQ(Find({{"XDG_CACHE_HOME", "/elsewhere"}}).version, "2.5.1");
}

TEST_F(TorchTest, ReleaseIsTheBuilds) {
  const std::string script =
      Root("third_party/torch").Read("/find_torch.sh").value_or("");
  EXPECT_THAT(script,
              HasSubstr(absl::StrCat("\nversion=", kTorchVersion, "\n")));
}

TEST_F(TorchTest, TorchRootDecides) {
  AddTorch(kSystem, "2.5.1");
  AddTorch("/opt/torch", "2.11.0");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/torch"}}).version, "2.11.0");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/none"}}).version, "");
}

TEST_F(TorchTest, CppDistribution) {
  files_.Write("/opt/libtorch/build-version", "2.11.0+cpu\n");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/libtorch"}}).version, "2.11.0+cpu");
}

TEST_F(TorchTest, WithoutVersionFilesTheFolderBesideTells) {
  files_.Write("/opt/wheels/torch/lib/libc10.so", "");
  files_.Write("/opt/wheels/torch-2.11.0.dist-info/METADATA", "");
  files_.Write("/opt/wheels/torchvision-0.26.0.dist-info/METADATA", "");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/wheels/torch"}}).version, "2.11.0");
}

TEST_F(TorchTest, GarbledVersionsAreNone) {
  for (const char* text : {"", "__version__", "__version__ = 2", "\0\1",
                           "__version__ = ''", "__version__ = 'a b'"}) {
    files_.Write("/opt/torch/version.py", text);
    EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/torch"}}).version, "") << text;
  }
}

}  // namespace
}  // namespace feedrate
