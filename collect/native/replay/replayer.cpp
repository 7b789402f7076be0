#include "replayer.h"

#include <algorithm>
#include <unistd.h>

#include "../json.h"

namespace tracelode {

namespace {

// What the driver moves at least, so that a part of it takes the room of the whole.
constexpr uint64_t page = 64 << 10;
// With less room than this the driver may have moved to the host what was asked for before.
constexpr uint64_t full = 32 << 20;

uint64_t room_of(Address begin, Address end) { return (end + page - 1) / page * page - begin / page * page; }

// While it lives, this thread's calls are no part of the program's captures, nor do they end one.
class Uncaptured {
 public:
  explicit Uncaptured(const Driver& driver) : driver_(driver) { exchange(); }
  ~Uncaptured() { exchange(); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  void exchange() {
    if (driver_.exchange_capture_mode) driver_.exchange_capture_mode(&mode_);
  }

  const Driver& driver_;
  int mode_ = Driver::relaxed;
};

}  // namespace

Replayer::Replayer(const std::string& plan) : plan_(plan) {
  for (uint64_t at = 0; at < plan_.memory().size(); ++at) {
    const Memory& one = plan_.memory()[at];
    places_of_.emplace(std::make_pair(one.bytes, one.occurrence), at);
    born_[one.bytes] = 0;
  }
  driver_.bind();
}

void Replayer::allocated(Address address, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // What lay there has been freed in a way that we do not see, such as with its context.
  auto old = objects_.upper_bound(address);
  if (old != objects_.begin() && std::prev(old)->first + std::prev(old)->second.bytes > address) --old;
  while (old != objects_.end() && old->first < address + bytes) {
    living_.erase(old->second.memory);
    old = objects_.erase(old);
  }
  const auto size = born_.find(bytes);
  if (size == born_.end()) return;
  const auto known = places_of_.find({bytes, size->second++});
  if (known == places_of_.end()) return;
  Object& object = objects_[address];
  object.bytes = bytes;
  object.memory = known->second;
  living_[known->second] = address;
  ++counts_.objects;
}

void Replayer::freeing(Address address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = objects_.find(address);
  if (known == objects_.end()) return;
  if (Place* const place = known->second.place; place && place->on_the_way) {
    const Uncaptured relaxed(driver_);
    driver_.synchronize_stream(place->stream);  // nothing may be on the way to memory that is gone
    place->on_the_way = 0;
  }
  living_.erase(known->second.memory);
  objects_.erase(known);
}

void Replayer::named(Handle function, const char* name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  functions_[function] = plan_.find(name);
}

void Replayer::kernel_given(Handle kernel) {
  const char* name = nullptr;
  if (driver_.kernel_name && driver_.kernel_name(&name, kernel) == Driver::success && name) named(kernel, name);
}

void Replayer::same(Handle function, Handle kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = functions_.find(kernel);
  if (known != functions_.end()) functions_[function] = known->second;
}

// The kernel that the plan has for the function; nullptr if it has none, or the function's name cannot be known.
Kernel* Replayer::kernel_of(Handle function) {
  const auto known = functions_.find(function);
  if (known != functions_.end()) return known->second;
  // Not remembered: when its module is unloaded, another function may have this handle.
  const char* name = nullptr;
  if (driver_.function_name && driver_.function_name(&name, function) == Driver::success && name) {
    return plan_.find(name);
  }
  ++counts_.unnamed;
  return nullptr;
}

void Replayer::launching(Handle function, Handle stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Kernel* const kernel = kernel_of(function);
  if (!kernel) return;
  int capturing = 0;
  if (driver_.is_capturing && (driver_.is_capturing(stream, &capturing) != Driver::success || capturing)) {
    ++counts_.captured;  // it does not run now, and nothing may be asked for
    return;
  }
  const auto step = kernel->steps.find(kernel->executions++);
  if (step == kernel->steps.end()) return;
  ++counts_.reached;
  replay(step->second);
}

void Replayer::launching_graph() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.graphs;
}

void Replayer::contexts_ending() {
  const std::lock_guard<std::mutex> lock(mutex_);
  places_.clear();
  for (auto& [address, object] : objects_) {
    object.asked.clear();
    object.place = nullptr;
  }
}

void Replayer::replay(const std::vector<Part>& step) {
  const Uncaptured relaxed(driver_);
  Place* const here = place();
  bool whole = here != nullptr;
  counts_.unusable += !here;
  std::optional<uint64_t> left;
  for (const Part& part : step) {
    if (here && !ask(part, *here, left)) whole = false;
  }
  counts_.cut += !whole;
}

bool Replayer::ask(const Part& part, Place& place, std::optional<uint64_t>& left) {
  const auto living = living_.find(part.memory);
  if (living == living_.end()) return ++counts_.no_object, false;
  const Address base = living->second;
  Object& object = objects_[base];
  if (object.device != place.device) object.asked.clear();
  object.device = place.device;
  const Range wanted{part.offset, part.offset + part.bytes};
  if (!left && !object.asked.missing(wanted).empty()) left = room(place);
  const std::vector<Range> parts = object.asked.missing(wanted);  // after that, it may be more
  counts_.there += parts.empty();
  bool whole = true;
  for (const Range& one : parts) {
    const uint64_t bytes = one.end - one.begin, needed = room_of(base + one.begin, base + one.end);
    if (needed > *left) {
      ++counts_.no_room, counts_.no_room_bytes += bytes;
      whole = false;
    } else if (driver_.prefetch(base + one.begin, bytes, place.device, place.stream) != Driver::success) {
      ++counts_.refused;
      whole = false;
    } else {
      ++counts_.asked, counts_.asked_bytes += bytes;
      object.asked.add(one);
      object.place = &place;
      place.on_the_way += needed;
      *left -= needed;
    }
  }
  return whole;
}

// The current context with our stream, in which prefetches run beside the program's kernels; nullptr where none can be.
Replayer::Place* Replayer::place() {
  Handle context = nullptr;
  if (!driver_.complete() || driver_.current_context(&context) != Driver::success || !context) return nullptr;
  const auto [known, first] = places_.try_emplace(context);
  Place& place = known->second;
  if (first) {
    int concurrent = 0;
    place.usable = driver_.current_device(&place.device) == Driver::success &&
                   driver_.device_attribute(&concurrent, Driver::concurrent_managed_access, place.device) ==
                       Driver::success &&
                   concurrent && driver_.create_stream(&place.stream, Driver::non_blocking) == Driver::success;
  }
  return place.usable ? &place : nullptr;
}

// What the device has free, without what is on the way to it.
uint64_t Replayer::room(Place& place) {
  if (driver_.query_stream(place.stream) == Driver::success) place.on_the_way = 0;
  size_t free = 0, total = 0;
  if (driver_.memory(&free, &total) != Driver::success) return 0;
  uint64_t taken = 0;
  for (const auto& [context, one] : places_) taken += one.device == place.device ? one.on_the_way : 0;
  if (free < full) {
    for (auto& [address, object] : objects_) {
      if (object.device == place.device) object.asked.clear();
    }
  }
  return free > taken ? free - taken : 0;
}

std::string Replayer::counts() {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  for (int wait = 0; !lock && wait < 100; ++wait) {
    usleep(10'000);
    lock.try_lock();
  }
  if (!lock) return "";
  Json json;
  json.add("process", static_cast<uint64_t>(getpid()));
  json.add("steps", plan_.steps()).add("reached", counts_.reached).add("cut", counts_.cut);
  json.add("objects", counts_.objects).add("asked", counts_.asked).add("asked_bytes", counts_.asked_bytes);
  json.add("there", counts_.there).add("no_room", counts_.no_room).add("no_room_bytes", counts_.no_room_bytes);
  json.add("no_object", counts_.no_object).add("refused", counts_.refused).add("unusable", counts_.unusable);
  json.add("captured", counts_.captured).add("graphs", counts_.graphs).add("unnamed", counts_.unnamed);
  return json.text() + "\n";
}

}  // namespace tracelode
