// Throughput of rows of opencv, relative to a bare loop over the same OpenCV
// calls.
//
// For some transforms, at least 20 pairs in alternating order: the `time`
// command as a worker answers it, with the parameters of configs/transforms/,
// and a loop as written by hand. Prints the median of the ratios of throughput
// with its 95% interval, and fails when an interval reaches below 0.95.
//
// bazel run //lib/adapters/opencv:bare_benchmark -- [PAIRS]
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/adapters/opencv/opencv_adapter.h"
#include "lib/adapters/worker/child_session.h"
#include "lib/adapters/worker/server.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/small_corpus.h"
#include "lib/ops/params.h"
#include "lib/records/worker.pb.h"
#include "lib/stats/summary.h"
#include "lib/worker/message.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

constexpr double kNeeded = 0.95;
constexpr int kImages = 40;

using BareCall = std::function<void(const std::vector<cv::Mat>& images)>;

struct Contest {
  const char* transform;
  // Runs all images once, by OpenCV alone.
  BareCall bare;
};

void BareFlip(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  for (const cv::Mat& image : images) cv::flip(image, out, 1);
}

void BareBlur(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  for (const cv::Mat& image : images) {
    cv::GaussianBlur(image, out, cv::Size(5, 5), 2, 2, cv::BORDER_REFLECT_101);
  }
}

void BareResize(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  for (const cv::Mat& image : images) {
    cv::resize(image, out, cv::Size(512, 512), 0, 0, cv::INTER_LINEAR);
  }
}

void BareRotate(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  Random random(1);
  for (const cv::Mat& image : images) {
    const cv::Point2f center((image.cols - 1) / 2.0f, (image.rows - 1) / 2.0f);
    const cv::Mat matrix =
        cv::getRotationMatrix2D(center, random.Uniform(-45, 45), 1);
    cv::warpAffine(image, out, matrix, image.size(), cv::INTER_NEAREST,
                   cv::BORDER_CONSTANT, cv::Scalar());
  }
}

void BareEqualize(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  std::vector<cv::Mat> planes;
  for (const cv::Mat& image : images) {
    cv::split(image, planes);
    for (cv::Mat& plane : planes) cv::equalizeHist(plane, plane);
    cv::merge(planes, out);
  }
}

void BareInvert(const std::vector<cv::Mat>& images) {
  cv::Mat out;
  for (const cv::Mat& image : images) cv::bitwise_not(image, out);
}

absl::StatusOr<std::string> PrepareLineOf(const Catalogue& catalogue,
                                          const char* name) {
  ASSIGN_OR_RETURN(const TransformSet* set,
                   catalogue.Transforms(*catalogue.FindScenario("image-rgb")));
  for (const Transform& transform : set->transforms()) {
    if (transform.name() != name) continue;
    const Implementation* entry =
        FindImplementation(transform, "opencv", "paper");
    if (entry == nullptr) break;
    PrepareCommand command;
    command.set_library("opencv");
    command.set_transform(name);
    command.set_native_op(entry->native_op());
    *command.mutable_params() = entry->params();
    command.set_opencv_threads(0);
    command.set_opencv_opencl(false);
    return CommandLine(command);
  }
  return absl::NotFoundError(name);
}

// Seconds from the worker's samples, as in a row.
absl::StatusOr<double> RowSeconds(ChildSession* session) {
  TimeCommand command;
  command.set_count(kImages);
  command.set_chunk(1);
  command.set_seed(1);
  ASSIGN_OR_RETURN(const std::string line,
                   session->Answer(CommandLine(command)));
  ASSIGN_OR_RETURN(const TimeReply reply, ParseTimeReply(line));
  return std::accumulate(reply.samples_s().begin(), reply.samples_s().end(),
                         0.0);
}

double BareSeconds(const BareCall& call, const std::vector<cv::Mat>& images) {
  const int64_t begin = MonotonicNs();
  call(images);
  return (MonotonicNs() - begin) / 1e9;
}

// Ratios of throughput, row to bare loop, one per pair.
absl::StatusOr<std::vector<double>> Ratios(ChildSession* session,
                                           const BareCall& call,
                                           const std::vector<cv::Mat>& images,
                                           int pairs) {
  RETURN_IF_ERROR(RowSeconds(session).status());
  BareSeconds(call, images);
  std::vector<double> ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    double bare = pair % 2 == 0 ? BareSeconds(call, images) : 0;
    ASSIGN_OR_RETURN(const double row, RowSeconds(session));
    if (pair % 2 == 1) bare = BareSeconds(call, images);
    ratios.push_back(bare / row);
  }
  return ratios;
}

absl::StatusOr<bool> Compete(int pairs) {
  const Contest contests[] = {
      {"HorizontalFlip", BareFlip}, {"GaussianBlur", BareBlur},
      {"Resize", BareResize},       {"Rotate", BareRotate},
      {"Equalize", BareEqualize},   {"Invert", BareInvert}};
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load("configs"));
  const Corpus corpus =
      SmallCorpus(std::vector<ItemSize>(kImages, {1, 375, 500, 3}));
  std::vector<cv::Mat> images;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ImageView view = corpus.image(i);
    images.push_back(cv::Mat(view.height, view.width, CV_8UC3,
                             const_cast<uint8_t*>(view.data)));
  }
  OpenCvAdapter adapter;
  bool good = true;
  std::printf("%-16s %6s %8s  %s\n", "transform", "pairs", "ratio", "95%");
  for (const Contest& contest : contests) {
    ChildSession session(&adapter, dup(corpus.fd()));
    ASSIGN_OR_RETURN(const std::string line,
                     PrepareLineOf(catalogue, contest.transform));
    RETURN_IF_ERROR(session.Answer(line).status());
    ASSIGN_OR_RETURN(std::vector<double> ratios,
                     Ratios(&session, contest.bare, images, pairs));
    const Interval interval =
        MedianInterval(absl::MakeSpan(ratios)).value_or(Interval());
    std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2,
                     ratios.end());
    std::printf("%-16s %6d %8.3f  %.3f to %.3f\n", contest.transform, pairs,
                ratios[ratios.size() / 2], interval.low, interval.high);
    good = good && interval.low >= kNeeded;
  }
  return good;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::SettleHeap();  // As in a worker.
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 40;
  const absl::StatusOr<bool> good = feedrate::Compete(std::max(20, pairs));
  if (!good.ok()) {
    std::fprintf(stderr, "bare_benchmark: %s\n",
                 good.status().ToString().c_str());
    return 2;
  }
  return *good ? 0 : 3;
}
