// worker_ffmpeg: decodes clips for video.
#include <memory>

#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::FfmpegAdapter>());
}
