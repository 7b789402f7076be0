// How the program comes to call our functions instead of the driver's.
#pragma once

namespace tracelode {

// What dlsym gives without us.
void* real_symbol(void* library, const char* name) noexcept;

// An answer for dlsym: `answered` is false where that is left to the C library.
struct Answer {
  void* symbol;
  bool answered;
};

// Our function where the program looks a driver's function up that we stand in for.
Answer stand_in(void* library, const char* name) noexcept;

}  // namespace tracelode
