// The file of records that the stub replays, as tests/native/replays.py writes it.
#pragma once

#include <stdint.h>

constexpr uint32_t replay_kinds = 128, replay_pointers = 4, replay_slots = 1 << 18, replay_slot_bytes = 256;

struct ReplayHeader {
  char magic[8]; // "REPLAY1\0"
  uint64_t records;
  uint64_t bytes;                                    // of all records
  uint64_t texts;                                    // each in a slot of its own size, zero-terminated
  uint32_t stride[replay_kinds];                     // bytes of a record, by kind; 0: such a record is an error
  uint32_t pointer[replay_kinds][replay_pointers];   // where a record holds the number of a text, from 1; 0: nowhere
};
