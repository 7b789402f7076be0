/* A program with managed memory, for tests of the replayer: does what its arguments say, one after another, prints, and
   returns 7. It finds the driver's functions as APP_WAY says:
     linked   it was linked with the driver (only where it was built with LINKED)
     dlsym    by their names, the default
     global   by their names in all libraries of the process
     proc     by cuGetProcAddress, as CUDA's runtime does; proc11: by its first version; thread: with a default stream
              for each thread
   alloc NAME BYTES, free NAME, end NAME (freed without a call)
   launch KERNEL, given KERNEL (now by cuGetProcAddress), seventh KERNEL (in stream 7), unseen KERNEL (whose name was not looked up), ex KERNEL,
   cooperative KERNEL, graph, capture STREAM, captured
   threads NUMBER KERNEL TIMES, churn NUMBER TIMES, context, fork, quick, kill */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Address;
typedef unsigned Size;
typedef int (*Launch)(void *, Size, Size, Size, Size, Size, Size, Size, void *, void **, void **);
typedef int (*First)(const char *, void **, int, unsigned long long);
typedef int (*Second)(const char *, void **, int, unsigned long long, int *);
typedef int (*LookUp)(void **, void *, const char *);
typedef int (*Simple)(void *, void *);

struct Config {
  unsigned sizes[7];
  void *stream, *attributes;
  unsigned count;
};

static struct {
  int (*alloc)(Address *, size_t, unsigned), (*release)(Address);
  LookUp function;
  int (*ex)(const struct Config *, void *, void **, void **);
  Launch launch;
} cuda;
static void *driver;

#ifdef LINKED
int cuInit(unsigned);
int cuMemAllocManaged(Address *, size_t, unsigned);
int cuMemFree_v2(Address);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernelEx(const struct Config *, void *, void **, void **);
int cuLaunchKernel(void *, Size, Size, Size, Size, Size, Size, Size, void *, void **, void **);
#endif

static void *named(const char *name) {
  void *function = dlsym(driver, name);
  if (!function) fprintf(stderr, "%s is not there\n", name), exit(3);
  return function;
}

static void *given(const char *name) {
  const char *way = getenv("APP_WAY") ? getenv("APP_WAY") : "proc";
  const unsigned long long flags = !strcmp(way, "thread") ? 2 : 1;
  void *function = 0;
  int status;
  if (!strcmp(way, "proc11")) ((First)named("cuGetProcAddress"))(name, &function, 11030, flags);
  else ((Second)named("cuGetProcAddress_v2"))(name, &function, 13000, flags, &status);
  return function;
}

