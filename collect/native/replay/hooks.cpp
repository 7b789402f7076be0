// The functions that the program calls instead of the driver's. Nothing that goes wrong in them may reach the program:
// each ends in the driver's own function, with what the program has given and with what that returns.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "interposed.h"
#include "life.h"

#define TRACELODE_EXPORT extern "C" __attribute__((visibility("default")))

namespace tracelode {

namespace {

enum Slot {
  launch_kernel,
  launch_kernel_per_thread,
  launch_kernel_ex,
  launch_kernel_ex_per_thread,
  launch_cooperative,
  launch_cooperative_per_thread,
  launch_graph,
  launch_graph_per_thread,
  allocate_managed,
  free_memory,
  free_async,
  free_async_per_thread,
  module_function,
  library_kernel,
  library_kernels,
  kernel_function,
  destroy_context,
  reset_primary_v2,
  reset_primary,
  release_primary_v2,
  release_primary,
  proc_address_v2,
  proc_address,
  slots
};

// The driver's own function; nullptr where the process has no driver.
void* own(Slot slot) noexcept;

template <Slot slot, class... Arguments>
int forward(Arguments... arguments) noexcept {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(own(slot));
  return function ? function(arguments...) : Driver::not_initialized;
}

// A call of the program's. The driver may call its own functions by their names: such calls are none of the program's.
class Call {
 public:
  Call() noexcept { ++depth; }
  ~Call() { --depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  template <class Function>
  void tell(Function function) const noexcept {
    if (depth > 1) return;
    try {
      if (Replayer& here = replayer(); !here.idle()) function(here);
    } catch (...) {  // no memory: without this call, then
    }
  }

 private:
  static thread_local int depth;
};

thread_local int Call::depth = 0;

Handle per_thread(Handle stream) { return stream ? stream : Driver::per_thread_stream; }

template <Slot slot, class... Arguments>
int launch(Handle function, Handle stream, Arguments... arguments) noexcept {
  const Call call;
  call.tell([&](Replayer& here) { here.launching(function, stream); });
  return forward<slot>(arguments...);
}

template <Slot slot>
int run_graph(Handle graph, Handle stream) noexcept {
  const Call call;
  call.tell([](Replayer& here) { here.launching_graph(); });
  return forward<slot>(graph, stream);
}

template <Slot slot, class... Arguments>
int release(Address address, Arguments... arguments) noexcept {
  const Call call;
  call.tell([&](Replayer& here) { here.freeing(address); });  // before: another may be given the address at once
  return forward<slot>(address, arguments...);
}

template <Slot slot, class Argument>
int end_contexts(Argument argument) noexcept {
  const Call call;
  call.tell([](Replayer& here) { here.contexts_ending(); });
  return forward<slot>(argument);
}

template <Slot slot>
int find_function(Handle* function, Handle within, const char* name) noexcept {
  const Call call;
  const int result = forward<slot>(function, within, name);
  if (result == Driver::success && function && name) call.tell([&](Replayer& here) { here.named(*function, name); });
  return result;
}

// Ours where the driver has given its own function by that name.
void stand_in_for(const char* name, int version, uint64_t flags, void** function) noexcept;

}  // namespace

}  // namespace tracelode

using namespace tracelode;

TRACELODE_EXPORT int cuLaunchKernel(Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned shared, Handle stream,
                                    void** parameters, void** extra) {
  return launch<launch_kernel>(function, stream, function, x, y, z, block_x, block_y, block_z, shared, stream,
                               parameters, extra);
}

TRACELODE_EXPORT int cuLaunchKernel_ptsz(Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                                         unsigned block_y, unsigned block_z, unsigned shared, Handle stream,
                                         void** parameters, void** extra) {
  return launch<launch_kernel_per_thread>(function, per_thread(stream), function, x, y, z, block_x, block_y, block_z,
                                          shared, stream, parameters, extra);
}

TRACELODE_EXPORT int cuLaunchKernelEx(const LaunchConfig* config, Handle function, void** parameters, void** extra) {
  return launch<launch_kernel_ex>(function, config ? config->stream : nullptr, config, function, parameters, extra);
}

TRACELODE_EXPORT int cuLaunchKernelEx_ptsz(const LaunchConfig* config, Handle function, void** parameters,
                                           void** extra) {
  return launch<launch_kernel_ex_per_thread>(function, per_thread(config ? config->stream : nullptr), config, function,
                                             parameters, extra);
}

TRACELODE_EXPORT int cuLaunchCooperativeKernel(Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                                               unsigned block_y, unsigned block_z, unsigned shared, Handle stream,
                                               void** parameters) {
  return launch<launch_cooperative>(function, stream, function, x, y, z, block_x, block_y, block_z, shared, stream,
                                    parameters);
}

TRACELODE_EXPORT int cuLaunchCooperativeKernel_ptsz(Handle function, unsigned x, unsigned y, unsigned z,
                                                    unsigned block_x, unsigned block_y, unsigned block_z,
                                                    unsigned shared, Handle stream, void** parameters) {
  return launch<launch_cooperative_per_thread>(function, per_thread(stream), function, x, y, z, block_x, block_y,
                                               block_z, shared, stream, parameters);
}

TRACELODE_EXPORT int cuGraphLaunch(Handle graph, Handle stream) { return run_graph<launch_graph>(graph, stream); }

TRACELODE_EXPORT int cuGraphLaunch_ptsz(Handle graph, Handle stream) {
  return run_graph<launch_graph_per_thread>(graph, stream);
}

TRACELODE_EXPORT int cuMemAllocManaged(Address* address, size_t bytes, unsigned flags) {
  const Call call;
  const int result = forward<allocate_managed>(address, bytes, flags);
  if (result == Driver::success && address) call.tell([&](Replayer& here) { here.allocated(*address, bytes); });
  return result;
}

TRACELODE_EXPORT int cuMemFree_v2(Address address) { return release<free_memory>(address); }

TRACELODE_EXPORT int cuMemFreeAsync(Address address, Handle stream) { return release<free_async>(address, stream); }

TRACELODE_EXPORT int cuMemFreeAsync_ptsz(Address address, Handle stream) {
  return release<free_async_per_thread>(address, stream);
}

TRACELODE_EXPORT int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  return find_function<module_function>(function, module, name);
}

