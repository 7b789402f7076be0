// Checks what the collector reduces with against the plain way to do it; ends with 1 and the line of what is wrong.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "configs.h"
#include "names.h"
#include "selection.h"
#include "totals.h"

using namespace tracelode;

#define CHECK(what) \
  if (!(what)) return std::printf("line %d: %s\n", __LINE__, #what), std::exit(1)

namespace {

std::mt19937_64 random_number(7);

void equal_texts_have_one_number() {
  Names names;
  std::map<std::string, uint32_t> known;
  char text[32];  // one address for all texts
  for (int round = 0; round < 100'000; ++round) {
    std::snprintf(text, sizeof text, "kernel_%d", static_cast<int>(random_number() % 5000));
    const uint32_t next = static_cast<uint32_t>(known.size());
    CHECK(names.of(text) == known.emplace(text, next).first->second);
    CHECK(names.of(std::string(text).c_str()) == known[text]);
  }
  CHECK(names.of(nullptr) == Names::none);
  for (const auto& [name, id] : known) CHECK(names.text(id) == name);
}

void texts_beyond_the_limit_are_one() {
  Names names;
  for (uint32_t number = 0; number < Names::most + 1000; ++number) names.of(std::to_string(number).c_str());
  CHECK(names.size() == Names::most);
  CHECK(names.beyond() == 1001);
  CHECK(names.of("0") == 0);
  CHECK(names.text(names.of("another")) == "(further names)");
  CHECK(names.of("another") == Names::most - 1);
}

void long_texts_are_bounded_too() {
  Names names;
  const std::string longest(100 << 20, 'x');
  for (const char* tail : {"1", "2", "3"}) names.of((longest + tail).c_str());
  CHECK(names.size() == 3);
  CHECK(names.beyond() == 1);
}

void equal_configs_have_one_number() {
  Configs configs;
  std::map<std::tuple<uint32_t, int32_t, uint32_t>, uint32_t> known;
  for (int round = 0; round < 100'000; ++round) {
    Config config{};
    config.name = random_number() % 50, config.grid[2] = random_number() % 50, config.cluster[2] = random_number() % 3;
    const auto [id, is_new] = configs.of(config);
    const uint32_t next = static_cast<uint32_t>(known.size());
    const auto [place, fresh] = known.emplace(std::tuple(config.name, config.grid[2], config.cluster[2]), next);
    CHECK(id == place->second && is_new == fresh);
  }
}

void forgotten_configs_get_further_numbers() {
  Configs configs;
  Config config{};
  for (uint32_t number = 0; number < Configs::most + 10; ++number) {
    config.grid[0] = static_cast<int32_t>(number);
    const auto [id, is_new] = configs.of(config);
    CHECK(id == number && is_new);
  }
  config.grid[0] = 0;
  CHECK(configs.of(config).id == Configs::most + 10);
}

void totals_are_sums() {
  Totals totals;
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint64_t, uint64_t>> durations;
  for (int round = 0; round < 100'000; ++round) {
    const uint32_t device = random_number() % 3 ? random_number() % 8 : 0xffffffff, name = random_number() % 100;
    const uint64_t duration = random_number() >> (24 + random_number() % 40);
    totals.add(name, device, duration);
    ++durations[{device, name}][duration];
  }
  size_t found = 0;
  for (const auto& [device, by_name] : totals.devices()) {
    for (uint32_t name = 0; name < by_name.size(); ++name) {
      const Total& total = by_name[name];
      if (!total.count) continue;
      ++found;
      const auto& plain = durations[{device, name}];
      uint64_t count = 0, time = 0, buckets[64] = {};
      for (const auto& [duration, times] : plain) {
        count += times, time += times * duration;
        unsigned bucket = 0;
        while (bucket < 63 && duration >> (bucket + 1)) ++bucket;
        buckets[bucket] += times;
      }
      CHECK(total.count == count && total.time == time);
      CHECK(total.shortest == plain.begin()->first && total.longest == plain.rbegin()->first);
      for (unsigned bucket = 0; bucket < 64; ++bucket) {
        const unsigned at = bucket - total.first_bucket;
        CHECK((at < total.buckets.size() ? total.buckets[at] : 0) == buckets[bucket]);
      }
    }
  }
  CHECK(found == durations.size());
}

void one_of_each_block_is_in_the_sample() {
  for (const uint64_t sample : {1u, 2u, 7u, 1000u}) {
    Options options;
    options.sample = sample;
    Selection selection(options);
    for (int block = 0; block < 100; ++block) {
      uint64_t kept = 0;
      for (uint64_t place = 0; place < sample; ++place) kept += selection.next_in_sample();
      CHECK(kept == 1);
    }
  }
}

void texts_beyond_the_limit_are_selected_by_themselves() {
  Options options;
  options.names = {"gemm"};
  Selection selection(options);
  const std::string rest = "(further names)";
  CHECK(selection.wants(7, rest, "gemm_1"));
  CHECK(!selection.wants(7, rest, "relu_1"));
  CHECK(selection.wants(7, rest, "_Z4gemmIfEvPT_i"));
  CHECK(!selection.wants(7, rest, "(further names)"));
  CHECK(selection.wants(8, "gemm_2", "gemm_2") && selection.wants(8, "gemm_2", "gemm_2"));
}

}  // namespace

int main() {
  texts_beyond_the_limit_are_selected_by_themselves();
  equal_texts_have_one_number();
  texts_beyond_the_limit_are_one();
  long_texts_are_bounded_too();
  equal_configs_have_one_number();
  forgotten_configs_get_further_numbers();
  totals_are_sums();
  one_of_each_block_is_in_the_sample();
}
