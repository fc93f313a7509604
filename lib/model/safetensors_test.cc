#include "lib/model/safetensors.h"

#include <gtest/gtest.h>

#include <sstream>

namespace feedrate {
namespace {

TEST(WeightsTest, AreTheParametersThatAreCounted) {
  for (const ModelSpec& spec : ModelSpecs()) {
    int64_t values = 0;
    for (const WeightShape& weight : WeightsOf(spec)) {
      int64_t product = 1;
      for (const int64_t size : weight.shape) product *= size;
      values += product;
    }
    EXPECT_EQ(values, CountParameters(spec)) << spec.name;
  }
}

TEST(WeightsTest, NamesAreThoseOfModules) {
  EXPECT_EQ(ModuleNameOf("patch"), "patch.weight");
  EXPECT_EQ(ModuleNameOf("patch_bias"), "patch.bias");
  EXPECT_EQ(ModuleNameOf("class_token"), "class_token");
  EXPECT_EQ(ModuleNameOf("registers"), "registers");
  EXPECT_EQ(ModuleNameOf("blocks.3.q_norm"), "blocks.3.q_norm.weight");
  EXPECT_EQ(ModuleNameOf("blocks.3.down_bias"), "blocks.3.down.bias");
  EXPECT_EQ(ModuleNameOf("blocks.3.mlp_scale"), "blocks.3.mlp_scale");
}

SafetensorsHeader HeaderOf(const ModelSpec& spec) {
  SafetensorsHeader header;
  for (const WeightShape& weight : WeightsOf(spec)) {
    SafetensorsTensor tensor;
    tensor.name = ModuleNameOf(weight.name);
    tensor.type = "F32";
    tensor.shape = weight.shape;
    header.tensors.push_back(tensor);
  }
  return header;
}

TEST(WeightsTest, AFileHasExactlyTheWeightsOfTheModel) {
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  EXPECT_EQ(CheckWeights(HeaderOf(spec), spec), "");
  EXPECT_EQ(CheckWeights(HeaderOf(*ModelNamed("vit5_small")), spec),
            "has patch.weight of shape 384x768; vit5_tiny needs 64x48");
  EXPECT_EQ(CheckWeights(HeaderOf(*ModelNamed("byte_lm_tiny")), spec),
            "has no patch.weight, which vit5_tiny needs");
  SafetensorsHeader header = HeaderOf(spec);
  header.tensors.back().type = "BF16";
  EXPECT_EQ(CheckWeights(header, spec),
            "has head.bias as BF16; save it as F32, such as by tensor.float()");
  header = HeaderOf(spec);
  header.tensors.pop_back();
  EXPECT_EQ(CheckWeights(header, spec),
            "has no head.bias, which vit5_tiny needs");
  header = HeaderOf(spec);
  header.tensors.push_back(header.tensors[0]);
  header.tensors.back().name = "fc.weight";
  EXPECT_EQ(CheckWeights(header, spec),
            "has \"fc.weight\", which is not a weight of vit5_tiny");
  header = HeaderOf(spec);
  header.tensors[4].shape.clear();
  EXPECT_EQ(CheckWeights(header, spec),
            "has blocks.0.attention_norm.weight of shape a single number; "
            "vit5_tiny needs 64");
}

// A file with this header, and what is wrong with it.
std::string FileOf(const std::string& json, size_t data_bytes) {
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) {
    file[i] = static_cast<char>(json.size() >> (8 * i));
  }
  return file + json + std::string(data_bytes, 'x');
}

std::string Wrong(const std::string& file,
                  SafetensorsHeader* header = nullptr) {
  SafetensorsHeader unused;
  std::istringstream in(file);
  return ReadSafetensorsHeader(in, static_cast<int64_t>(file.size()),
                               header == nullptr ? &unused : header);
}

std::string WrongJson(const std::string& json, size_t data_bytes) {
  return Wrong(FileOf(json, data_bytes));
}

TEST(SafetensorsTest, WhatIsPrintedIsRead) {
  SafetensorsHeader header;
  header.metadata = {{"model", "vit5_tiny"}, {"class.0", "a \"cat\"\n"}};
  header.tensors = {{"patch.weight", "F32", {2, 3}, 0, 0},
                    {"empty", "F32", {0, 7}, 0, 0},
                    {"a", "F32", {}, 0, 0}};
  const std::string text = PrintSafetensorsHeader(header);
  EXPECT_EQ(text.size() % 8, 0);
  SafetensorsHeader read;
  EXPECT_EQ(Wrong(text + std::string(28, 'x'), &read), "");
  EXPECT_EQ(read.metadata, header.metadata);
  ASSERT_EQ(read.tensors.size(), 3);
  EXPECT_EQ(read.tensors[0].name, "patch.weight");
  EXPECT_EQ(read.tensors[0].shape, std::vector<int64_t>({2, 3}));
  EXPECT_EQ(read.tensors[1].bytes, 0);
  EXPECT_EQ(read.tensors[2].begin, 24);
  EXPECT_EQ(read.tensors[2].bytes, 4);
}

// The bytes that safetensors 0.6.2 wrote of {"w": tensor([1, 2])}, with spaces
// up to a multiple of 8.
TEST(SafetensorsTest, ReadsWhatThePackageWrites) {
  SafetensorsHeader header;
  EXPECT_EQ(
      Wrong(
          FileOf(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )",
                 8),
          &header),
      "");
  ASSERT_EQ(header.tensors.size(), 1);
  EXPECT_EQ(header.tensors[0].type, "F32");
}

