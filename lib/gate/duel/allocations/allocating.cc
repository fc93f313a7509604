// A program that allocates, for tests: `allocating COUNT` calls each way to get
// 256 bytes COUNT times, in the main thread, in three other threads and in a
// child, and then runs the rest of its command line, if there is one.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kBytes = 256;
thread_local void* volatile sink;

// Frees what it gets, through memory that no compiler sees through.
void Keep(void* memory) {
  sink = memory;
  free(sink);
}

// Nine calls per round.
void Allocate(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    Keep(malloc(kBytes));
    Keep(calloc(16, kBytes / 16));
    sink = malloc(kBytes);
    Keep(realloc(sink, kBytes));
    Keep(aligned_alloc(64, kBytes));
    Keep(memalign(64, kBytes));
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, kBytes) == 0) Keep(memory);
    sink = operator new(kBytes);
    operator delete(sink);
    sink = operator new (kBytes, std::align_val_t{256});
    operator delete (sink, std::align_val_t{256});
  }
}

void* AllocateInThread(void* rounds) {
  Allocate(*static_cast<int*>(rounds));
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t threads[3];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, AllocateInThread, &rounds) != 0) {
      return 2;
    }
  }
  Allocate(rounds);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Allocate(rounds);
    _exit(0);
  }
  if (child < 0 || waitpid(child, nullptr, 0) != child) return 2;
  if (argc > 2) {
    execvp(argv[2], argv + 2);
    return 2;
  }
  return 0;
}