TRACELODE_EXPORT int cuLibraryGetKernel(Handle* kernel, Handle library, const char* name) {
  return find_function<library_kernel>(kernel, library, name);
}

TRACELODE_EXPORT int cuLibraryEnumerateKernels(Handle* kernels, unsigned count, Handle library) {
  const Call call;
  const int result = forward<library_kernels>(kernels, count, library);
  if (result != Driver::success || !kernels) return result;
  for (unsigned at = 0; at < count; ++at) call.tell([&](Replayer& here) { here.kernel_given(kernels[at]); });
  return result;
}

TRACELODE_EXPORT int cuKernelGetFunction(Handle* function, Handle kernel) {
  const Call call;
  const int result = forward<kernel_function>(function, kernel);
  if (result == Driver::success && function) call.tell([&](Replayer& here) { here.same(*function, kernel); });
  return result;
}

TRACELODE_EXPORT int cuCtxDestroy_v2(Handle context) { return end_contexts<destroy_context>(context); }

TRACELODE_EXPORT int cuDevicePrimaryCtxReset_v2(int device) { return end_contexts<reset_primary_v2>(device); }

TRACELODE_EXPORT int cuDevicePrimaryCtxReset(int device) { return end_contexts<reset_primary>(device); }

TRACELODE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return end_contexts<release_primary_v2>(device); }

TRACELODE_EXPORT int cuDevicePrimaryCtxRelease(int device) { return end_contexts<release_primary>(device); }

TRACELODE_EXPORT int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  const int result = forward<proc_address>(name, function, version, flags);
  if (result == Driver::success) stand_in_for(name, version, flags, function);
  return result;
}

TRACELODE_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, void* status) {
  const int result = forward<proc_address_v2>(name, function, version, flags, status);
  if (result == Driver::success) stand_in_for(name, version, flags, function);
  return result;
}

