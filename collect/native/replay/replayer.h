// What one process has of a plan: knows the plan's objects and kernels as the program makes and launches them, and asks
// the driver for what the plan says, as far as there is room.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver.h"
#include "plan.h"
#include "ranges.h"

namespace tracelode {

class Replayer {
 public:
  // Of the plan in the file; one without steps does nothing.
  explicit Replayer(const std::string& plan);
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  bool idle() const { return plan_.steps() == 0; }

  // Managed memory was allocated, or is about to be freed.
  void allocated(Address address, uint64_t bytes);
  void freeing(Address address);

  // The program was given a function by this name, a kernel without telling one, or a kernel's function.
  void named(Handle function, const char* name);
  void kernel_given(Handle kernel);
  void same(Handle function, Handle kernel);

  // A function, or a graph, is about to be launched.
  void launching(Handle function, Handle stream);
  void launching_graph();

  // Contexts are about to end, and with them our streams.
  void contexts_ending();

  // What came of the plan, as one line of JSON; empty where another thread is in the driver for more than a second: the
  // process, which ends, shall not wait for it.
  std::string counts();

 private:
  // A context: its device, our stream in it, and the bytes asked for there that may not have arrived.
  struct Place {
    int device = 0;
    Handle stream = nullptr;
    bool usable = false;
    uint64_t on_the_way = 0;
  };

  struct Object {
    uint64_t bytes = 0, memory = 0;
    Ranges asked;  // of its bytes: what is taken to be on the device
    int device = 0;
    Place* place = nullptr;  // where it was last asked for
  };

  struct Counts {
    uint64_t objects = 0, reached = 0, cut = 0;
    uint64_t asked = 0, asked_bytes = 0, there = 0, no_room = 0, no_room_bytes = 0, no_object = 0, refused = 0;
    uint64_t captured = 0, graphs = 0, unnamed = 0, unusable = 0;
  };

  Kernel* kernel_of(Handle function);
  void replay(const std::vector<Part>& step);
  // Whether all of the part is there or asked for. `left` is the room that the step has, once the driver was asked.
  bool ask(const Part& part, Place& place, std::optional<uint64_t>& left);
  Place* place();
  uint64_t room(Place& place);

  Plan plan_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> places_of_;  // of (bytes, occurrence) in the plan's list
  std::map<uint64_t, uint64_t> born_;                            // objects so far, by the sizes of the plan

  std::mutex mutex_;  // of all below, and of the kernels' executions
  Driver driver_;
  std::unordered_map<Handle, Kernel*> functions_;  // nullptr: not in the plan
  std::map<Address, Object> objects_;              // of the plan, those that live
  std::unordered_map<uint64_t, Address> living_;   // the same by their place in the plan's list
  std::map<Handle, Place> places_;
  Counts counts_;
};

}  // namespace tracelode
