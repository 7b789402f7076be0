/* The part of libcuda.so.1 that has kernels and managed memory, for tests of the replayer. With STUB_OLD a driver of
   before CUDA 12, which tells no names.
   STUB_LOG      a file to which each call that matters is added as a line
   STUB_FREE     bytes that the device has free at first
   STUB_SLOW     1: what is prefetched takes room, and has arrived, only once its stream was synchronised
   STUB_MANAGED  0: a device that cannot have managed memory moved
   STUB_REFUSE   1: prefetches fail */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, SUCCESS = 0, INVALID = 1, NOT_READY = 600, CAPTURE_BROKEN = 900 };

typedef unsigned long long Address;
struct Config {
  unsigned sizes[7];
  void *stream;
};

static struct {
  Address address;
  size_t bytes, there;
} memory[MOST];
static char names[MOST][4096];
static int functions, streams, capturing, context_alive = 1;
static void *captured;
static size_t taken, on_the_way;
static __thread int mode;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static size_t setting(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, 0, 10) : otherwise;
}

static void told(const char *format, ...) {
  char line[8192];
  va_list values;
  const char *path = getenv("STUB_LOG");
  const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (file < 0) return;
  va_start(values, format);
  const int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (write(file, line, (size_t)length) < 0) abort();
  close(file);
}

/* The lowest address from which so much is free, so that what was freed is used again. */
int cuMemAllocManaged(Address *address, size_t bytes, unsigned flags) {
  Address at = 0x10000000000;
  int slot = -1;
  (void)flags;
  if (!bytes) return INVALID;
  pthread_mutex_lock(&mutex);
  for (int moved = 1; moved;) {
    moved = 0;
    for (int one = 0; one < MOST; ++one) {
      const Address end = memory[one].address + memory[one].bytes;
      if (!memory[one].bytes) slot = one;
      else if (memory[one].address < at + bytes && at < end) at = (end + 0x1fffff) & ~0x1fffffull, moved = 1;
    }
  }
  memory[slot].address = *address = at;
  memory[slot].bytes = bytes;
  memory[slot].there = 0;
  pthread_mutex_unlock(&mutex);
  told("alloc %#llx %zu\n", at, bytes);
  return SUCCESS;
}

int cuMemFree_v2(Address address) {
  int result = INVALID;
  pthread_mutex_lock(&mutex);
  for (int one = 0; one < MOST; ++one) {
    if (!memory[one].bytes || memory[one].address != address) continue;
    taken -= memory[one].there;
    memory[one].bytes = 0;
    result = SUCCESS;
  }
  const int early = on_the_way != 0;
  pthread_mutex_unlock(&mutex);
  told("free %#llx%s\n", address, early ? " while something is on the way" : "");
  return result;
}

/* Frees memory as the end of a context does. */
void stub_end(Address address) {
  for (int one = 0; one < MOST; ++one) memory[one].bytes *= memory[one].address != address;
}

int cuMemFreeAsync(Address address, void *stream) { return (void)stream, cuMemFree_v2(address); }
int cuMemFreeAsync_ptsz(Address address, void *stream) { return (void)stream, cuMemFree_v2(address); }

