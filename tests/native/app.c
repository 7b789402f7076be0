/* The program under test: uses CUDA as a program does that loads the driver itself, prints, and returns 7.
   APP_THREADS  threads that work
   APP_CALLS    instead: what to do one after another, see run()
   APP_FORK     early: fork before CUDA is used, and use it in both; late: fork after it; exec: and start anew there
   APP_RANGES   1: use NVTX before CUDA is used
   APP_LOG      the file for "redirect"
   APP_BEHIND   1: a thread that is still at work when the program ends
   APP_SLEEP    milliseconds before the end
   APP_END      return, exit, quick, _exit, abort, segv, kill */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*synchronize)(void);

static void *work(void *nothing) {
  synchronize();
  return nothing;
}

static void *work_on(void *nothing) {
  for (;;) synchronize();
  return nothing;
}

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

/* Calls a function of the collector by name, as the agent does. */
static int collector(const char *name) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : 0;
  int (*function)(unsigned long) = library ? (int (*)(unsigned long))dlsym(library, name) : 0;
  return function ? function(42) : -1;
}

static void state(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : 0;
  const char *(*function)(void) = library ? (const char *(*)(void))dlsym(library, "tracelode_state") : 0;
  fprintf(stderr, "state %s\n", function ? function() : "{}");
}

/* What daemons do: the next file that is opened takes the first number that was in use. */
static void close_all(void) {
  for (int file = 3; file < 64; ++file) close(file);
  for (int file = 3; file < 64; ++file) open("/dev/null", O_RDWR);
}

/* As a daemon does: its log takes the place of stderr. */
static void redirect(void) {
  close(2);
  open(getenv("APP_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
}

/* What NVTX has its functions in, for whoever wants to put others there. */
static const void *tables(unsigned number) {
  fprintf(stderr, "table %u\n", number);
  return 0;
}

/* The first use of NVTX in a library. */
static void ranges(void) {
  void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_LAZY);
  int (*initialize)(const void *(*)(unsigned)) =
      (int (*)(const void *(*)(unsigned)))dlsym(library, "InitializeInjectionNvtx2");
  fprintf(stderr, "ranges %d\n", initialize ? initialize(tables) : -1);
}

/* Calls a function of the driver or the runtime. */
static void cuda(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
  int (*function)(void *) = (int (*)(void *))dlsym(driver, name);
  if (function) function(0);
}

/* The same process, another program. */
static void again(void) {
  unsetenv("APP_CALLS");
  execl("/proc/self/exe", "app", (char *)0);
}

/* Commands in turn: work, close, redirect, ranges, cu..., again, flush, start, stop, push, pop, active, state, or
   milliseconds. */
static void run(char *commands) {
  for (char *command = strtok(commands, ","); command; command = strtok(0, ",")) {
    char name[64];
    snprintf(name, sizeof name, "tracelode_%s", command);
    if (!strcmp(command, "work")) synchronize();
    else if (!strcmp(command, "state")) state();
    else if (!strcmp(command, "close")) close_all();
    else if (!strcmp(command, "redirect")) redirect();
    else if (!strcmp(command, "ranges")) ranges();
    else if (!strncmp(command, "cu", 2)) cuda(command);
    else if (!strcmp(command, "again")) again();
    else if (atoi(command)) usleep(1000u * (unsigned)atoi(command));
    else fprintf(stderr, "%s %d\n", command, collector(name));
  }
}

static void end(const char *how) {
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) raise(SIGSEGV);
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "_exit")) _exit(7);
  if (!strcmp(how, "quick")) quick_exit(7);
  if (!strcmp(how, "exit")) exit(7);
}

static void await(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  fprintf(stderr, "child ended with %d\n", WEXITSTATUS(status));
}

static void with_child(const char *what) {
  const pid_t child = fork();
  if (child == 0 && !strcmp(what, "exec")) {
    unsetenv("APP_FORK");
    execl("/proc/self/exe", "app", (char *)0);
  }
  if (child == 0) {
    synchronize();
    fprintf(stderr, "child active %d flush %d\n", collector("tracelode_active"), collector("tracelode_flush"));
    exit(3);
  }
  await(child);
}

static int with_cuda(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
  int (*initialize)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : 0;
  int (*create)(void **, unsigned, int) = driver ? (int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2") : 0;
  void *context;
  if (!initialize) return 0;
  initialize(0);
  create(&context, 0, 0);
  synchronize = (int (*)(void))dlsym(driver, "cuCtxSynchronize");
  return 1;
}

int main(void) {
  const int threads = number("APP_THREADS", 1);
  const char *child = getenv("APP_FORK"), *how = getenv("APP_END");
  char *commands = getenv("APP_CALLS");
  pthread_t all[64], behind;
  pid_t early = -1;
  if (child && !strcmp(child, "early")) {
    fprintf(stderr, "active before %d\n", collector("tracelode_active"));
    early = fork();
  }
  if (number("APP_RANGES", 0)) ranges();
  if (with_cuda()) {
    if (number("APP_BEHIND", 0)) pthread_create(&behind, 0, work_on, 0);
    if (commands) run(strdup(commands));
    for (int thread = 0; !commands && thread < threads; ++thread) pthread_create(&all[thread], 0, work, 0);
    for (int thread = 0; !commands && thread < threads; ++thread) pthread_join(all[thread], 0);
    if (child && early < 0) with_child(child);
  }
  if (early == 0) return 7;
  if (early > 0) await(early);
  printf("the answer is 42\n");
  fflush(stdout);
  usleep(1000u * (unsigned)number("APP_SLEEP", 0));
  end(how ? how : "return");
  return 7;
}
