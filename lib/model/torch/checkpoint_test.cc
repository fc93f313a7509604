#include "lib/model/torch/checkpoint.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
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

TEST(CheckpointTest, SavingLeavesNothingElseBehind) {
  const std::string path = PathOf("b.ckpt");
  SaveCheckpoint(path, Small());
  EXPECT_NE(access((path + ".new." + std::to_string(getpid())).c_str(), F_OK),
            0);
  // A place that cannot be written leaves the old file as it was.
  EXPECT_THROW(SaveCheckpoint(PathOf("no/such/folder"), Small()),
               std::runtime_error);
}

TEST(CheckpointTest, CutShortAnywhereIsNoticed) {
  SaveCheckpoint(PathOf("c.ckpt"), Small());
  const std::string whole = Read(PathOf("c.ckpt"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(ErrorOf(whole + "x").find("does not end"), std::string::npos);
}

TEST(CheckpointTest, BrokenHeaders) {
  EXPECT_NE(ErrorOf("hello\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f64 2\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f32 2,x\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\ntensor a f32 -2\ndata\n"), "");
  EXPECT_NE(ErrorOf("feedrate_checkpoint 1\n"
                    "tensor a f32 99999999,99999999\ndata\n"),
            "");
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