namespace tracelode {

namespace {

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

// What the driver calls a function: in its library, and for cuGetProcAddress, which gives one by the version and the
// flags it is asked with.
struct Known {
  const char* symbol;
  const char* name;
  enum { any, legacy, per_thread } stream;
  int since;
  void* ours;
};

// In the order of the slots; of a function's versions the newest comes first.
const Known known[slots] = {
    {"cuLaunchKernel", "cuLaunchKernel", Known::legacy, 0, address_of(cuLaunchKernel)},
    {"cuLaunchKernel_ptsz", "cuLaunchKernel", Known::per_thread, 0, address_of(cuLaunchKernel_ptsz)},
    {"cuLaunchKernelEx", "cuLaunchKernelEx", Known::legacy, 0, address_of(cuLaunchKernelEx)},
    {"cuLaunchKernelEx_ptsz", "cuLaunchKernelEx", Known::per_thread, 0, address_of(cuLaunchKernelEx_ptsz)},
    {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", Known::legacy, 0, address_of(cuLaunchCooperativeKernel)},
    {"cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel", Known::per_thread, 0,
     address_of(cuLaunchCooperativeKernel_ptsz)},
    {"cuGraphLaunch", "cuGraphLaunch", Known::legacy, 0, address_of(cuGraphLaunch)},
    {"cuGraphLaunch_ptsz", "cuGraphLaunch", Known::per_thread, 0, address_of(cuGraphLaunch_ptsz)},
    {"cuMemAllocManaged", "cuMemAllocManaged", Known::any, 0, address_of(cuMemAllocManaged)},
    {"cuMemFree_v2", "cuMemFree", Known::any, 3020, address_of(cuMemFree_v2)},
    {"cuMemFreeAsync", "cuMemFreeAsync", Known::legacy, 0, address_of(cuMemFreeAsync)},
    {"cuMemFreeAsync_ptsz", "cuMemFreeAsync", Known::per_thread, 0, address_of(cuMemFreeAsync_ptsz)},
    {"cuModuleGetFunction", "cuModuleGetFunction", Known::any, 0, address_of(cuModuleGetFunction)},
    {"cuLibraryGetKernel", "cuLibraryGetKernel", Known::any, 0, address_of(cuLibraryGetKernel)},
    {"cuLibraryEnumerateKernels", "cuLibraryEnumerateKernels", Known::any, 0, address_of(cuLibraryEnumerateKernels)},
    {"cuKernelGetFunction", "cuKernelGetFunction", Known::any, 0, address_of(cuKernelGetFunction)},
    {"cuCtxDestroy_v2", "cuCtxDestroy", Known::any, 4000, address_of(cuCtxDestroy_v2)},
    {"cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", Known::any, 11000,
     address_of(cuDevicePrimaryCtxReset_v2)},
    {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset", Known::any, 0, address_of(cuDevicePrimaryCtxReset)},
    {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", Known::any, 11000,
     address_of(cuDevicePrimaryCtxRelease_v2)},
    {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease", Known::any, 0, address_of(cuDevicePrimaryCtxRelease)},
    {"cuGetProcAddress_v2", "cuGetProcAddress", Known::any, 12000, address_of(cuGetProcAddress_v2)},
    {"cuGetProcAddress", "cuGetProcAddress", Known::any, 0, address_of(cuGetProcAddress)},
};

std::atomic<void*> driver_own[slots];

// Where the symbol is, in the order in which the process has loaded its libraries, but not here.
void* elsewhere(const char* symbol) noexcept { return real_symbol(RTLD_NEXT, symbol); }

void* own(Slot slot) noexcept {
  if (void* const found = driver_own[slot]) return found;
  void* found = elsewhere(known[slot].symbol);
  if (void* const library = found ? nullptr : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    found = real_symbol(library, known[slot].symbol);
  }
  driver_own[slot] = found;
  return found;
}

bool in_one_library(void* one, void* other) noexcept {
  Dl_info first{}, second{};
  return dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

// Our function in the place of that one, unless ours stands for that of another library already.
void* ours_for(Slot slot, void* found) noexcept {
  if (found == known[slot].ours) return found;
  void* before = nullptr;
  const bool first = driver_own[slot].compare_exchange_strong(before, found);
  return first || before == found || in_one_library(before, found) ? known[slot].ours : found;
}

void stand_in_for(const char* name, int version, uint64_t flags, void** function) noexcept {
  if (!name || !function || !*function) return;
  constexpr uint64_t per_thread_flag = 2;
  const auto other_stream = flags & per_thread_flag ? Known::legacy : Known::per_thread;
  for (int slot = 0; slot < slots; ++slot) {
    const Known& one = known[slot];
    if (std::strcmp(one.name, name) != 0 || one.stream == other_stream || version < one.since) continue;
    *function = ours_for(static_cast<Slot>(slot), *function);
    return;
  }
}

}  // namespace

Answer stand_in(void* library, const char* name) noexcept {
  for (int slot = 0; slot < slots; ++slot) {
    if (std::strcmp(known[slot].symbol, name) != 0) continue;
    void* found = library == RTLD_DEFAULT ? nullptr : real_symbol(library, name);
    // Among all libraries of the process ours is the first: what counts is whether the driver is there.
    if (library == RTLD_DEFAULT || found == known[slot].ours) found = elsewhere(name);
    return {found ? ours_for(static_cast<Slot>(slot), found) : nullptr, true};
  }
  return {nullptr, false};
}

}  // namespace tracelode
