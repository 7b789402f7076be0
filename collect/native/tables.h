// The tables of a recording. The schema that begins the file is made from these declarations.
#pragma once

#include "table.h"

namespace tracelode {

using u1 = uint8_t;
using u2 = uint16_t;
using u4 = uint32_t;
using u8 = uint64_t;
using i4 = int32_t;

// What the records become, in the order of the counts in the state.
enum Kind : unsigned {
  kernel, graph_kernel, copy, fill, sync, memory, pool, graph_launch, call, marker, overhead, uvm, external, kinds
};
inline const char* const kind_names[kinds] = {"kernel", "graph_kernel", "copy", "fill", "sync", "memory", "pool",
                                              "graph_launch", "call", "marker", "overhead", "uvm", "external"};

struct Tables {
  // Written first: the others refer to them.
  Table<u4, u4> name{"name", {"id", "bytes"}, true};
  Table<u4, u4, i4, i4, i4, i4, i4, i4, u4, i4, i4, u1, u4, u4, u4> config{
      "config", {"id", "name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
                 "static_shared", "dynamic_shared", "launch_type", "cluster_x", "cluster_y", "cluster_z"}};
  Table<u1, u4, u4> call_name{"call_name", {"interface", "function", "name"}};

  Table<u8, u8, u4, u4, u4, u4, u4> kernel{
      "kernel", {"start", "end", "correlation", "config", "device", "context", "stream"}};
  Table<u8, u8, u4, u4, u4, u4, u4, u4, u8> graph_kernel{
      "graph_kernel",
      {"start", "end", "correlation", "config", "device", "context", "stream", "graph", "graph_node"}};
  Table<u8, u8, u4, u4, u4, u4, u8, u1, u1, u1, u1, u4, u4, u4, u8, u8> copy{
      "copy", {"start", "end", "correlation", "device", "context", "stream", "bytes", "kind", "source", "target",
               "flags", "source_device", "target_device", "graph", "graph_node", "count"}};
  Table<u8, u8, u4, u4, u4, u4, u8, u4, u4, u4, u8> fill{
      "fill", {"start", "end", "correlation", "device", "context", "stream", "bytes", "value", "memory", "graph",
               "graph_node"}};
  Table<u8, u8, u4, u4, u4, u4, u4> sync{
      "sync", {"start", "end", "correlation", "context", "stream", "kind", "event"}};
  Table<u8, u8, u8, u4, u4, u4, u4, u4, u4, u4, u4, u8, u8, u4> memory{
      "memory", {"time", "address", "bytes", "operation", "kind", "correlation", "device", "context", "stream",
                 "async", "pool_type", "pool_address", "pc", "name"}};
  Table<u8, u8, u8, u8, u8, u8, u4, u4, u4, u4> pool{
      "pool", {"time", "address", "size", "utilized", "release_threshold", "min_bytes_to_keep", "operation", "type",
               "correlation", "device"}};
  Table<u8, u8, u4, u4, u4, u4, u4> graph_launch{
      "graph_launch", {"start", "end", "correlation", "device", "context", "stream", "graph"}};
  Table<u8, u8, u4, u4, u4, u4, u1> call{
      "call", {"start", "end", "correlation", "thread", "function", "status", "interface"}};
  Table<u8, u4, u4, u4, u4, u4, u4, u4> marker{
      "marker", {"time", "id", "flags", "object_kind", "process", "thread", "name", "domain"}};
  Table<u8, u8, u4, u4, u4, u4> overhead{
      "overhead", {"start", "end", "kind", "object_kind", "process", "thread"}};
  Table<u8, u8, u8, u8, u4, u4, u4, u4, u4, u4> uvm{
      "uvm", {"start", "end", "value", "address", "counter", "source", "target", "stream", "process", "flags"}};
  Table<u4, u4, u8> external{"external", {"correlation", "kind", "external"}};

  Table<u4, u4, u8, u8, u8, u8> total{"total", {"name", "device", "count", "time", "shortest", "longest"}};
  Table<u4, u4, u1, u8> histogram{"histogram", {"name", "device", "bucket", "count"}};

  // So many tables come before those of the kinds, which come in the kinds' order.
  static constexpr unsigned before_kinds = 3;

  // Calls the function with each table.
  template <class Function>
  void each(Function function) {
    function(name), function(config), function(call_name);
    function(kernel), function(graph_kernel), function(copy), function(fill), function(sync), function(memory);
    function(pool), function(graph_launch), function(call), function(marker), function(overhead), function(uvm);
    function(external), function(total), function(histogram);
  }
};

}  // namespace tracelode
