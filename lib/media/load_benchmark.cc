// Speed of loading a data set, relative to libjpeg-turbo alone.
//
//   bazel run //lib/media:load_benchmark -- [IMAGES [PAIRS [THREADS]]]
//
// In each pair, in alternating order: LoadImages on a folder of synthetic JPEGs
// (reads files, hashes them, decodes into fresh shared memory, seals it), and
// the same files, already in memory, decoded by plain libjpeg calls into one
// buffer per thread. The ratio of their speeds is printed with the 95% interval
// of its median. The files are in the page cache.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

// jpeglib.h uses FILE without including it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include "absl/status/statusor.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/media/load_images.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void PlainDecode(const std::string& bytes, std::vector<uint8_t>* out) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&cinfo, TRUE);
  jpeg_start_decompress(&cinfo);
  const size_t stride = size_t{3} * cinfo.output_width;
  if (out->size() < stride * cinfo.output_height) {
    out->resize(stride * cinfo.output_height);
  }
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW row = out->data() + stride * cinfo.output_scanline;
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
}

// Times of one side of a pair. CPU time is the cost of the work; wall time also
// includes waiting and other processes.
struct Times {
  double wall_s = 0;
  double cpu_s = 0;
};

class Stopwatch {
 public:
  Times Stop() const {
    return {Seconds() - wall_start_, CpuSeconds() - cpu_start_};
  }

 private:
  static double CpuSeconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
  }
  double wall_start_ = Seconds();
  double cpu_start_ = CpuSeconds();
};

Times TimePlain(const std::vector<std::string>& files, int threads) {
  const Stopwatch stopwatch;
  ParallelFor(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
    thread_local std::vector<uint8_t> buffer;
    PlainDecode(files[i], &buffer);
  });
  return stopwatch.Stop();
}

Times TimeLoad(const std::string& dataset, int64_t images, int threads) {
  LoadRequest request;
  request.dataset = dataset;
  request.num_items = images;
  request.threads = threads;
  const Stopwatch stopwatch;
  const absl::StatusOr<LoadedImages> loaded = LoadImages(request);
  const Times times = stopwatch.Stop();
  if (!loaded.ok() || loaded->corpus.size() != images) {
    std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str());
    std::exit(2);
  }
  return times;
}

std::vector<std::string> MakeFiles(const std::string& folder, int64_t images) {
  std::vector<std::string> files(images);
  ParallelFor(images, 0, [&](int64_t i) {
    files[i] = SyntheticJpeg(1, i);
    std::FILE* file =
        std::fopen((folder + "/" + SyntheticName(i)).c_str(), "wb");
    if (file == nullptr ||
        std::fwrite(files[i].data(), 1, files[i].size(), file) !=
            files[i].size() ||
        std::fclose(file) != 0) {
      std::perror(folder.c_str());
      std::exit(2);
    }
  });
  return files;
}

// The median of sorted values, and the ranks between which the true median lies
// with 95% confidence.
void PrintMedian(const char* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  const auto low = static_cast<size_t>(
      std::max(0.0, std::floor((n - 1.96 * std::sqrt(n)) / 2)));
  std::printf("%-24s %8.3f  [%.3f, %.3f]  n=%zu\n", name,
              values[values.size() / 2], values[low],
              values[values.size() - 1 - low], values.size());
}

int Run(int64_t images, int pairs, int threads) {
  const absl::StatusOr<std::string> temporary =
      MakeTemporaryFolder("feedrate_load_benchmark");
  if (!temporary.ok()) {
    std::fprintf(stderr, "%s\n", temporary.status().ToString().c_str());
    return 2;
  }
  const std::string& folder = *temporary;
  const std::vector<std::string> files = MakeFiles(folder, images);
  std::vector<double> plain, load, ratio, cpu_ratio;
  for (int pair = -1; pair < pairs; ++pair) {
    const bool plain_first = pair % 2 == 0;
    Times of_plain = plain_first ? TimePlain(files, threads) : Times();
    const Times of_load = TimeLoad(folder, images, threads);
    if (!plain_first) of_plain = TimePlain(files, threads);
    if (pair < 0) continue;  // Warms up both.
    plain.push_back(static_cast<double>(images) / of_plain.wall_s);
    load.push_back(static_cast<double>(images) / of_load.wall_s);
    ratio.push_back(of_plain.wall_s / of_load.wall_s);
    cpu_ratio.push_back(of_plain.cpu_s / of_load.cpu_s);
  }
  std::filesystem::remove_all(folder);
  PrintMedian("libjpeg alone, images/s", plain);
  PrintMedian("LoadImages, images/s", load);
  PrintMedian("ratio", ratio);
  PrintMedian("ratio of CPU times", cpu_ratio);
  const Times made = TimeLoad("synthetic:rgb", images, threads);
  std::printf("%-24s %8.3f  CPU %.3f\n", "synthetic, made, s", made.wall_s,
              made.cpu_s);
  return 0;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::Run(argc > 1 ? std::atoll(argv[1]) : 2000,
                       argc > 2 ? std::atoi(argv[2]) : 20,
                       argc > 3 ? std::atoi(argv[3]) : 0);
}
