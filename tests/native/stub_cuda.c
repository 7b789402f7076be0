/* Stands in for libcuda.so.1 in tests: injects a library in cuInit as the driver does, and has "work" replayed. */
#include <dlfcn.h>
#include <stdlib.h>

static int initialised;

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 1;
  return initialised ? 0 : 3;
}

int cuInit(unsigned flags) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  (void)flags;
  if (path && !initialised) {
    void *library = dlopen(path, RTLD_LAZY);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : 0;
    if (initialize) initialize();
  }
  initialised = 1;
  return 0;
}

/* Calls a function of the CUPTI in this process, where there is one. */
static void stub(const char *name) {
  void *library = dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD);
  void (*function)(void) = library ? (void (*)(void))dlsym(library, name) : 0;
  if (function) function();
}

int cuCtxCreate_v2(void **context, unsigned flags, int device) {
  (void)flags, (void)device;
  *context = &initialised;
  stub("stub_create_context");
  return 0;
}

/* What a real program does on the device between two synchronisations is the next file of STUB_REPLAY. */
int cuCtxSynchronize(void) {
  stub("stub_replay");
  return 0;
}

int cudaDeviceReset(void) {
  stub("stub_reset");
  return 0;
}

int cuDevicePrimaryCtxReset_v2(int device) {
  (void)device;
  stub("stub_reset_primary");
  return 0;
}

int cuCtxDestroy_v2(void *context) {
  (void)context;
  stub("stub_destroy_context");
  return 0;
}
