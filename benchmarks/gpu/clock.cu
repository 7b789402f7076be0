// How far a recording's times can be trusted: the device's timer against CLOCK_MONOTONIC_RAW. Prints one JSON object.
//
//   clock [PINGS [MARKERS]]
//
// A kernel answers numbers that the host writes into mapped memory with the device's time. The host cannot know the
// moment of an answer better than half a round trip; the quickest round trips give a line from one clock to the other.
// Marker kernels then read the timer in their first and in their last instruction. What these are on the host's clock
// is printed: a recording of the same run must not have a marker begin later or end earlier.
#include <cmath>

#include "measured.h"

namespace {

constexpr int windows = 100;                                 // of pings, of each the quickest counts
constexpr unsigned long long patience_ns = 20'000'000'000;  // so that a host that died leaves no kernel behind

struct Mailbox {
  volatile unsigned ping, pong;
  volatile unsigned long long time;
};

struct Pair {
  double host, device, trip;  // ns; host is the middle of the round trip
};

// device - origin = begin + rate * (host - origin of the host)
struct Line {
  double begin, rate;
  double host_of(double device) const { return (device - begin) / rate; }
};

}  // namespace

extern "C" {
__global__ void tracelode_pong(Mailbox* box, unsigned pings) {
  const unsigned long long begin = device_ns();
  for (unsigned at = 1; at <= pings; ++at) {
    while (box->ping != at) {
      if (device_ns() - begin > patience_ns) return;
    }
    box->time = device_ns();
    __threadfence_system();
    box->pong = at;
  }
}

__global__ void tracelode_marker(unsigned long long* first, unsigned long long* last, unsigned long long ns) {
  const unsigned long long begin = device_ns();
  unsigned long long time = begin;
  while (time - begin < ns) time = device_ns();
  *first = begin;
  *last = time;
}
}

namespace {

long long host_origin;
unsigned long long device_origin;

// Of each window the pair with the quickest round trip.
std::vector<Pair> pairs_of(Mailbox* box, Mailbox* on_device, unsigned pings) {
  box->ping = box->pong = 0;
  tracelode_pong<<<1, 1>>>(on_device, pings);
  CHECK(cudaGetLastError());
  std::vector<Pair> quickest;
  const unsigned of_window = std::max(1u, pings / windows);
  const long long begun = now_ns();
  for (unsigned at = 1; at <= pings; ++at) {
    const long long before = now_ns();
    box->ping = at;
    while (box->pong != at) {
      if (static_cast<unsigned long long>(now_ns() - begun) > patience_ns) {
        fprintf(stderr, "the device does not answer\n");
        exit(1);
      }
    }
    const long long after = now_ns();
    if (!device_origin) host_origin = before, device_origin = box->time;
    const Pair pair{(before - host_origin) / 2.0 + (after - host_origin) / 2.0,
                    static_cast<double>(static_cast<long long>(box->time - device_origin)),
                    static_cast<double>(after - before)};
    if ((at - 1) % of_window == 0) quickest.push_back(pair);
    else if (pair.trip < quickest.back().trip) quickest.back() = pair;
  }
  CHECK(cudaDeviceSynchronize());
  return quickest;
}

// Least squares.
Line line_through(const std::vector<Pair>& pairs) {
  double host = 0, device = 0, products = 0, squares = 0;
  for (const Pair& pair : pairs) host += pair.host / pairs.size(), device += pair.device / pairs.size();
  for (const Pair& pair : pairs) {
    products += (pair.host - host) * (pair.device - device);
    squares += (pair.host - host) * (pair.host - host);
  }
  const double rate = products / squares;
  return {device - rate * host, rate};
}

struct Marker {
  long long launched, first, last, ended;  // ns of the host's clock
};

void print_markers(const std::vector<Marker>& markers) {
  printf(" \"markers\": [");
  const char* between = "";
  for (const Marker& marker : markers) {
    printf("%s[%lld, %lld, %lld, %lld]", between, marker.launched, marker.first, marker.last, marker.ended);
    between = ", ";
  }
  printf("]}\n");
}

}  // namespace

int main(int count, char** arguments) {
  const int pings = count > 1 ? atoi(arguments[1]) : 200000, marks = count > 2 ? atoi(arguments[2]) : 200;
  if (pings < windows || marks < 1) return fprintf(stderr, "usage: clock [PINGS [MARKERS]]\n"), 2;
  Mailbox *box, *on_device;
  unsigned long long *times, *times_on_device;
  CHECK(cudaHostAlloc(&box, sizeof *box, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&on_device, box, 0));
  CHECK(cudaHostAlloc(&times, sizeof *times * 2 * marks, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&times_on_device, times, 0));
  const unsigned long long step = timer_step_ns();
  tracelode_marker<<<1, 1>>>(times_on_device, times_on_device + 1, 1000);  // loads the module
  CHECK(cudaDeviceSynchronize());

  std::vector<Pair> pairs = pairs_of(box, on_device, pings / 2);
  std::vector<Marker> markers(marks);
  for (int at = 0; at < marks; ++at) {
    markers[at].launched = now_ns();
    tracelode_marker<<<1, 1>>>(times_on_device + 2 * at, times_on_device + 2 * at + 1, 20000);
    CHECK(cudaDeviceSynchronize());
    markers[at].ended = now_ns();
    const timespec pause{0, 2000000};
    nanosleep(&pause, nullptr);
  }
  for (const Pair& pair : pairs_of(box, on_device, pings / 2)) pairs.push_back(pair);

  double least = pairs[0].trip, worst = 0;
  std::vector<double> trips;
  for (const Pair& pair : pairs) least = std::min(least, pair.trip), trips.push_back(pair.trip);
  std::vector<Pair> quick;
  for (const Pair& pair : pairs) {
    if (pair.trip <= 1.25 * least) quick.push_back(pair);
  }
  if (quick.size() < 10) return fprintf(stderr, "too few quick round trips: %zu of %zu\n", quick.size(), pairs.size()), 1;
  const Line line = line_through(quick);
  for (const Pair& pair : quick) worst = std::max(worst, std::fabs(pair.device - line.begin - line.rate * pair.host));
  for (int at = 0; at < marks; ++at) {
    const auto on_host = [&](unsigned long long time) {
      return host_origin + std::llround(line.host_of(static_cast<double>(static_cast<long long>(time - device_origin))));
    };
    markers[at].first = on_host(times[2 * at]);
    markers[at].last = on_host(times[2 * at + 1]);
  }
  printf("{\"program\": \"clock\", \"pings\": %d, \"windows\": %zu, \"quick\": %zu,\n", pings, pairs.size(), quick.size());
  printf(" \"trip_ns\": {\"least\": %.0f, \"median\": %.0f}, \"uncertainty_ns\": %.1f, \"drift_ppm\": %.4f,\n", least,
         part_below(trips, 0.5), least / 2, (line.rate - 1) * 1e6);
  printf(" \"worst_residual_ns\": %.1f, \"timer_step_ns\": %llu,\n", worst, step);
  printf(" \"kernels\": {\"tracelode_pong\": 2, \"tracelode_marker\": %d, \"tracelode_timer_step\": 1},\n", marks + 1);
  print_markers(markers);
  return 0;
}
