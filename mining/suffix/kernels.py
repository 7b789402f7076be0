"""The CUDA source of the steps that a device does in one kernel each.

Every kernel is a function of one item, called for the items 0 to `items - 1`: by a thread each under CUDA, by a loop
under any C++ compiler, which is how they are tested without a device. What a kernel computes is said in `plain.py`;
sums and minima go through atomics, so the order of the threads does not matter.
"""

__all__ = ["SOURCE"]

SOURCE = r"""
#ifdef __CUDACC__
#define ITEM static __device__ __forceinline__
#define KERNEL(name, parameters, arguments)                                            \
    extern "C" __global__ void name parameters {                                       \
        const long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;       \
        if (item < items) name##_of arguments;                                         \
    }
#else
#define ITEM static inline
#define KERNEL(name, parameters, arguments)                                            \
    extern "C" void name parameters {                                                  \
        for (long long item = 0; item < items; item++) name##_of arguments;            \
    }
static inline void atomicAdd(int* sum, int value) { *sum += value; }
static inline void atomicMin(int* least, int value) { if (value < *least) *least = value; }
#endif

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

/* A phrase begins where two symbols hash to a multiple of 8, at the first position and at the end. */
ITEM void mark_phrase_starts_of(i64 at, const int* enclosed, u32 seed, bool* flags, i64 items) {
    bool marked = at == 0 || at == items - 1;
    if (at > 0 && at < items - 2) {
        u32 mixed = (u32)enclosed[at + 1] * 0x9E3779B1u + (u32)enclosed[at + 2] * 0x85EBCA77u + seed;
        mixed ^= mixed >> 15;
        mixed *= 0x2C1B3C6Du;
        mixed ^= mixed >> 12;
        marked = (mixed & 7) == 0;
    }
    flags[at] = marked;
}
KERNEL(mark_phrase_starts, (const int* enclosed, u32 seed, bool* flags, i64 items),
       (item, enclosed, seed, flags, items))

ITEM void hash_phrases_of(i64 phrase, const int* enclosed, const int* bounds, int overlap, u64 seed, u64* hashes) {
    const int begin = bounds[phrase], length = bounds[phrase + 1] - begin + overlap;
    u64 sum = 0;
    for (int offset = 0; offset < length; offset++) {
        u64 mixed = (u64)(i64)enclosed[begin + 1 + offset] * 0x9E3779B97F4A7C15ull;
        mixed += (u64)offset * 0xD6E8FEB86659FD93ull + seed;
        mixed ^= mixed >> 32;
        mixed *= 0xBF58476D1CE4E5B9ull;
        mixed ^= mixed >> 29;
        sum += mixed;
    }
    hashes[phrase] = sum;
}
KERNEL(hash_phrases, (const int* enclosed, const int* bounds, int overlap, u64 seed, u64* hashes, i64 items),
       (item, enclosed, bounds, overlap, seed, hashes))

ITEM void count_unlike_of(i64 phrase, const int* enclosed, const int* bounds, const int* example, int overlap,
                          int* unlike) {
    const int begin = bounds[phrase], length = bounds[phrase + 1] - begin;
    const int other = bounds[example[phrase]];
    bool same = bounds[example[phrase] + 1] - other == length;
    for (int offset = 0; same && offset < length + overlap; offset++)
        same = enclosed[begin + 1 + offset] == enclosed[other + 1 + offset];
    if (!same) atomicAdd(unlike, 1);
}
KERNEL(count_unlike, (const int* enclosed, const int* bounds, const int* example, int overlap, int* unlike, i64 items),
       (item, enclosed, bounds, example, overlap, unlike))

ITEM void pack_symbols_of(i64 at, const int* text, const int* ends, int count, int symbol_bits, int index_bits,
                          i64* packed) {
    i64 key = 0;
    for (int offset = 0; offset < count; offset++) {
        key <<= symbol_bits;
        if (at + offset < ends[at]) key |= (i64)text[at + offset] + 2;
    }
    packed[at] = key << index_bits | at;
}
KERNEL(pack_symbols,
       (const int* text, const int* ends, int count, int symbol_bits, int index_bits, i64* packed, i64 items),
       (item, text, ends, count, symbol_bits, index_bits, packed))

ITEM void count_below_of(i64 query, const int* values, const int* begin, const int* length, const int* limit,
                         int* found) {
    int low = begin[query], high = low + length[query];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (values[middle] < limit[query]) low = middle + 1; else high = middle;
    }
    found[query] = low - begin[query];
}
KERNEL(count_below,
       (const int* values, const int* begin, const int* length, const int* limit, int* found, i64 items),
       (item, values, begin, length, limit, found))

/* Compares the first symbols of a pair; `most` says how many there are to compare. */
ITEM void compare_begin_of(i64 pair, const int* enclosed, int size, const int* one, const int* other, int most,
                           int* lengths) {
    const int a = one[pair], b = other[pair];
    const int room = size - (a > b ? a : b);  /* the end is unlike any symbol: no pair goes beyond it */
    const int limit = most < room ? most : room;
    int length = 0;
    while (length < limit && enclosed[a + 1 + length] == enclosed[b + 1 + length]) length++;
    lengths[pair] = length;
}
KERNEL(compare_begin,
       (const int* enclosed, int size, const int* one, const int* other, int most, int* lengths, i64 items),
       (item, enclosed, size, one, other, most, lengths))

/* Compares 64 symbols, 32 apart, of a pair that agreed on `compared` symbols; 32 neighbouring items take a stretch. */
ITEM void compare_further_of(i64 item, const int* enclosed, int size, const int* one, const int* other,
                             const int* going, int compared, int lanes, int* lengths) {
    const int pair = going[item / lanes];
    const i64 lane = item % lanes;
    const i64 first = compared + (lane / 32) * 2048 + lane % 32;
    const int a = one[pair], b = other[pair];
    const i64 room = size - (a > b ? a : b);
    if (first > room || *(volatile int*)(lengths + pair) <= first) return;
    for (int k = 0; k < 64; k++) {
        const i64 at = first + 32 * k;
        if (at >= room || enclosed[a + 1 + at] != enclosed[b + 1 + at]) {
            atomicMin(lengths + pair, (int)at);
            return;
        }
    }
}
KERNEL(compare_further,
       (const int* enclosed, int size, const int* one, const int* other, const int* going, int compared, int lanes,
        int* lengths, i64 items),
       (item, enclosed, size, one, other, going, compared, lanes, lengths))

/* Both climb until a subtree beside the way holds what is looked for, then go down to its nearest leaf. */
ITEM void previous_at_most_of(i64 query, const int* tree, int leaves, const int* leaf, int* found) {
    int node = leaf[query] + leaves;
    const int limit = tree[node];
    while (node > 1 && !((node & 1) && tree[node - 1] <= limit)) node >>= 1;
    if (node > 1) node--;
    while (node > 1 && node < leaves) node = tree[2 * node + 1] <= limit ? 2 * node + 1 : 2 * node;
    found[query] = node > 1 ? node - leaves : leaves;
}
KERNEL(previous_at_most, (const int* tree, int leaves, const int* leaf, int* found, i64 items),
       (item, tree, leaves, leaf, found))

ITEM void next_smaller_of(i64 query, const int* tree, int leaves, const int* leaf, int* found) {
    int node = leaf[query] + leaves;
    const int limit = tree[node];
    while (node > 1 && !(!(node & 1) && tree[node + 1] < limit)) node >>= 1;
    if (node > 1) node++;
    while (node > 1 && node < leaves) node = tree[2 * node] < limit ? 2 * node : 2 * node + 1;
    found[query] = node > 1 ? node - leaves : leaves;
}
KERNEL(next_smaller, (const int* tree, int leaves, const int* leaf, int* found, i64 items),
       (item, tree, leaves, leaf, found))
"""
