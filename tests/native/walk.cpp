// Walks the records of a file with the decoder of a libcupti, buffer by buffer as a collector does, and prints how many
// there are and the nanoseconds of it: walk <libcupti> <file> <bytes of a buffer>.
#include <cupti_activity.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "replay.h"

namespace {

uint64_t thread_time() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

int main(int, char** given) {
  void* const library = dlopen(given[1], RTLD_LAZY);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto next_record =
      reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(dlsym(library, "cuptiActivityGetNextRecord"));
  std::ifstream file(given[2], std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  const auto* const header = reinterpret_cast<const ReplayHeader*>(content.data());
  const auto* const records = reinterpret_cast<const uint8_t*>(header + 1);
  // The stub has to be told the sizes; NVIDIA's decoder knows them.
  if (void* const strides = dlsym(library, "stub_strides")) {
    reinterpret_cast<void (*)(const ReplayHeader*)>(strides)(header);
  }
  std::vector<uint8_t> buffer(static_cast<size_t>(std::atol(given[3])));
  uint64_t found = 0, time = 0;
  for (uint64_t at = 0; at < header->bytes;) {
    size_t valid = 0;
    for (uint64_t end = at; end < header->bytes;) {
      end += header->stride[*reinterpret_cast<const uint32_t*>(records + end)];
      if (end - at > buffer.size()) break;
      valid = end - at;
    }
    std::memcpy(buffer.data(), records + at, valid);
    CUpti_Activity* record = nullptr;
    const uint64_t before = thread_time();
    while (next_record(buffer.data(), valid, &record) == CUPTI_SUCCESS) ++found;
    time += thread_time() - before;
    at += valid;
  }
  std::printf("%llu %llu\n", static_cast<unsigned long long>(found), static_cast<unsigned long long>(time));
}
