// worker_nvdec: decodes clips on the device, for video.
#include <memory>

#include "lib/adapters/nvdec/nvdec_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::NvdecAdapter>());
}
