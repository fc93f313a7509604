// worker_opencv: measures OpenCV for micro.
#include <memory>

#include "lib/adapters/opencv/opencv_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::OpenCvAdapter>());
}
