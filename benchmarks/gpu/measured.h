// What launch.cu and clock.cu share: the recorder's clock, checked calls, percentiles.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

// The clock that `tracelode record` gives all times in.
inline long long now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

inline void check(cudaError_t code, const char* call, int line) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(code));
  exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

// The value below which that part of the values lies; the nearest one that occurs.
inline double part_below(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * (values.size() - 1) + 0.5)];
}

__device__ inline unsigned long long device_ns() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// The smallest step that the device's timer makes, of some thousand.
__global__ void tracelode_timer_step(unsigned long long* least) {
  unsigned long long before = device_ns(), found = ~0ull;
  for (int steps = 0; steps < 4000;) {
    const unsigned long long time = device_ns();
    if (time == before) continue;
    found = time - before < found ? time - before : found;
    before = time;
    ++steps;
  }
  *least = found;
}

inline unsigned long long timer_step_ns() {
  unsigned long long *device, step;
  CHECK(cudaMalloc(&device, sizeof step));
  tracelode_timer_step<<<1, 1>>>(device);
  CHECK(cudaMemcpy(&step, device, sizeof step, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device));
  return step;
}
