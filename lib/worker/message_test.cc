#include "lib/worker/message.h"

#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/memory_file.h"
#include "lib/base/unique_fd.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WithoutNewline(const std::string& line) {
  EXPECT_EQ(line.back(), '\n');
  return line.substr(0, line.size() - 1);
}

template <typename Value>
void SetList(const std::vector<std::common_type_t<Value>>& values,
             google::protobuf::RepeatedField<Value>* list) {
  list->Assign(values.begin(), values.end());
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
  SetList({1e-9, 0.1 + 0.2, 0}, reply.mutable_samples_s());
  reply.set_items(3);
  const auto back = ParseTimeReply(WithoutNewline(ReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->samples_s(), ElementsAre(1e-9, 0.1 + 0.2, 0));
}

TEST(MessageTest, WhatADeviceCanDoRoundTrips) {
  PrepareReply reply;
  reply.set_version("13.0");
  reply.set_device_copy_bytes_per_s(4e12);
  reply.set_engine_items_per_s(250.5);
  const auto back = ParsePrepareReply(WithoutNewline(ReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->device_copy_bytes_per_s(), 4e12);
  EXPECT_EQ(back->engine_items_per_s(), 250.5);
}

TEST(MessageTest, TimesOfADeviceRoundTrip) {
  TimeCommand command;
  command.count = 512;
  command.cold = true;
  const auto parsed = ParseChildCommand(WithoutNewline(TimeLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->time.cold);
  TimeReply reply;
  SetList({1e-4, 2e-4}, reply.mutable_samples_s());
  reply.set_items(512);
  DeviceReply& device = *reply.mutable_device();
  SetList({1980, 1200}, device.mutable_clocks_mhz());
  device.set_max_clock_mhz(1980);
  device.set_throttle_reasons(uint64_t{1} << 63);
  device.set_bytes_out(12);
  device.set_cpu_frames(5);
  const auto back = ParseTimeReply(WithoutNewline(ReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->device().clocks_mhz(), ElementsAre(1980, 1200));
  EXPECT_EQ(back->device().throttle_reasons(), device.throttle_reasons());
  EXPECT_EQ(back->device().bytes_out(), 12);
  EXPECT_EQ(back->device().cpu_frames(), 5);
  device.mutable_clocks_mhz()->RemoveLast();
  EXPECT_THAT(
      std::string(
          ParseTimeReply(WithoutNewline(ReplyLine(reply))).status().message()),
      HasSubstr("clocks_mhz"));
}

TEST(MessageTest, OnTheCpuNothingIsSaidOfADevice) {
  EXPECT_EQ(ReplyLine(TimeReply()), "{\"samples_s\":[],\"items\":0}\n");
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

// Python workers read these keys. A change here is a change of the protocol,
// which docs/adapters.md describes.
TEST(MessageTest, LinesOfCommands) {
  PrepareCommand command;
  command.library = "pillow";
  command.transform = "Resize";
  command.native_op = "Image.resize";
  command.params = {"size=512"};
  command.wrap = "w";
  command.scenario = "image-rgb";
  command.device = "cpu";
  command.seed = 7;
  constexpr char kPlain[] =
      R"({"op":"prepare","library":"pillow","transform":"Resize",)"
      R"("native_op":"Image.resize","params":["size=512"],"wrap":"w",)"
      R"("scenario":"image-rgb","device":"cpu","seed":7,"opencv_opencl":true)";
  EXPECT_EQ(PrepareLine(command), std::string(kPlain) + "}\n");
  command.opencv_threads = 0;
  command.torch_intra_op = 1;
  command.torch_inter_op = 2;
  command.batch = 64;
  command.loader = SomeLoader();
  command.loader->rank = 1;
  command.loader->ranks = 2;
  command.loader->settings = {{"b", "2"}, {"a", "1"}};
  command.loader->store = {{"url", "s3://bucket"}};
  command.decode.emplace().threads = 0;
  command.mixture.emplace();
  EXPECT_EQ(
      PrepareLine(command),
      R"({"op":"prepare","library":"pillow","transform":"Resize",)"
      R"("native_op":"Image.resize","params":["size=512"],"wrap":"w",)"
      R"("scenario":"image-rgb","device":"cpu","seed":7,"opencv_threads":0,)"
      R"("opencv_opencl":true,"torch_intra_op":1,"torch_inter_op":2,)"
      R"("batch":64,"loader":{"scope":"decode_dataloader_augment",)"
      R"("source":"files","batch_size":256,"workers":2,"prefetch":4,)"
      R"("persistent":true,"pin_memory":false,"drop_last":false,)"
      R"("shuffle":false,"rank":1,"ranks":2,"channels":3,"crop":224,)"
      R"("is_crop":false,"crop_position":"random","mean":[0.485,0.456,0.406],)"
      R"("std":[0.229,0.224,0.225],"input_scale":255,"batch_transform":"",)"
      R"("on_error":"skip","ablation":"","settings":{"a":"1","b":"2"},)"
      R"("store":{"url":"s3://bucket"}},"decode":{"threads":0},)"
      R"("mixture":{"batch_size":64,"read_interleave":2,)"
      R"("decode_parallelism":0,"pipeline_interleave":2,)"
      R"("mix_block_length":4,"shuffle_buffer":16,"queue_depth":4,)"
      R"("samples_per_episode":5,"pair_offset":1,"metadata":"none",)"
      R"("prime_each_dataset_samples":0,"action_chunk":1,)"
      R"("frame_height":224,"frame_width":224,"on_error":"fail"}})"
      "\n");
  TimeCommand time;
  time.first = 1;
  time.count = 2;
  time.limit_s = 0.5;
  time.seed = 4;
  EXPECT_EQ(TimeLine(time),
            R"({"op":"time","first":1,"count":2,"chunk":1,"limit_s":0.5,)"
            "\"seed\":4}\n");
  time.cold = true;
  EXPECT_THAT(TimeLine(time), HasSubstr(R"("seed":4,"cold":true})"));
  EpochCommand epoch;
  epoch.count = 10;
  epoch.ids = true;
  epoch.epoch = 3;
  epoch.batches = 5;
  epoch.state = "s";
  EXPECT_EQ(EpochLine(epoch),
            R"({"op":"epoch","seed":0,"first":0,"count":10,"limit_s":0,)"
            R"("consumer_s":0,"ids":true,"epoch":3,"batches":5,"state":"s"})"
            "\n");
  OutputCommand output;
  output.indexes = {1, 0};
  output.seed = 5;
  EXPECT_EQ(OutputLine(output),
            "{\"op\":\"output\",\"indexes\":[1,0],\"seed\":5}\n");
  EXPECT_EQ(StopLine(), "{\"op\":\"stop\"}\n");
}

TEST(MessageTest, LinesOfServersAndOutputs) {
  ControlRequest request;
  request.library = "opencv";
  EXPECT_EQ(ControlRequestLine(request),
            "{\"op\":\"spawn\",\"library\":\"opencv\"}\n");
  request.op = ControlRequest::Op::kReap;
  request.pid = 5;
  EXPECT_EQ(ControlRequestLine(request), "{\"op\":\"reap\",\"pid\":5}\n");
  EXPECT_EQ(SpawnedLine(5), "{\"pid\":5}\n");
  EXPECT_EQ(ReapedLine({5, 9, 77}),
            "{\"pid\":5,\"status\":9,\"max_rss\":77}\n");
  OutputReply reply;
  reply.fd = 9;
  reply.outputs.push_back({0, 12, "uint8", "HWC", {2, 2, 3}});
  EXPECT_EQ(OutputReplyLine(reply),
            R"({"fd":9,"outputs":[{"offset":0,"bytes":12,"dtype":"uint8",)"
            R"("layout":"HWC","shape":[2,2,3]}]})"
            "\n");
  EXPECT_EQ(ErrorLine("E", "t"), "{\"error\":\"E\",\"traceback\":\"t\"}\n");
}

TEST(MessageTest, LinesOfLists) {
  const auto text_of = [](const absl::StatusOr<UniqueFd>& fd) {
    EXPECT_TRUE(fd.ok()) << fd.status();
    return *ReadMemoryFile(fd->get(), "list");
  };
  EXPECT_EQ(text_of(WriteMixtureSources({{"a", 1.5, {"/x"}}})),
            R"({"name":"a","weight":1.5,"shards":["/x"],"image":"frames",)"
            R"("action":["action"],"state":["state"],)"
            R"("instruction":"instruction","episode_id":"episode_id"})"
            "\n");
  SourceFile part = {"shard.tar", 12, {}};
  part.part = ObjectPart{512, "v", "md5:00", "a.jpg", 0xfffffff0u};
  SourceFile clip = {"/v.mp4", 3, {4, 8}};
  EXPECT_EQ(text_of(WriteSourceList({part, clip})),
            R"({"path":"shard.tar","bytes":12,"offset":512,"version":"v",)"
            R"("checksum":"md5:00","member":"a.jpg","crc32c":4294967280})"
            "\n"
            R"({"path":"/v.mp4","bytes":3,"frames":[4,8]})"
            "\n");
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
  reply.set_items(7);
  reply.set_batches(2);
  reply.set_elapsed_s(1.5);
  SetList({0.5, 0.25}, reply.mutable_samples_s());
  StageTimes* const stage = reply.add_stages();
  stage->set_name("decode");
  stage->set_busy_s(1);
  stage->set_wait_in_s(0.5);
  stage->set_wait_out_s(0.25);
  stage->set_queue_fill(0.75);
  LoaderError* const error = reply.add_errors();
  error->set_item(3);
  error->set_path("a/\"b\".jpg");
  error->set_reason("not a JPEG");
  reply.set_errors_total(1);
  reply.set_bytes_out(1 << 20);
  EXPECT_FALSE(
      ParseEpochReply(WithoutNewline(ReplyLine(reply)))->has_storage());
  reply.mutable_storage()->set_requests(5);
  reply.mutable_storage()->set_cache_write_failures(6);
  reply.set_gpu_allocated_bytes(5);
  reply.set_gpu_reserved_bytes(7);
  reply.set_cpu_frames(48);
  reply.mutable_device_limits()->set_engine_items_per_s(19600.5);
  const std::string line = ReplyLine(reply);
  const auto parsed = ParseEpochReply(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(
      line,
      R"({"items":7,"batches":2,"elapsed_s":1.5,"startup_s":0,)"
      R"("first_batch_s":0,"teardown_s":0,"samples_s":[0.5,0.25],)"
      R"("consumer_s":0,"cpu_s":0,"stages":[{"name":"decode","busy_s":1,)"
      R"("wait_in_s":0.5,"wait_out_s":0.25,"queue_fill":0.75}],)"
      R"("errors":[{"item":3,"path":"a/\"b\".jpg","reason":"not a JPEG"}],)"
      R"("errors_total":1,"bytes_out":1048576,"gpu_allocated_bytes":5,)"
      R"("gpu_reserved_bytes":7,"cpu_frames":48,"device_limits":)"
      R"({"engine_items_per_s":19600.5,"copy_bytes_per_s":0},"storage":)"
      R"({"requests":5,"bytes":0,"retries":0,"checksum_faults":0,"busy_s":0,)"
      R"("cache_hits":0,"cache_misses":0,"cache_bad_entries":0,)"
      R"("cache_write_failures":6}})"
      "\n");
  EXPECT_EQ(ReplyLine(*parsed), line);
}

TEST(MessageTest, AnEpochWithANegativeTimeIsNamed) {
  EpochReply reply;
  reply.set_teardown_s(-1);
  const absl::Status status =
      ParseEpochReply(WithoutNewline(ReplyLine(reply))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("teardown_s"));
}

TEST(MessageTest, AWrongFieldInsideAnAnswerIsNamed) {
  EpochReply reply;
  reply.add_stages()->set_name("read");
  reply.add_errors();
  reply.mutable_storage();
  reply.mutable_device_limits();
  reply.set_gpu_allocated_bytes(1);
  reply.set_gpu_reserved_bytes(2);
  reply.add_times_s(1);
  reply.add_counts()->add_list(1);
  reply.mutable_counts(0)->add_list(2);
  const std::string line = WithoutNewline(ReplyLine(reply));
  ASSERT_TRUE(ParseEpochReply(line).ok());
  const std::vector<std::vector<std::string>> cases = {
      {"samples_s", R"("samples_s":[])", R"("samples_s":0)"},
      {"stages", R"("stages":[{)", R"("stages":[1,{)"},
      {"errors", R"("errors":)", R"("no_errors":)"},
      {"errors_total", R"("errors_total":0)", R"("errors_total":0.5)"},
      {"name", R"("name":"read")", R"("name":3)"},
      {"queue_fill", R"("queue_fill":0)", R"("queue_fill":-0.1)"},
      {"path", R"("path":"",)", ""},
      {"storage", R"("storage":{)", R"("storage":0,"other":{)"},
      {"cache_hits", R"("cache_hits":0)", R"("cache_hits":-1)"},
      {"copy_bytes_per_s", R"("copy_bytes_per_s":0)", R"("x":0)"},
      {"gpu_allocated_bytes", R"("gpu_allocated_bytes":1,)", ""},
      {"gpu_reserved_bytes", R"("gpu_reserved_bytes":2)",
       R"("gpu_reserved_bytes":null)"},
      {"times_s", R"("times_s":[1])", R"("times_s":[-1])"},
      {"counts", R"("times_s":[1])", R"("times_s":[1,2])"},
      {"counts", "[[1,2]]", "[[1,-2]]"},
      {"counts", "[[1,2]]", "[1,2]"}};
  for (const std::vector<std::string>& wrong : cases) {
    const std::string changed =
        absl::StrReplaceAll(line, {{wrong[1], wrong[2]}});
    ASSERT_NE(changed, line) << wrong[1];
    const absl::Status status = ParseEpochReply(changed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << changed;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("answered without a usable \"", wrong[0],
                                       "\": ")))
        << changed;
  }
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
  StopReply reply;
  reply.set_teardown_s(0.25);
  EXPECT_EQ(ParseStopReply(WithoutNewline(ReplyLine(reply)))->teardown_s(),
            0.25);
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
  std::vector<MixtureSource> sources = {{"a", 1.5, {"/x/1", "/x/2"}},
                                        {"b", 0.25, {}}};
  sources[1].image = "steps/observation/image";
  sources[1].action = {"steps/x", "steps/y"};
  sources[1].instruction = "";
  const auto fd = WriteMixtureSources(sources);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto read = ReadMixtureSources(fd->get());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].weight, 1.5);
  EXPECT_THAT((*read)[0].shards, ElementsAre("/x/1", "/x/2"));
  EXPECT_EQ((*read)[0].image, "frames");
  EXPECT_TRUE((*read)[1].shards.empty());
  EXPECT_EQ((*read)[1].image, "steps/observation/image");
  EXPECT_THAT((*read)[1].action, ElementsAre("steps/x", "steps/y"));
  EXPECT_THAT((*read)[1].state, ElementsAre("state"));
  EXPECT_EQ((*read)[1].instruction, "");
}

