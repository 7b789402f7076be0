#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <unistd.h>

#include "message.h"

namespace tracelode {

namespace {

const char* const by_default[] = {"kernel", "copy", "fill", "sync", "memory", "pool", "graph", "marker", "overhead"};
const char* const on_request[] = {"runtime", "driver", "uvm", "external"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool parse(const std::string& text, uint64_t& number) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end || errno) return false;
  number = value;
  return true;
}

void misunderstood(const char* name, const std::string& value, const char* wanted) {
  say(std::string(name) + "=" + value + " is not " + wanted + ": ignored");
}

// The number of a variable, at least `least`; what it was where there is none.
uint64_t number(const char* name, uint64_t otherwise, uint64_t least) {
  const std::string text = variable(name);
  uint64_t value = otherwise;
  if (text.empty()) return otherwise;
  if (parse(text, value) && value >= least) return value;
  misunderstood(name, text, "such a number");
  return otherwise;
}

// "a:b", either side may be missing.
void read_range(Options& options) {
  const char* const name = "TRACELODE_RECORD_LAUNCHES";
  const std::string text = variable(name);
  if (text.empty()) return;
  const size_t colon = text.find(':');
  uint64_t first = 0, last = ~uint64_t{0};
  const bool split = colon != std::string::npos;
  const std::string left = text.substr(0, colon), right = split ? text.substr(colon + 1) : "";
  const bool understood = split && (left.empty() || parse(left, first)) && (right.empty() || parse(right, last));
  if (!understood) return misunderstood(name, text, "first:last");
  options.first_launch = first;
  options.last_launch = last;
}

void read_events(Options& options) {
  const char* const name = "TRACELODE_RECORD_EVENTS";
  const std::string text = variable(name);
  if (text.empty()) options.events.insert(std::begin(by_default), std::end(by_default));
  for (const std::string& event : split(text, ',')) {
    const auto is = [&](const char* known) { return event == known; };
    const bool known = std::any_of(std::begin(by_default), std::end(by_default), is) ||
                       std::any_of(std::begin(on_request), std::end(on_request), is);
    if (known) options.events.insert(event);
    else misunderstood(name, event, "a kind of event");
  }
}

// One of two words; whether it is the second.
bool second(const char* name, const char* first, const char* other) {
  const std::string text = variable(name);
  if (!text.empty() && text != first && text != other) {
    misunderstood(name, text, (std::string(first) + " or " + other).c_str());
  }
  return text == other;
}

}  // namespace

std::string recording_folder() {
  const std::string folder = variable("TRACELODE_RECORD_DIR");
  if (folder.empty() || folder[0] == '/') return folder;
  char* here = getcwd(nullptr, 0);  // the program may go elsewhere
  const std::string path = here ? std::string(here) + "/" + folder : folder;
  std::free(here);
  return path;
}

Options read_options() {
  Options options;
  options.folder = recording_folder();
  if (options.folder.empty()) return options;
  read_events(options);
  read_range(options);
  options.graph_nodes = second("TRACELODE_RECORD_GRAPHS", "graph", "node");
  options.rows = !second("TRACELODE_RECORD_DETAIL", "rows", "totals");
  options.sample = number("TRACELODE_RECORD_SAMPLE", options.sample, 1);
  options.names = split(variable("TRACELODE_RECORD_NAMES"), '\n');
  const uint64_t most = uint64_t{1} << 20;  // a TiB in MiB, a GiB in KiB
  options.buffers_bytes = std::min(number("TRACELODE_RECORD_BUFFERS", 64, 1), most) << 20;
  options.buffer_bytes = std::min(number("TRACELODE_RECORD_BUFFER", 2048, 4), most) << 10;
  options.buffer_bytes = std::min(options.buffer_bytes, options.buffers_bytes);
  options.device_bytes = std::min(number("TRACELODE_RECORD_DEVICE", 256, 1), most) << 20;
  options.flush_ms = std::min<uint64_t>(number("TRACELODE_RECORD_FLUSH", options.flush_ms, 0), 3'600'000);
  options.paused = number("TRACELODE_RECORD_PAUSED", 0, 0) != 0;
  options.stop_bytes = number("TRACELODE_RECORD_STOP", 0, 0);
  options.cupti = variable("TRACELODE_CUPTI");
  options.version = variable("TRACELODE_VERSION");
  return options;
}

Json Options::described() const {
  Json json;
  json.add("events", std::vector<std::string>(events.begin(), events.end()));
  json.add("graphs", graph_nodes ? "node" : "graph").add("detail", rows ? "rows" : "totals");
  json.add("first_launch", first_launch);
  if (last_launch != ~uint64_t{0}) json.add("last_launch", last_launch);
  json.add("sample", sample).add("names", names).add("buffers_bytes", buffers_bytes).add("buffer_bytes", buffer_bytes);
  json.add("device_bytes", device_bytes);
  return json.add("flush_ms", flush_ms).add("paused", paused).add("stop_bytes", stop_bytes);
}

}  // namespace tracelode
