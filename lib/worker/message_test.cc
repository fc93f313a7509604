#include "lib/worker/message.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/worker.pb.h"

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

template <typename Command>
Command Parsed(const Command& command) {
  const auto parsed = ParseChildCommand(WithoutNewline(CommandLine(command)));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  ChildCommand any = parsed.value_or(ChildCommand());
  const google::protobuf::Message& inner = any.GetReflection()->GetMessage(
      any, any.GetReflection()->GetOneofFieldDescriptor(
               any, any.GetDescriptor()->oneof_decl(0)));
  Command back;
  back.CopyFrom(inner);
  return back;
}

TEST(MessageTest, HelloRoundTrip) {
  Hello hello;
  hello.set_hello(1);
  hello.set_pid(12);
  (*hello.mutable_versions())["kornia"] = "0.8.2";
  (*hello.mutable_versions())["torchvision"] = "0.26.0";
  hello.set_import_s(2.5);
  const std::string line = ReplyLine(hello);
  EXPECT_EQ(line, R"({"hello":1,"pid":12,"versions":{"kornia":"0.8.2",)"
                  R"("torchvision":"0.26.0"},"import_s":2.5})"
                  "\n");
  const auto parsed = ParseReply<Hello>(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ReplyLine(*parsed), line);
}

TEST(MessageTest, PrepareRoundTripKeepsOddText) {
  PrepareCommand command;
  command.add_params("size=(512,512)");
  command.add_params("name=\"a\\b\"\n\xff");
  command.set_seed(-7);
  command.set_opencv_threads(0);
  const PrepareCommand parsed = Parsed(command);
  EXPECT_EQ(parsed.params(0), "size=(512,512)");
  EXPECT_EQ(parsed.params(1), "name=\"a\\b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(parsed.seed(), -7);
  EXPECT_TRUE(parsed.has_opencv_threads());
  EXPECT_FALSE(parsed.has_torch_intra_op());
}

TEST(MessageTest, TimeRoundTripIsExact) {
  TimeCommand command;
  command.set_count(2000);
  command.set_seed(~uint64_t{0});
  EXPECT_EQ(Parsed(command).seed(), command.seed());
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
  const auto back = ParseReply<PrepareReply>(WithoutNewline(ReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->device_copy_bytes_per_s(), 4e12);
  EXPECT_EQ(back->engine_items_per_s(), 250.5);
}

TEST(MessageTest, TimesOfADeviceRoundTrip) {
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
  EXPECT_EQ(CommandLine(TimeCommand()).find("cold"), std::string::npos);
}

LoaderSpec SomeLoader() {
  LoaderSpec spec;
  spec.set_scope(kDecodeScope);
  spec.set_source("files");
  spec.set_batch_size(256);
  spec.set_workers(2);
  spec.set_prefetch(4);
  spec.set_persistent(true);
  spec.set_channels(3);
  spec.set_crop(224);
  spec.set_crop_position("random");
  SetList({0.485, 0.456, 0.406}, spec.mutable_mean());
  SetList({0.229, 0.224, 0.225}, spec.mutable_std());
  spec.set_input_scale(255);
  spec.set_on_error("skip");
  return spec;
}

TEST(MessageTest, PrepareOfALoaderRoundTrip) {
  PrepareCommand command;
  EXPECT_FALSE(Parsed(command).has_loader());
  *command.mutable_loader() = SomeLoader();
  command.mutable_loader()->set_source("objects");
  (*command.mutable_loader()->mutable_settings())["read_ahead"] = "io_uring";
  (*command.mutable_loader()->mutable_store())["url"] = "s3://bucket/ü";
  EXPECT_EQ(CommandLine(Parsed(command)), CommandLine(command));
}

TEST(MessageTest, ACommandThatIsNotWholeIsNamed) {
  const std::string line = WithoutNewline(CommandLine(TimeCommand()));
  ASSERT_TRUE(ParseChildCommand(line).ok());
  const std::vector<std::vector<std::string>> cases = {
      {"op", R"("op":"time")", R"("op":"sleep")"},
      {"op", R"("op":"time",)", ""},
      {"count", R"("count":0,)", ""},
      {"seed", R"("seed":0)", R"("seed":-1)"},
      {"chunk", R"("chunk":0)", R"("chunk":"1")"}};
  for (const std::vector<std::string>& wrong : cases) {
    const absl::Status status =
        ParseChildCommand(absl::StrReplaceAll(line, {{wrong[1], wrong[2]}}))
            .status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("usable \"", wrong[0], "\": ")));
  }
  PrepareCommand negative;
  negative.set_batch(-1);
  EXPECT_THAT(
      std::string(ParseChildCommand(WithoutNewline(CommandLine(negative)))
                      .status()
                      .message()),
      HasSubstr("batch"));
}

