// Decodes JPEG files from memory in one of several ways and prints a row for
// `duel --time=rows`: `dev/bench.sh decode` and `dev/bench.sh large`.
//
//   bench_decoders WAY whole|region [--threads=N] [--rounds=N] FOLDER|SIZE
//
// WAY: `own` (JpegRegionDecoder, what the loader uses), `index` (the same with
// places found before), `turbo` (libjpeg-turbo of this system), or the path of
// another one's libturbojpeg.so, from 3.0 on. A region is 224 x 224 at a drawn
// place, the same for all ways. SIZE, such as 4000x3000, is one made picture.
// Threads decode one picture together with `index`, otherwise each its own.
#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/stopwatch.h"
#include "lib/media/jpeg/region.h"
#include "lib/media/jpeg/test_files.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

[[noreturn]] void Fail(const std::string& text) {
  std::cerr << "bench_decoders: " << text << "\n";
  std::exit(1);
}

// The functions of turbojpeg.h that are used here.
struct TurboJpegApi {
  struct Region {
    int x, y, w, h;
  };
  void* (*init)(int);
  int (*header)(void*, const unsigned char*, size_t);
  int (*crop)(void*, Region);
  int (*decompress)(void*, const unsigned char*, size_t, unsigned char*, int,
                    int);
};

TurboJpegApi LoadTurboJpeg(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  TurboJpegApi api;
  const auto find = [&](const char* name, auto* to) {
    *to = reinterpret_cast<std::decay_t<decltype(*to)>>(dlsym(library, name));
    if (*to == nullptr) Fail(path + ": has no " + name);
  };
  find("tj3Init", &api.init);
  find("tj3DecompressHeader", &api.header);
  find("tj3SetCroppingRegion", &api.crop);
  find("tj3Decompress8", &api.decompress);
  return api;
}

struct Picture {
  std::string bytes;
  ImageInfo info;
  JpegRegion region;
  std::string entries;
};

struct Options {
  std::string way;
  bool is_region = false;
  int threads = 1;
  int rounds = 5;
  std::vector<std::string> names;
};

// Decodes one picture after the other, on one thread of the caller's.
class Decoder {
 public:
  Decoder(const Options& options, const TurboJpegApi* api)
      : options_(options), api_(api) {
    if (api != nullptr) handle_ = api->init(/*TJINIT_DECOMPRESS=*/1);
  }

  void Decode(const Picture& picture, int threads) {
    JpegRegion region = picture.region;
    const size_t row = size_t{3} * (region.width + 16);
    if (pixels_.size() < row * region.height) {
      pixels_.resize(row * region.height);
    }
    uint8_t* const out = pixels_.data();
    if (api_ != nullptr) return DecodeByApi(picture, out);
    absl::Status status;
    if (options_.way == "turbo") {
      status = turbo_.Open(picture.bytes).status();
      if (status.ok()) status = turbo_.Decode(region, {}, out, row);
    } else if (threads > 1) {
      status = bands_.Decode(picture.bytes, picture.entries, region, threads,
                             out, row);
    } else {
      status = own_.Open(picture.bytes).status();
      if (options_.way == "index") own_.UseEntries(picture.entries);
      if (status.ok()) status = own_.Decode(region, {}, out, row);
    }
    if (!status.ok()) Fail(status.ToString());
  }

 private:
  void DecodeByApi(const Picture& picture, uint8_t* out) {
    const auto* const data =
        reinterpret_cast<const unsigned char*>(picture.bytes.data());
    const size_t size = picture.bytes.size();
    JpegRegion region = picture.region;
    bool ok = api_->header(handle_, data, size) == 0;
    if (options_.is_region) {
      // It begins only at blocks.
      const int before = region.x % 16;
      ok = ok &&
           api_->crop(handle_, {region.x - before, region.y,
                                region.width + before, region.height}) == 0;
    }
    ok = ok && api_->decompress(handle_, data, size, out,
                                3 * (region.width + 16), /*TJPF_RGB=*/0) == 0;
    if (!ok) Fail("turbojpeg has failed");
  }

