#include "lib/model/torch/checkpoint.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace feedrate {
namespace {

std::string PathOf(const std::string& name) {
  return testing::TempDir() + "/" + name;
}

Checkpoint Small() {
  Checkpoint checkpoint;
  checkpoint.meta = {{"model", "byte_lm_tiny"}, {"note", "two words"}};
  checkpoint.tensors.emplace_back("a", at::arange(6, at::kFloat).view({2, 3}));
  checkpoint.tensors.emplace_back("steps", at::full({}, 7, at::kLong));
  return checkpoint;
}

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string ErrorOf(const std::string& content) {
  const std::string path = PathOf("bad.ckpt");
  std::ofstream(path, std::ios::binary) << content;
  try {
    LoadCheckpoint(path);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(CheckpointTest, ComesBackAsItWas) {
  const std::string path = PathOf("a.ckpt");
  SaveCheckpoint(path, Small());
  const Checkpoint back = LoadCheckpoint(path);
  EXPECT_EQ(back.meta, Small().meta);
  ASSERT_EQ(back.tensors.size(), 2);
  EXPECT_TRUE(at::equal(back.tensors[0].second, Small().tensors[0].second));
  EXPECT_EQ(back.tensors[1].second.item<int64_t>(), 7);
}

TEST(CheckpointTest, RoundedWeightsComeBackAsFloats) {
  const std::string path = PathOf("rounded.ckpt");
  Checkpoint rounded;
  const at::Tensor exact = at::full({3}, 1.0078125, at::kFloat);
  rounded.tensors.emplace_back("w", exact.to(at::kBFloat16));
  SaveCheckpoint(path, rounded);
  const at::Tensor back = at::zeros({3}, at::kFloat);
  CopyTensors(LoadCheckpoint(path).tensors, {{"w", back}});
  EXPECT_TRUE(at::equal(back, exact));
}

TEST(CheckpointTest, SavingLeavesNothingElseBehind) {
  const std::string folder = PathOf("new_folder");
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/b.ckpt";
  // Another user's link under the name that the file used to have meanwhile.
  const std::string link = path + ".new." + std::to_string(getpid());
  const std::string victim = PathOf("victim");
  std::ofstream(victim) << "mine";
  std::filesystem::create_symlink(victim, link);
  SaveCheckpoint(path, Small());
  EXPECT_EQ(Read(victim), "mine");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder),
                          std::filesystem::directory_iterator()),
            2);
  EXPECT_EQ(LoadCheckpoint(path).tensors.size(), 2);
  // A location that cannot be written leaves the old file unchanged.
  EXPECT_THROW(SaveCheckpoint(PathOf("no/such/folder"), Small()),
               std::runtime_error);
}

TEST(CheckpointTest, CutShortAnywhereIsNoticed) {
  SaveCheckpoint(PathOf("c.ckpt"), Small());
  const std::string whole = Read(PathOf("c.ckpt"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(ErrorOf(whole + "x").find("is damaged"), std::string::npos);
}

TEST(CheckpointTest, AFlippedBitAnywhereIsNoticed) {
  SaveCheckpoint(PathOf("flip.ckpt"), Small());
  const std::string whole = Read(PathOf("flip.ckpt"));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = whole;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_NE(ErrorOf(other), "") << i << " " << bit;
    }
  }
}

TEST(CheckpointTest, FilesWithoutAChecksumAreRead) {
  SaveCheckpoint(PathOf("new.ckpt"), Small());
  const std::string whole = Read(PathOf("new.ckpt"));
  const std::string old =
      "feedrate_checkpoint 1\n" + whole.substr(whole.find("\nmeta") + 1);
  EXPECT_EQ(ErrorOf(old), "");
  EXPECT_NE(ErrorOf(old + "x").find("does not end"), std::string::npos);
}

TEST(CheckpointTest, BrokenHeaders) {
  EXPECT_NE(ErrorOf("hello\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f64 2\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f32 2,x\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f32 -2\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\n"
                    "tensor a f32 99999999,99999999\ndata\n"),
            "");
  // 2^64 elements, which an int64_t takes for none.
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\n"
                    "tensor a f32 268435456,268435456,256\ndata\n"),
            "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\n"
                    "tensor a f32 0\ntensor a f32 0\ndata\n")
                .find("a twice"),
            std::string::npos);
  // The last one would count.
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\n"
                    "meta model vit5_nano\nmeta model other\ndata\n")
                .find("model twice"),
            std::string::npos);
}

// Sparse files take no space; a line without an end took all memory.
TEST(CheckpointTest, AHeaderHasAnEnd) {
  for (const char* start : {"", "feedrate_checkpoint 1\nmeta a "}) {
    const std::string path = PathOf("long.ckpt");
    std::ofstream(path) << start;
    std::filesystem::resize_file(path, uint64_t{1} << 40);
    std::string wrong;
    try {
      LoadCheckpoint(path);
    } catch (const std::runtime_error& error) {
      wrong = error.what();
    }
    std::filesystem::remove(path);
    EXPECT_NE(wrong.find(*start == '\0' ? "is not a checkpoint" : "64 MiB"),
              std::string::npos)
        << wrong;
  }
}

TEST(CheckpointTest, CopyNamesWhatDoesNotFit) {
  const NamedTensors missing = {{"b", at::zeros({1})}};
  EXPECT_THROW(CopyTensors(Small().tensors, missing), std::runtime_error);
  const NamedTensors other = {{"a", at::zeros({3, 2})}};
  EXPECT_THROW(CopyTensors(Small().tensors, other), std::runtime_error);
  const NamedTensors fits = {{"a", at::zeros({2, 3})}};
  CopyTensors(Small().tensors, fits);
  EXPECT_EQ(fits[0].second.sum().item<float>(), 15);
}

}  // namespace
}  // namespace feedrate
