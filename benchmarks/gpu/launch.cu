// What the host pays for work on the device: kernels, copies, allocations, graphs. Prints one JSON object.
//
//   launch [REPEATS]   measures; `issue` is until the last call returned, `total` until the device has done the work
//   launch --check     works without measuring, prints a sum, and ends with status 7
//
// It counts what it launches, from the first to the last, so that a recording can be compared with it.
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "measured.h"

extern "C" {
__global__ void tracelode_empty() {}

__global__ void tracelode_node() {}

__global__ void tracelode_spin(unsigned long long ns) {
  const unsigned long long begin = device_ns();
  while (device_ns() - begin < ns) {
  }
}

__global__ void tracelode_add(unsigned* sums, unsigned value) { sums[threadIdx.x] += value * (threadIdx.x + 1); }
}

namespace {

constexpr unsigned long long spin_ns = 10000;
constexpr int nodes = 1000, copy_bytes = 4096, warm_repeats = 2;

cudaStream_t stream;
std::map<std::string, long long> kernels;  // launched so far, by name
long long copies, copied_bytes, graph_launches, allocations, frees, waits;

void wait() {
  CHECK(cudaStreamSynchronize(stream));
  ++waits;
}

// Repeats `work`, which does so many operations, and prints what one took.
void measure(const char* name, int operations, int repeats, const std::function<void()>& work) {
  std::vector<double> issue, total;
  const long long section = now_ns();
  for (int repeat = -warm_repeats; repeat < repeats; ++repeat) {
    wait();
    const long long begin = now_ns();
    work();
    const long long issued = now_ns();
    wait();
    if (repeat < 0) continue;
    issue.push_back((issued - begin) / 1e3 / operations);
    total.push_back((now_ns() - begin) / 1e3 / operations);
  }
  static bool first = true;
  printf("%s\n  {\"name\": \"%s\", \"operations\": %d, \"repeats\": %d, \"begin_ns\": %lld, \"end_ns\": %lld", first ? "" : ",",
         name, operations, repeats, section, now_ns());
  for (const auto& [key, values] : {std::pair{"issue_us", &issue}, {"total_us", &total}}) {
    printf(", \"%s\": {\"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f}", key, part_below(*values, 0.5),
           part_below(*values, 0.1), part_below(*values, 0.9));
  }
  printf("}");
  first = false;
}

cudaGraphExec_t graph_of_empty_kernels() {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int node = 0; node < nodes; ++node) tracelode_node<<<1, 32, 0, stream>>>();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return executable;
}

void launch_graph(cudaGraphExec_t graph) {
  CHECK(cudaGraphLaunch(graph, stream));
  ++graph_launches;
}

void copy_in(void* device, const void* host) {
  CHECK(cudaMemcpyAsync(device, host, copy_bytes, cudaMemcpyHostToDevice, stream));
  ++copies;
  copied_bytes += copy_bytes;
}

void allocate_and_free() {
  void* memory;
  CHECK(cudaMallocAsync(&memory, 1 << 20, stream));
  ++allocations;
  CHECK(cudaFreeAsync(memory, stream));
  ++frees;
}

// Otherwise the pool gives it back at each wait, and takes it anew.
void keep_freed_memory() {
  cudaMemPool_t pool;
  unsigned long long most = ~0ull;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));
}

void measure_all(int repeats, cudaGraphExec_t graph, void* device, const void* host) {
  // Fewer kernels at once than the driver queues, which is about a thousand: issuing then never waits for the device.
  measure("empty kernels", 800, repeats, [] {
    for (int at = 0; at < 800; ++at) tracelode_empty<<<1, 32, 0, stream>>>();
    kernels["tracelode_empty"] += 800;
  });
  measure("10 us kernels", 800, repeats, [] {
    for (int at = 0; at < 800; ++at) tracelode_spin<<<1, 32, 0, stream>>>(spin_ns);
    kernels["tracelode_spin"] += 800;
  });
  measure("launch and wait", 200, repeats, [] {
    for (int at = 0; at < 200; ++at) {
      tracelode_empty<<<1, 32, 0, stream>>>();
      wait();
    }
    kernels["tracelode_empty"] += 200;
  });
  measure("copy of 4 KiB", 400, repeats, [=] {
    for (int at = 0; at < 400; ++at) copy_in(device, host);
  });
  measure("allocate and free", 400, repeats, [] {
    for (int at = 0; at < 400; ++at) allocate_and_free();
  });
  measure("graph of 1000 kernels", 5, repeats, [=] {
    for (int at = 0; at < 5; ++at) launch_graph(graph);
  });
}

// A little of everything, whose result and whose output depend on nothing but the program.
int work_without_measuring(cudaGraphExec_t graph, void* device, const void* host) {
  unsigned sums[32], total = 0;
  for (int at = 0; at < 50; ++at) {
    copy_in(device, host);
    allocate_and_free();
  }
  CHECK(cudaMemsetAsync(device, 0, sizeof sums, stream));
  for (unsigned value = 0; value < 2000; ++value) {
    tracelode_add<<<1, 32, 0, stream>>>(static_cast<unsigned*>(device), value);
  }
  launch_graph(graph);
  wait();
  CHECK(cudaMemcpy(sums, device, sizeof sums, cudaMemcpyDeviceToHost));
  for (unsigned sum : sums) total += sum;
  printf("the sum is %u\n", total);
  return 7;
}

void print_launched() {
  printf("],\n \"launched\": {\"kernels\": {");
  const char* between = "";
  for (const auto& [name, count] : kernels) {
    printf("%s\"%s\": %lld", between, name.c_str(), count);
    between = ", ";
  }
  printf("}, \"graph_launches\": %lld, \"graph_nodes\": {\"tracelode_node\": %lld}, \"copies\": %lld, \"copied_bytes\": %lld",
         graph_launches, graph_launches * nodes, copies, copied_bytes);
  printf(", \"allocations\": %lld, \"frees\": %lld, \"waits\": %lld},\n", allocations, frees, waits);
}

}  // namespace

int main(int count, char** arguments) {
  const bool checking = count > 1 && !strcmp(arguments[1], "--check");
  const int repeats = count > 1 && !checking ? atoi(arguments[1]) : 12;
  if (repeats < 1) return fprintf(stderr, "usage: launch [REPEATS | --check]\n"), 2;
  void *device, *host;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&device, copy_bytes));
  CHECK(cudaMallocHost(&host, copy_bytes));
  memset(host, 1, copy_bytes);
  keep_freed_memory();
  const cudaGraphExec_t graph = graph_of_empty_kernels();
  if (checking) return work_without_measuring(graph, device, host);

  cudaDeviceProp properties;
  int driver, runtime;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  const unsigned long long step = timer_step_ns();
  ++kernels["tracelode_timer_step"];
  printf("{\"program\": \"launch\", \"sections\": [");
  const long long begin = now_ns();
  measure_all(repeats, graph, device, host);
  print_launched();
  printf(" \"begin_ns\": %lld, \"end_ns\": %lld, \"spin_ns\": %llu, \"timer_step_ns\": %llu,\n", begin, now_ns(), spin_ns, step);
  printf(" \"device\": \"%s\", \"driver\": %d, \"runtime\": %d}\n", properties.name, driver, runtime);
  return 0;
}