static void find(void) {
  const char *way = getenv("APP_WAY");
  if (!way) way = "dlsym";
#ifdef LINKED
  if (!strcmp(way, "linked")) {
    cuda.alloc = cuMemAllocManaged, cuda.release = cuMemFree_v2, cuda.function = cuModuleGetFunction;
    cuda.launch = cuLaunchKernel, cuda.ex = cuLaunchKernelEx;
    cuInit(0);
    return;
  }
#endif
  if (!strcmp(way, "global") && dlsym(RTLD_DEFAULT, "cuLaunchKernel")) printf("the driver is there too early\n");
  driver = dlopen("libcuda.so.1", RTLD_LAZY | (strcmp(way, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
  if (!driver) fprintf(stderr, "%s\n", dlerror()), exit(3);
  if (!strcmp(way, "global")) driver = RTLD_DEFAULT;
  const int by_name = !strcmp(way, "dlsym") || !strcmp(way, "global");
  cuda.alloc = by_name ? named("cuMemAllocManaged") : given("cuMemAllocManaged");
  cuda.release = by_name ? named("cuMemFree_v2") : given("cuMemFree");
  cuda.function = by_name ? named("cuModuleGetFunction") : given("cuModuleGetFunction");
  cuda.launch = by_name ? named("cuLaunchKernel") : given("cuLaunchKernel");
  cuda.ex = by_name ? named("cuLaunchKernelEx") : given("cuLaunchKernelEx");
  ((int (*)(unsigned))named("cuInit"))(0);
}

static Address addresses[256];

static void launch_in(const char *kernel, void *stream) {
  void *function = 0;
  cuda.function(&function, 0, kernel);
  if (cuda.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0)) printf("launch failed\n");
}

static void launch(const char *kernel) { launch_in(kernel, 0); }

static const char *kernel_of_all;
static int times;

static void *launch_often(void *nothing) {
  for (int time = 0; time < times; ++time) launch(kernel_of_all);
  return nothing;
}

static void *churn(void *nothing) {
  for (int time = 0; time < times; ++time) {
    Address address;
    cuda.alloc(&address, 1 << 20, 1);
    launch("step");
    cuda.release(address);
  }
  return nothing;
}

static void with_threads(int number, void *(*work)(void *)) {
  pthread_t all[64];
  for (int one = 0; one < number; ++one) pthread_create(&all[one], 0, work, 0);
  for (int one = 0; one < number; ++one) pthread_join(all[one], 0);
}

static void in_a_child(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    Address address;
    cuda.alloc(&address, 1 << 20, 1);
    launch("step");
    exit(3);
  }
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

static void launch_ex(const char *kernel) {
  const struct Config config = {{1, 1, 1, 1, 1, 1, 0}, (void *)5, 0, 0};
  void *function;
  cuda.function(&function, 0, kernel);
  cuda.ex(&config, function, 0, 0);
}

static void launch_cooperative(const char *name) {
  void *kernel = 0, *function = 0;
  ((LookUp)named("cuLibraryGetKernel"))(&kernel, 0, name);
  ((Simple)named("cuKernelGetFunction"))(&function, kernel);
  ((Launch)named("cuLaunchCooperativeKernel"))(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
}

static void launch_given(const char *kernel) {
  cuda.launch = given("cuLaunchKernel");
  launch(kernel);
}

static void end(Address address) { ((void (*)(Address))named("stub_end"))(address); }

static void launch_unseen(const char *name) {
  void *(*function)(const char *) = (void *(*)(const char *))named("stub_function");
  cuda.launch(function(name), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
}

static void begin_capture(int stream) {
  ((int (*)(void *, int))named("cuStreamBeginCapture_v2"))((void *)(size_t)stream, 0);
}

static void run(char **words) {
  void *graph = 0;
  for (; *words; ++words) {
    const char *word = *words, *first = words[1];
    if (!strcmp(word, "alloc")) {
      cuda.alloc(&addresses[(unsigned char)*first], strtoull(words[2], 0, 10), 1), words += 2;
    } else if (!strcmp(word, "free")) cuda.release(addresses[(unsigned char)*first]), ++words;
    else if (!strcmp(word, "end")) end(addresses[(unsigned char)*first]), ++words;
    else if (!strcmp(word, "launch")) launch(first), ++words;
    else if (!strcmp(word, "given")) launch_given(first), ++words;
    else if (!strcmp(word, "seventh")) launch_in(first, (void *)7), ++words;
    else if (!strcmp(word, "unseen")) launch_unseen(first), ++words;
    else if (!strcmp(word, "ex")) launch_ex(first), ++words;
    else if (!strcmp(word, "cooperative")) launch_cooperative(first), ++words;
    else if (!strcmp(word, "graph")) ((Simple)named("cuGraphLaunch"))(graph, 0);
    else if (!strcmp(word, "capture")) begin_capture(atoi(first)), ++words;
    else if (!strcmp(word, "captured")) printf("captured %d\n", ((Simple)named("cuStreamEndCapture"))(0, &graph));
    else if (!strcmp(word, "threads")) {
      kernel_of_all = words[2], times = atoi(words[3]), with_threads(atoi(first), launch_often), words += 3;
    } else if (!strcmp(word, "churn")) times = atoi(words[2]), with_threads(atoi(first), churn), words += 2;
    else if (!strcmp(word, "context")) ((int (*)(void *))named("cuCtxDestroy_v2"))(0);
    else if (!strcmp(word, "fork")) in_a_child();
    else if (!strcmp(word, "quick")) fflush(stdout), quick_exit(7);
    else if (!strcmp(word, "kill")) fflush(stdout), raise(SIGKILL);
    else fprintf(stderr, "%s?\n", word), exit(3);
  }
}

int main(int count, char **words) {
  (void)count;
  find();
  run(words + 1);
  printf("the answer is 42\n");
  return 7;
}