TEST(MixtureMessageTest, AListWithoutDataSetsIsRefused) {
  const auto fd = WriteMixtureSources({});
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_THAT(std::string(ReadMixtureSources(fd->get()).status().message()),
              HasSubstr("list of data sets is empty"));
}

TEST(MixtureMessageTest, CountsOfBatchesRoundTrip) {
  EpochReply reply;
  reply.set_items(8);
  reply.set_batches(2);
  SetList({0.5, 0.25}, reply.mutable_samples_s());
  SetList({0.5, 0.75}, reply.mutable_times_s());
  SetList({0, 3, 2, 1}, reply.add_counts()->mutable_list());
  SetList({1, 4}, reply.add_counts()->mutable_list());
  reply.add_left_out("empty");
  const std::string line = ReplyLine(reply);
  const auto parsed = ParseEpochReply(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(line, HasSubstr(R"("counts":[[0,3,2,1],[1,4]])"));
  EXPECT_THAT(parsed->counts(0).list(), ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(parsed->counts(1).list(), ElementsAre(1, 4));
  EXPECT_THAT(parsed->left_out(), ElementsAre("empty"));
  EXPECT_EQ(ReplyLine(*parsed), line);
}

TEST(MixtureMessageTest, CountsThatAreNoPairsAreRefused) {
  EpochReply reply;
  reply.add_times_s(0.5);
  SetList({0, 3, 2}, reply.add_counts()->mutable_list());
  EXPECT_THAT(
      std::string(
          ParseEpochReply(WithoutNewline(ReplyLine(reply))).status().message()),
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
