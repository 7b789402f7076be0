// Takes the place of dlsym. CUDA's runtime finds the driver's functions by it, so that to be loaded first is not enough
// to be called; NVIDIA's own sample of a library that intercepts the driver (cuHook) does the same.
#include <dlfcn.h>

#include "interposed.h"

extern "C" {

using Dlsym = void* (*)(void*, const char*);

// Read by the code below.
__attribute__((visibility("hidden"))) Dlsym tracelode_real_dlsym = nullptr;

// In which dlsym came: on x86-64, on 64-bit Arm, and when it moved into libc.so.
static const char* const c_library_versions[] = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};

struct Choice {
  void* symbol;
  void* answered;  // nullptr: the C library shall answer
};

// Sanitizers look symbols up before their memory is ready: they must not watch this.
__attribute__((visibility("hidden"), used, no_sanitize("address", "thread", "undefined"))) Choice tracelode_choose(
    void* library, const char* name) noexcept {
  if (!tracelode_real_dlsym) {
    for (const char* version : c_library_versions) {
      void* const found = dlvsym(RTLD_NEXT, "dlsym", version);
      if (found) tracelode_real_dlsym = reinterpret_cast<Dlsym>(found);
      if (found) break;
    }
  }
  if (!tracelode_real_dlsym) return {nullptr, &tracelode_real_dlsym};
  if (library == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u') return {nullptr, nullptr};
  const tracelode::Answer answer = tracelode::stand_in(library, name);
  return {answer.symbol, answer.answered ? &tracelode_real_dlsym : nullptr};
}

}  // extern "C"

// The C library's dlsym looks at who has called it (RTLD_NEXT is what comes after the caller), so it must be jumped to,
// with the stack as it was: no compiler promises that of a call.
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
)"
#if defined(__x86_64__)
    R"(
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tracelode_choose
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rdx, %rdx
  jz 1f
  ret
1:
  jmp *tracelode_real_dlsym(%rip)
)"
#elif defined(__aarch64__)
    R"(
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  stp x0, x1, [sp, #16]
  mov x29, sp
  bl tracelode_choose
  mov x2, x0
  mov x3, x1
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_restore x29
  .cfi_restore x30
  .cfi_adjust_cfa_offset -32
  cbz x3, 1f
  mov x0, x2
  ret
1:
  adrp x16, tracelode_real_dlsym
  ldr x16, [x16, :lo12:tracelode_real_dlsym]
  br x16
)"
#else
#error "the replayer knows x86-64 and 64-bit Arm only"
#endif
    R"(
  .cfi_endproc
.size dlsym, .-dlsym
)");

void* tracelode::real_symbol(void* library, const char* name) noexcept {
  if (!tracelode_real_dlsym) tracelode_choose(nullptr, nullptr);
  return tracelode_real_dlsym ? tracelode_real_dlsym(library, name) : nullptr;
}
