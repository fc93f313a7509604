#include "lib/worker/message.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WithoutNewline(const std::string& line) {
  EXPECT_EQ(line.back(), '\n');
  return line.substr(0, line.size() - 1);
}

TEST(MessageTest, HelloRoundTrip) {
  Hello hello;
  hello.pid = 12;
  hello.versions = {{"kornia", "0.8.2"}, {"torchvision", "0.26.0"}};
  hello.import_s = 2.5;
  const std::string line = HelloLine(hello);
  EXPECT_EQ(line, R"({"hello":1,"pid":12,"versions":{"kornia":"0.8.2",)"
                  R"("torchvision":"0.26.0"},"import_s":2.5})"
                  "\n");
  const auto parsed = ParseHello(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->versions, hello.versions);
}

TEST(MessageTest, PrepareRoundTripKeepsOddText) {
  PrepareCommand command;
  command.library = "pillow";
  command.transform = "Resize";
  command.native_op = "Image.resize";
  command.params = {"size=(512,512)", "name=\"a\\b\"\n\xff"};
  command.scenario = "image-rgb";
  command.device = "cpu";
  command.seed = -7;
  command.opencv_threads = 0;
  const auto parsed = ParseChildCommand(WithoutNewline(PrepareLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op, ChildCommand::Op::kPrepare);
  EXPECT_EQ(parsed->prepare.params[0], "size=(512,512)");
  EXPECT_EQ(parsed->prepare.params[1], "name=\"a\\b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(parsed->prepare.seed, -7);
  EXPECT_EQ(parsed->prepare.opencv_threads, 0);
  EXPECT_EQ(parsed->prepare.torch_intra_op, -1);
}

TEST(MessageTest, TimeRoundTripIsExact) {
  TimeCommand command;
  command.count = 2000;
  command.seed = ~uint64_t{0};
  const auto parsed = ParseChildCommand(WithoutNewline(TimeLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->time.seed, command.seed);
  TimeReply reply;
  reply.samples_s = {1e-9, 0.1 + 0.2, 0};
  reply.items = 3;
  const auto back = ParseTimeReply(WithoutNewline(TimeReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->samples_s, reply.samples_s);
}

TEST(MessageTest, WhatADeviceCanDoRoundTrips) {
  PrepareReply reply;
  reply.version = "13.0";
  reply.device_copy_bytes_per_s = 4e12;
  reply.engine_items_per_s = 250.5;
  const auto back = ParsePrepareReply(WithoutNewline(PrepareReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->device_copy_bytes_per_s, 4e12);
  EXPECT_EQ(back->engine_items_per_s, 250.5);
}

TEST(MessageTest, TimesOfADeviceRoundTrip) {
  TimeCommand command;
  command.count = 512;
  command.cold = true;
  const auto parsed = ParseChildCommand(WithoutNewline(TimeLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->time.cold);
  TimeReply reply;
  reply.samples_s = {1e-4, 2e-4};
  reply.items = 512;
  DeviceReply& device = reply.device.emplace();
  device.clocks_mhz = {1980, 1200};
  device.max_clock_mhz = 1980;
  device.throttle_reasons = uint64_t{1} << 63;
  device.bytes_out = 12;
  device.cpu_frames = 5;
  const auto back = ParseTimeReply(WithoutNewline(TimeReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->device->clocks_mhz, ElementsAre(1980, 1200));
  EXPECT_EQ(back->device->throttle_reasons, device.throttle_reasons);
  EXPECT_EQ(back->device->bytes_out, 12);
  EXPECT_EQ(back->device->cpu_frames, 5);
  device.clocks_mhz.pop_back();
  EXPECT_THAT(std::string(ParseTimeReply(WithoutNewline(TimeReplyLine(reply)))
                              .status()
                              .message()),
              HasSubstr("clocks_mhz"));
}

TEST(MessageTest, OnTheCpuNothingIsSaidOfADevice) {
  EXPECT_EQ(TimeReplyLine(TimeReply()), "{\"samples_s\":[],\"items\":0}\n");
  EXPECT_EQ(TimeLine(TimeCommand()).find("cold"), std::string::npos);
}

TEST(MessageTest, OutputRoundTrip) {
  OutputReply reply;
  reply.fd = 9;
  reply.outputs.push_back({0, 12, "uint8", "HWC", {2, 2, 3}});
  const auto parsed = ParseOutputReply(WithoutNewline(OutputReplyLine(reply)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->outputs.size(), 1);
  EXPECT_THAT(parsed->outputs[0].shape, ElementsAre(2, 2, 3));
}

LoaderSpec SomeLoader() {
  LoaderSpec spec;
  spec.scope = kDecodeScope;
  spec.source = "files";
  spec.batch_size = 256;
  spec.workers = 2;
  spec.prefetch = 4;
  spec.persistent = true;
  spec.channels = 3;
  spec.crop = 224;
  spec.crop_position = "random";
  spec.mean = {0.485, 0.456, 0.406};
  spec.std = {0.229, 0.224, 0.225};
  spec.input_scale = 255;
  spec.on_error = "skip";
  return spec;
}

TEST(MessageTest, PrepareOfALoaderRoundTrip) {
  PrepareCommand command;
  EXPECT_FALSE(ParseChildCommand(WithoutNewline(PrepareLine(command)))
                   ->prepare.loader.has_value());
  command.loader = SomeLoader();
  const std::string line = PrepareLine(command);
  EXPECT_THAT(
      line,
      HasSubstr(
          R"("loader":{"scope":"decode_dataloader_augment","source":"files",)"
          R"("batch_size":256,"workers":2,"prefetch":4,"persistent":true,)"
          R"("pin_memory":false,"drop_last":false,"shuffle":false,)"
          R"("channels":3,"crop":224,"is_crop":false,)"
          R"("crop_position":"random","mean":[0.485,0.456,0.406],)"
          R"("std":[0.229,0.224,0.225],"input_scale":255,)"
          R"("batch_transform":"","on_error":"skip","ablation":""})"));
  command.loader->settings = {{"read_ahead", "io_uring"}};
  const std::string with_settings = PrepareLine(command);
  EXPECT_THAT(with_settings,
              HasSubstr(R"("ablation":"","settings":{"read_ahead":)"
                        R"("io_uring"}})"));
  const auto known = ParseChildCommand(WithoutNewline(with_settings));
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->prepare.loader->settings, command.loader->settings);
  command.loader->source = "objects";
  command.loader->store = {{"url", "s3://bucket/ü"}};
  const auto remote = ParseChildCommand(WithoutNewline(PrepareLine(command)));
  ASSERT_TRUE(remote.ok()) << remote.status();
  EXPECT_EQ(remote->prepare.loader->store, command.loader->store);
  const auto parsed = ParseChildCommand(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->prepare.loader.has_value());
  EXPECT_EQ(PrepareLine(parsed->prepare), line);
}

TEST(MessageTest, ALoaderThatCannotBeMeantIsRefused) {
  EXPECT_TRUE(CheckLoaderSpec(SomeLoader()).ok());
  LoaderSpec spec = SomeLoader();
  spec.ablation = "no_thing";
  EXPECT_THAT(std::string(CheckLoaderSpec(spec).message()),
              HasSubstr("ablation \"no_thing\" is unknown"));
  spec = SomeLoader();
  spec.prefetch = 0;
  EXPECT_FALSE(CheckLoaderSpec(spec).ok());
  spec = SomeLoader();
  spec.std[1] = 0;
  EXPECT_FALSE(CheckLoaderSpec(spec).ok());
}

TEST(MessageTest, EpochRoundTrip) {
  EpochCommand command;
  command.seed = ~uint64_t{0};
  command.first = 3;
  command.count = 1000;
  command.limit_s = 600;
  command.consumer_s = 0.05;
  const std::string line = EpochLine(command);
  EXPECT_EQ(line, R"({"op":"epoch","seed":18446744073709551615,"first":3,)"
                  R"("count":1000,"limit_s":600,"consumer_s":0.05})"
                  "\n");
  const auto parsed = ParseChildCommand(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op, ChildCommand::Op::kEpoch);
  EXPECT_EQ(EpochLine(parsed->epoch), line);
}

TEST(MessageTest, EpochReplyRoundTrip) {
  EpochReply reply;
  reply.items = 7;
  reply.batches = 2;
  reply.elapsed_s = 1.5;
  reply.samples_s = {0.5, 0.25};
  reply.stages.push_back({"decode", 1, 0.5, 0.25, 0.75});
  reply.errors.push_back({3, "a/\"b\".jpg", "not a JPEG"});
  reply.errors_total = 1;
  reply.bytes_out = 1 << 20;
  EXPECT_FALSE(ParseEpochReply(WithoutNewline(EpochReplyLine(reply)))
                   ->storage.has_value());
  reply.storage = StorageCounts{5, 4000, 3, 2, 0.5, 9, 8, 7, 6};
  reply.gpu_allocated_bytes = 5;
  reply.gpu_reserved_bytes = 7;
  reply.cpu_frames = 48;
  reply.device_limits = DeviceLimits{19600.5, 5.5e10};
  const std::string line = EpochReplyLine(reply);
  const auto parsed = ParseEpochReply(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(EpochReplyLine(*parsed), line);
  EXPECT_EQ(parsed->stages[0].name, "decode");
  EXPECT_EQ(parsed->errors[0].path, "a/\"b\".jpg");
  EXPECT_EQ(parsed->storage->cache_write_failures, 6);
  EXPECT_EQ(parsed->cpu_frames, 48);
  EXPECT_EQ(parsed->device_limits->engine_items_per_s, 19600.5);
}

TEST(MessageTest, AnEpochWithANegativeTimeIsNamed) {
  EpochReply reply;
  reply.teardown_s = -1;
  const absl::Status status =
      ParseEpochReply(WithoutNewline(EpochReplyLine(reply))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("teardown_s"));
}

TEST(MessageTest, ChildInfoWithAndWithoutStatus) {
  EXPECT_EQ(ParseChildInfo(WithoutNewline(SpawnedLine(5)))->pid, 5);
  EXPECT_EQ(
      ParseChildInfo(WithoutNewline(ReapedLine({5, 139, 1 << 20})))->status,
      139);
}

TEST(MessageTest, AnErrorIsTheLibrarys) {
  const absl::Status status =
      ParseTimeReply(R"({"error":"TypeError: no","traceback":"x"})").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "TypeError: no");
}

TEST(MessageTest, MemoryThatRanOutIsToldApart) {
  for (
      const char* line :
      {R"({"error":"MemoryError: Unable to allocate"})",
       R"({"error":"std::bad_alloc"})",
       R"({"error":"OutOfMemoryError: CUDA out of"})",
       R"({"error":"c10::OutOfMemoryError: CUDA out"})",
       R"({"error":"CUDA: cudaMalloc: out of memory"})",
       R"({"error":"CUDA out of memory: 183.11 GiB"})",
       // The text of torch 2.11 for a failure outside its allocator.
       R"({"error":"AcceleratorError: CUDA error: out of memory\nSearch for"})",
       R"({"error":"c10::AcceleratorError: CUDA error: out of memory"})",
       R"({"error":"RuntimeError: CUDA error: out of memory"})",
       R"({"error":"RuntimeError: CUDA driver error: out of memory"})",
       R"({"error":"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"})",
       R"({"error":"c10::CuDNNError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"})",
       R"({"error":"std::runtime_error: CUDA: launch: out of memory"})",
       R"({"error":"RuntimeError: NVCV_ERROR_OUT_OF_MEMORY: cannot"})"}) {
    EXPECT_EQ(ParseTimeReply(line).status().code(),
              absl::StatusCode::kResourceExhausted)
        << line;
  }
  EXPECT_EQ(
      ParseTimeReply(R"({"error":"CUDA: launch: no kernel"})").status().code(),
      absl::StatusCode::kUnknown);
  for (const char* line :
       {R"({"error":"AcceleratorError: CUDA error: an illegal memory access"})",
        // Texts that mention memory but come from other errors.
        R"({"error":"ValueError: the page ran out of memory of its own"})",
        R"({"error":"RuntimeError: CUDA error: no\nis out of memory"})"}) {
    EXPECT_EQ(ParseTimeReply(line).status().code(), absl::StatusCode::kUnknown)
        << line;
  }
}

TEST(MessageTest, GarbageIsNamed) {
  const absl::Status status = ParseTimeReply("\x01Segmentation").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("garbage instead of an answer"));
}

TEST(MessageTest, AMissingOrWrongFieldIsNamed) {
  for (const char* line :
       {R"({})", R"({"samples_s":[1],"items":"x"})",
        R"({"samples_s":["a"],"items":1})", R"({"samples_s":[-1],"items":1})",
        R"([1,2])", R"({"samples_s":[null],"items":1})", ""}) {
    EXPECT_EQ(ParseTimeReply(line).status().code(), absl::StatusCode::kDataLoss)
        << line;
  }
}

TEST(MixtureMessageTest, PrepareRoundTrip) {
  PrepareCommand command;
  command.library = "native";
  command.mixture.emplace();
  command.mixture->metadata = "full";
  command.mixture->frame_height = 128;
  command.mixture->samples_per_episode = 0;
  const std::string line = PrepareLine(command);
  const auto parsed = ParseChildCommand(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->prepare.mixture.has_value());
  EXPECT_EQ(parsed->prepare.mixture->frame_height, 128);
  EXPECT_EQ(PrepareLine(parsed->prepare), line);
}

TEST(MixtureMessageTest, StopRoundTrip) {
  const auto parsed = ParseChildCommand(WithoutNewline(StopLine()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op, ChildCommand::Op::kStop);
  const std::string reply = StopReplyLine({0.25});
  EXPECT_EQ(ParseStopReply(WithoutNewline(reply))->teardown_s, 0.25);
  EXPECT_FALSE(ParseStopReply("{\"teardown_s\":-1}").ok());
}

TEST(MixtureMessageTest, AWrongFieldIsNamed) {
  MixtureSpec spec;
  EXPECT_TRUE(CheckMixtureSpec(spec).ok());
  spec.queue_depth = 0;
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("queue_depth is 0; use at least 1"));
  spec = MixtureSpec();
  spec.frame_width = 225;
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("frame_width is 225"));
  spec = MixtureSpec();
  spec.metadata = "some";
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("use none, dataset_only or full"));
}

TEST(MixtureMessageTest, SourcesPassThroughAMemoryFile) {
  const std::vector<MixtureSource> sources = {{"a", 1.5, {"/x/1", "/x/2"}},
                                              {"b", 0.25, {}}};
  const auto fd = WriteMixtureSources(sources);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto read = ReadMixtureSources(fd->get());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].weight, 1.5);
  EXPECT_THAT((*read)[0].shards, ElementsAre("/x/1", "/x/2"));
  EXPECT_TRUE((*read)[1].shards.empty());
}

TEST(MixtureMessageTest, AListWithoutDataSetsIsRefused) {
  const auto fd = WriteMixtureSources({});
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_THAT(std::string(ReadMixtureSources(fd->get()).status().message()),
              HasSubstr("list of data sets is empty"));
}

TEST(MixtureMessageTest, CountsOfBatchesRoundTrip) {
  EpochReply reply;
  reply.items = 8;
  reply.batches = 2;
  reply.samples_s = {0.5, 0.25};
  reply.times_s = {0.5, 0.75};
  reply.counts = {{0, 3, 2, 1}, {1, 4}};
  reply.left_out = {"empty"};
  const std::string line = EpochReplyLine(reply);
  const auto parsed = ParseEpochReply(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->counts,
              ElementsAre(ElementsAre(0, 3, 2, 1), ElementsAre(1, 4)));
  EXPECT_THAT(parsed->left_out, ElementsAre("empty"));
  EXPECT_EQ(EpochReplyLine(*parsed), line);
}

TEST(MixtureMessageTest, CountsThatAreNoPairsAreRefused) {
  EpochReply reply;
  reply.times_s = {0.5};
  reply.counts = {{0, 3, 2}};
  EXPECT_THAT(std::string(ParseEpochReply(WithoutNewline(EpochReplyLine(reply)))
                              .status()
                              .message()),
              HasSubstr("counts"));
}

UniqueFd FileWith(const std::string& text) {
  UniqueFd fd(memfd_create("list", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), text.size());
  return fd;
}

TEST(SourceListTest, RoundTripKeepsOddNames) {
  const auto fd = WriteSourceList({{"/data/a \"b\".jpg", 12}, {"/x\ty", 0}});
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto files = ReadSourceList(fd->get());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2);
  EXPECT_EQ((*files)[0].path, "/data/a \"b\".jpg");
  EXPECT_EQ((*files)[0].bytes, 12);
  EXPECT_EQ((*files)[1].path, "/x\ty");
  EXPECT_EQ(write(fd->get(), "x", 1), -1) << "it is sealed";
}

TEST(SourceListTest, RoundTripOfParts) {
  SourceFile file = {"shard.tar", 12, {}};
  file.part = ObjectPart{512, "\"etag\"", "md5:00", "a/ü.jpg", 0xfffffff0u};
  SourceFile plain = {"a.jpg", 3, {}};
  plain.part.emplace();
  const auto fd = WriteSourceList({file, plain, {"/local.jpg", 1}});
  const auto files = ReadSourceList(fd->get());
  ASSERT_TRUE(files.ok()) << files.status();
  const ObjectPart& part = *(*files)[0].part;
  EXPECT_EQ(part.offset, 512);
  EXPECT_EQ(part.version, "\"etag\"");
  EXPECT_EQ(part.checksum, "md5:00");
  EXPECT_EQ(part.member, "a/ü.jpg");
  EXPECT_EQ(part.crc32c, 0xfffffff0u);
  EXPECT_TRUE((*files)[1].part.has_value());
  EXPECT_FALSE((*files)[1].part->crc32c.has_value());
  EXPECT_FALSE((*files)[2].part.has_value());
}

TEST(SourceListTest, ABrokenLineIsNamed) {
  const UniqueFd fd = FileWith("{\"path\":\"/a\",\"bytes\":1}\n{\"path\":3}\n");
  const auto files = ReadSourceList(fd.get());
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("line 2"));
}

TEST(SourceListTest, AnEmptyListIsRefused) {
  EXPECT_FALSE(ReadSourceList(FileWith("").get()).ok());
}

}  // namespace
}  // namespace feedrate
