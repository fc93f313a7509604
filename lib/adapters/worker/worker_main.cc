#include "lib/adapters/worker/worker_main.h"

#include <sys/socket.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/heap.h"
#include "lib/adapters/worker/server.h"

namespace feedrate {
namespace {

bool IsSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

}  // namespace

int WorkerMain(int argc, char** argv, std::unique_ptr<Adapter> adapter) {
  const std::string program = absl::StrCat("worker_", adapter->library());
  if (argc > 1 || !IsSocket(kControlFd)) {
    std::fprintf(stderr,
                 "%s: measures %s %s for micro, which starts it with a socket "
                 "as file descriptor %d; there is nothing to run by hand\n",
                 program.c_str(), adapter->library().c_str(),
                 adapter->version().c_str(), kControlFd);
    return 1;
  }
  SettleHeap();  // Children inherit it.
  const absl::Status status = Serve(kControlFd, adapter.get());
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", program.c_str(),
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace feedrate