TEST(SafetensorsTest, TensorsAreInTheOrderOfTheirBytes) {
  SafetensorsHeader header;
  EXPECT_EQ(
      Wrong(FileOf(
                R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[4,10]},
"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                10),
            &header),
      "");
  EXPECT_EQ(header.tensors[0].name, "b");
}

TEST(SafetensorsTest, DamageIsNamed) {
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(WrongJson(good, 8), "");
  EXPECT_EQ(WrongJson(good, 7), "is cut short");
  EXPECT_EQ(WrongJson(good, 9), "has more bytes than its tensors");
  EXPECT_EQ(Wrong("1234567"), "is too short for a safetensors file");
  EXPECT_EQ(Wrong(FileOf(good, 8).substr(0, 30)),
            "is not a safetensors file: its header would not fit into it");
  EXPECT_EQ(WrongJson("{", 0), "is not a safetensors file: it is not JSON");
  EXPECT_EQ(WrongJson("[]", 0),
            "is not a safetensors file: its header is not an object");
  EXPECT_EQ(WrongJson(" {}", 0),
            "is not a safetensors file: its header is not an object");
}

// Each is one change of a good tensor.
TEST(SafetensorsTest, WrongTensorsAreNamed) {
  const auto tensor = [](const std::string& members) {
    return WrongJson("{\"a\":" + members + "}", 8);
  };
  EXPECT_EQ(tensor("1"), "\"a\" has no known dtype");
  EXPECT_EQ(tensor(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})"),
            "\"a\" has no known dtype");
  for (const char* shape : {"2", "[-1]", "[1.5]", "[\"2\"]",
                            "[1,1,1,1,1,1,1,1,2]", "[9223372036854775807]"}) {
    EXPECT_EQ(tensor(std::string(R"({"dtype":"F32","shape":)") + shape +
                     R"(,"data_offsets":[0,8]})"),
              "\"a\" has no usable shape")
        << shape;
  }
  for (const char* offsets : {"[0]", "[0,8,8]", "8", "[0,-8]"}) {
    EXPECT_EQ(
        tensor(std::string(R"({"dtype":"F32","shape":[2],"data_offsets":)") +
               offsets + "}"),
        "\"a\" has not dtype, shape and two data_offsets")
        << offsets;
  }
  EXPECT_EQ(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
            "\"a\" has not dtype, shape and two data_offsets");
  for (const char* offsets : {"[0,4]", "[8,0]", "[8,8]"}) {
    EXPECT_EQ(
        tensor(std::string(R"({"dtype":"F32","shape":[2],"data_offsets":)") +
               offsets + "}"),
        "\"a\" has other data_offsets than its shape needs")
        << offsets;
  }
  // A product that would overflow, also in a tensor without values.
  EXPECT_EQ(tensor(R"({"dtype":"F32","shape":[0,70368744177664,1048576],)"
                   R"("data_offsets":[0,0]})"),
            "\"a\" has other data_offsets than its shape needs");
  EXPECT_EQ(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})"),
            "\"a\" does not begin where the last one ends");
  EXPECT_EQ(WrongJson(R"({"__metadata__":{"a":1}})", 0),
            "its __metadata__ has more than texts");
  EXPECT_EQ(WrongJson(R"({"__metadata__":[]})", 0),
            "its __metadata__ is not an object");
}

TEST(SafetensorsTest, TensorsThatShareBytesAreRefused) {
  EXPECT_EQ(WrongJson(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      8),
            "\"b\" does not begin where the last one ends");
  EXPECT_EQ(WrongJson(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                      8),
            "is not a safetensors file: it says \"a\" twice");
}

}  // namespace
}  // namespace feedrate