int cuMemGetInfo_v2(size_t *available, size_t *total) {
  pthread_mutex_lock(&mutex);
  *total = setting("STUB_FREE", (size_t)1 << 40);
  *available = *total - taken;
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

int cuMemPrefetchAsync(Address address, size_t bytes, int device, void *stream) {
  int result = INVALID;
  if (capturing && mode != 2) capturing = -1;
  if (setting("STUB_REFUSE", 0)) return INVALID;
  pthread_mutex_lock(&mutex);
  for (int one = 0; one < MOST; ++one) {
    if (address < memory[one].address || address + bytes > memory[one].address + memory[one].bytes) continue;
    memory[one].there += bytes;
    if (setting("STUB_SLOW", 0)) on_the_way += bytes;
    else taken += bytes;
    result = SUCCESS;
  }
  const int over = taken + on_the_way > setting("STUB_FREE", (size_t)1 << 40);
  pthread_mutex_unlock(&mutex);
  told("prefetch %#llx %zu device %d stream %d%s%s\n", address, bytes, device, (int)(size_t)stream,
       over ? " beyond what is free" : "", result ? " of nothing" : "");
  return result;
}

int cuStreamCreate(void **stream, unsigned flags) {
  *stream = (void *)(size_t)(100 + __sync_fetch_and_add(&streams, 1));
  told("stream %d flags %u\n", (int)(size_t)*stream, flags);
  return SUCCESS;
}

int cuStreamQuery(void *stream) { return (void)stream, on_the_way ? NOT_READY : SUCCESS; }

int cuStreamSynchronize(void *stream) {
  (void)stream;
  pthread_mutex_lock(&mutex);
  taken += on_the_way;
  on_the_way = 0;
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

int cuStreamIsCapturing(void *stream, int *status) {
  *status = capturing && stream == captured;
  return SUCCESS;
}

int cuThreadExchangeStreamCaptureMode(int *other) {
  const int before = mode;
  mode = *other;
  *other = before;
  return SUCCESS;
}

int cuStreamBeginCapture_v2(void *stream, int how) {
  return (void)how, captured = stream, capturing = 1, SUCCESS;
}

int cuStreamEndCapture(void *stream, void **graph) {
  const int broken = capturing < 0;
  (void)stream;
  *graph = memory;
  capturing = 0;
  return broken ? CAPTURE_BROKEN : SUCCESS;
}

int cuCtxGetCurrent(void **context) { return *context = context_alive ? &context_alive : 0, SUCCESS; }
int cuCtxGetDevice(int *device) { return *device = 0, SUCCESS; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 89 ? (int)setting("STUB_MANAGED", 1) : 0;
  return SUCCESS;
}

static void *function(const char *name) {
  int at = 0;
  pthread_mutex_lock(&mutex);
  while (at < functions && strcmp(names[at], name)) ++at;
  if (at == functions) snprintf(names[functions++], sizeof names[0], "%s", name);
  pthread_mutex_unlock(&mutex);
  return names[at];
}

int cuModuleGetFunction(void **found, void *module, const char *name) {
  return (void)module, *found = function(name), SUCCESS;
}

/* A function of which nobody has seen the name, as the runtime gets some. */
void *stub_function(const char *name) { return function(name); }

static int launched(const char *how, void *kernel, void *stream) {
  told("%s %s stream %d%s\n", how, (char *)kernel, (int)(size_t)stream, mode ? " in another mode" : "");
  return SUCCESS;
}

#define SIZES unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g
#define UNUSED (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)parameters

int cuLaunchKernel(void *kernel, SIZES, void *stream, void **parameters, void **extra) {
  return UNUSED, (void)extra, launched("launch", kernel, stream);
}

int cuLaunchKernel_ptsz(void *kernel, SIZES, void *stream, void **parameters, void **extra) {
  return UNUSED, (void)extra, launched("launch per thread", kernel, stream);
}

int cuLaunchCooperativeKernel(void *kernel, SIZES, void *stream, void **parameters) {
  return UNUSED, launched("cooperative", kernel, stream);
}

/* Calls another of its functions by its name, which is then looked up. */
int cuLaunchKernelEx(const struct Config *config, void *kernel, void **parameters, void **extra) {
  told("ex\n");
  return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, config->stream, parameters, extra);
}

int cuGraphLaunch(void *graph, void *stream) { return (void)graph, launched("graph", "of it", stream); }

/* What cuGetProcAddress gives need not be what the library shows by that name. */
static int launch_given(void *kernel, SIZES, void *stream, void **parameters, void **extra) {
  return UNUSED, (void)extra, launched("launch", kernel, stream);
}

static const struct {
  const char *name;
  int per_thread;
  void *function;
} table[] = {
    {"cuLaunchKernel", 0, launch_given},
    {"cuLaunchKernel", 1, cuLaunchKernel_ptsz},
    {"cuLaunchKernelEx", -1, cuLaunchKernelEx},
    {"cuMemAllocManaged", -1, cuMemAllocManaged},
    {"cuMemFree", -1, cuMemFree_v2},
    {"cuModuleGetFunction", -1, cuModuleGetFunction},
    {0, 0, 0},
};

static int address_of(const char *name, void **found, unsigned long long flags) {
  *found = 0;
  for (int one = 0; table[one].name; ++one) {
    const int other = table[one].per_thread >= 0 && table[one].per_thread != (int)(flags >> 1 & 1);
    if (!strcmp(table[one].name, name) && !other) return *found = table[one].function, SUCCESS;
  }
  return 500;
}

int cuGetProcAddress(const char *name, void **found, int version, unsigned long long flags) {
  return (void)version, address_of(name, found, flags);
}

#ifndef STUB_OLD
int cuFuncGetName(const char **name, void *kernel) { return *name = kernel, SUCCESS; }
int cuLibraryGetKernel(void **found, void *library, const char *name) {
  return (void)library, *found = function(name), SUCCESS;
}
int cuKernelGetFunction(void **found, void *kernel) { return *found = kernel, SUCCESS; }
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long long flags, int *status) {
  return (void)version, (void)status, address_of(name, found, flags);
}
#endif