// Python workers read these keys. A change here is a change of the protocol,
// which docs/adapters.md describes.
TEST(MessageTest, LinesOfCommands) {
  PrepareCommand command;
  command.set_library("pillow");
  command.set_transform("Resize");
  command.set_native_op("Image.resize");
  command.add_params("size=512");
  command.set_opencv_opencl(true);
  command.set_wrap("w");
  command.set_scenario("image-rgb");
  command.set_device("cpu");
  command.set_seed(7);
  constexpr char kPlain[] =
      R"({"op":"prepare","library":"pillow","transform":"Resize",)"
      R"("native_op":"Image.resize","params":["size=512"],"wrap":"w",)"
      R"("scenario":"image-rgb","device":"cpu","seed":7,"opencv_opencl":true)";
  EXPECT_EQ(CommandLine(command), std::string(kPlain) + "}\n");
  command.set_opencv_threads(0);
  command.set_torch_intra_op(1);
  command.set_torch_inter_op(2);
  command.set_batch(64);
  *command.mutable_loader() = SomeLoader();
  command.mutable_loader()->set_rank(1);
  command.mutable_loader()->set_ranks(2);
  (*command.mutable_loader()->mutable_settings())["b"] = "2";
  (*command.mutable_loader()->mutable_settings())["a"] = "1";
  (*command.mutable_loader()->mutable_store())["url"] = "s3://bucket";
  command.mutable_decode();
  *command.mutable_mixture() = CommandOf(MixtureSpec());
  EXPECT_EQ(
      CommandLine(command),
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
  time.set_first(1);
  time.set_count(2);
  time.set_chunk(1);
  time.set_limit_s(0.5);
  time.set_seed(4);
  EXPECT_EQ(CommandLine(time),
            R"({"op":"time","first":1,"count":2,"chunk":1,"limit_s":0.5,)"
            "\"seed\":4}\n");
  time.set_cold(true);
  EXPECT_THAT(CommandLine(time), HasSubstr(R"("seed":4,"cold":true})"));
  EpochCommand epoch;
  epoch.set_count(10);
  epoch.set_ids(true);
  epoch.set_epoch(3);
  epoch.set_batches(5);
  epoch.set_state("s");
  EXPECT_EQ(CommandLine(epoch),
            R"({"op":"epoch","seed":0,"first":0,"count":10,"limit_s":0,)"
            R"("consumer_s":0,"ids":true,"epoch":3,"batches":5,"state":"s"})"
            "\n");
  OutputCommand output;
  output.add_indexes(1);
  output.add_indexes(0);
  output.set_seed(5);
  EXPECT_EQ(CommandLine(output),
            "{\"op\":\"output\",\"indexes\":[1,0],\"seed\":5}\n");
  EXPECT_EQ(CommandLine(StopCommand()), "{\"op\":\"stop\"}\n");
}

TEST(MessageTest, LinesOfServersAndOutputs) {
  SpawnCommand spawn;
  spawn.set_library("opencv");
  EXPECT_EQ(CommandLine(spawn), "{\"op\":\"spawn\",\"library\":\"opencv\"}\n");
  ReapCommand reap;
  reap.set_pid(5);
  EXPECT_EQ(CommandLine(reap), "{\"op\":\"reap\",\"pid\":5}\n");
  EXPECT_EQ(ParseControlRequest("{\"op\":\"reap\",\"pid\":5}")->reap().pid(),
            5);
  ChildInfo child;
  child.set_pid(5);
  EXPECT_EQ(ReplyLine(child), "{\"pid\":5}\n");
  child.set_status(139);
  child.set_max_rss(77);
  EXPECT_EQ(ReplyLine(child), "{\"pid\":5,\"status\":139,\"max_rss\":77}\n");
  OutputReply reply;
  reply.set_fd(9);
  OutputItem* const item = reply.add_outputs();
  item->set_bytes(12);
  item->set_dtype("uint8");
  item->set_layout("HWC");
  SetList({2, 2, 3}, item->mutable_shape());
  const std::string line = ReplyLine(reply);
  EXPECT_EQ(line,
            R"({"fd":9,"outputs":[{"offset":0,"bytes":12,"dtype":"uint8",)"
            R"("layout":"HWC","shape":[2,2,3]}]})"
            "\n");
  EXPECT_EQ(ReplyLine(*ParseReply<OutputReply>(WithoutNewline(line))), line);
  EXPECT_EQ(ErrorLine("E", "t"), "{\"error\":\"E\",\"traceback\":\"t\"}\n");
  EXPECT_EQ(ErrorLine("E"), "{\"error\":\"E\"}\n");
}

TEST(MessageTest, ALoaderThatCannotBeMeantIsRefused) {
  EXPECT_TRUE(CheckLoaderSpec(SomeLoader()).ok());
  LoaderSpec spec = SomeLoader();
  spec.set_ablation("no_thing");
  EXPECT_THAT(std::string(CheckLoaderSpec(spec).message()),
              HasSubstr("ablation \"no_thing\" is unknown"));
  spec = SomeLoader();
  spec.set_prefetch(0);
  EXPECT_FALSE(CheckLoaderSpec(spec).ok());
  spec = SomeLoader();
  spec.set_std(1, 0);
  EXPECT_FALSE(CheckLoaderSpec(spec).ok());
}

TEST(MessageTest, EpochRoundTrip) {
  EpochCommand command;
  command.set_seed(~uint64_t{0});
  command.set_first(3);
  command.set_count(1000);
  command.set_limit_s(600);
  command.set_consumer_s(0.05);
  const std::string line = CommandLine(command);
  EXPECT_EQ(line, R"({"op":"epoch","seed":18446744073709551615,"first":3,)"
                  R"("count":1000,"limit_s":600,"consumer_s":0.05})"
                  "\n");
  EXPECT_EQ(CommandLine(Parsed(command)), line);
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
  MixtureSpec spec;
  spec.batch_size = 8;
  spec.metadata = "full";
  spec.frame_height = 128;
  spec.frame_width = 64;
  spec.on_error = "skip";
  int value = 2;
  for (const MixtureNumber& number : MixtureNumbers()) {
    spec.*number.field = value++;
  }
  PrepareCommand command;
  *command.mutable_mixture() = CommandOf(spec);
  EXPECT_EQ(CommandLine(Parsed(command)), CommandLine(command));
  EXPECT_EQ(CommandOf(SpecOf(command.mixture())).SerializeAsString(),
            command.mixture().SerializeAsString());
  EXPECT_EQ(SpecOf(command.mixture()).action_chunk, spec.action_chunk);
}

TEST(MixtureMessageTest, StopRoundTrip) {
  EXPECT_TRUE(ParseChildCommand("{\"op\":\"stop\"}")->has_stop());
  StopReply reply;
  reply.set_teardown_s(0.25);
  EXPECT_EQ(
      ParseReply<StopReply>(WithoutNewline(ReplyLine(reply)))->teardown_s(),
      0.25);
  EXPECT_FALSE(ParseReply<StopReply>("{\"teardown_s\":-1}").ok());
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

}  // namespace
}  // namespace feedrate