  const Options& options_;
  const TurboJpegApi* const api_;
  void* handle_ = nullptr;
  JpegRegionDecoder own_;
  JpegTurboRegion turbo_;
  JpegBandDecoder bands_;
  std::vector<uint8_t> pixels_;
};

Options Parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (absl::ConsumePrefix(&word, "--threads=")) {
      if (!absl::SimpleAtoi(word, &options.threads)) Fail("--threads=N");
    } else if (absl::ConsumePrefix(&word, "--rounds=")) {
      if (!absl::SimpleAtoi(word, &options.rounds)) Fail("--rounds=N");
    } else {
      words.emplace_back(word);
    }
  }
  if (words.size() != 3 || options.threads < 1 || options.rounds < 1 ||
      (words[1] != "whole" && words[1] != "region")) {
    Fail("needs a way, whole or region, and a folder or a size");
  }
  options.way = words[0];
  options.is_region = words[1] == "region";
  options.names = words;
  return options;
}

std::vector<Picture> Read(const Options& options) {
  std::vector<Picture> pictures;
  JpegTestFile made;
  const std::string& where = options.names[2];
  if (std::sscanf(where.c_str(), "%dx%d", &made.width, &made.height) == 2) {
    made.quality = 92;
    pictures.push_back({MakeJpeg(made), {}, {}, ""});
  } else {
    const auto paths = ListFiles(where, ".jpg", /*recursive=*/true);
    if (!paths.ok()) Fail(std::string(paths.status().message()));
    for (const std::string& path : *paths) {
      if (pictures.size() == 200) break;
      pictures.push_back({ReadFile(path).value(), {}, {}, ""});
    }
  }
  std::mt19937 random(1);
  JpegRegionDecoder decoder;
  for (Picture& picture : pictures) {
    const auto info = decoder.Open(picture.bytes);
    if (!info.ok()) Fail(std::string(info.status().message()));
    picture.info = *info;
    picture.region = {0, 0, info->width, info->height};
    if (options.is_region) {
      const int width = std::min(224, info->width);
      const int height = std::min(224, info->height);
      picture.region = {
          static_cast<int>(random() % (info->width - width + 1)),
          static_cast<int>(random() % (info->height - height + 1)), width,
          height};
    }
    if (options.way == "index") picture.entries = decoder.FindEntries();
  }
  if (pictures.empty()) Fail(where + ": has no .jpg files");
  return pictures;
}

double CpuSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) +
           1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int Run(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  TurboJpegApi api;
  const bool has_api = absl::StrContains(options.way, '/');
  if (has_api) api = LoadTurboJpeg(options.way);
  const std::vector<Picture> pictures = Read(options);
  const bool shares = options.way == "index";
  const int at_once = shares ? 1 : options.threads;
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (int i = 0; i < at_once; ++i) {
    decoders.push_back(
        std::make_unique<Decoder>(options, has_api ? &api : nullptr));
  }
  const auto count = static_cast<int64_t>(pictures.size());
  const auto pass = [&] {
    ParallelFor(at_once, at_once, [&](int64_t thread) {
      for (int64_t i = thread; i < count; i += at_once) {
        decoders[thread]->Decode(pictures[i], shares ? options.threads : 1);
      }
    });
  };
  pass();
  std::vector<double> seconds;
  const double cpu = CpuSeconds();
  for (int round = 0; round < options.rounds; ++round) {
    const int64_t begin = MonotonicNs();
    pass();
    seconds.push_back(1e-9 * static_cast<double>(MonotonicNs() - begin) /
                      static_cast<double>(count));
  }
  const double cpu_s = (CpuSeconds() - cpu) / options.rounds;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  absl::PrintF(
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"0000000000000000\","
      "\"status\":\"ok\",\"mode\":\"micro\",\"transform\":\"%s\","
      "\"unit\":\"image\",\"items\":%d,\"elapsed_s\":%.9g,"
      "\"samples_s\":[%.9g],\"throughput\":%.9g,\"usage\":{\"cpu_s\":%.9g}}\n",
      options.names[1], count, median * count, median, 1 / median, cpu_s);
  return 0;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Run(argc, argv); }
