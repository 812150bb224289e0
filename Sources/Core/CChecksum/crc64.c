// CRC-64/NVME by carry-less multiplication: 128 bytes at a time are folded into 16, which a table finishes.
//
// Source of the method: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), for
// bit-reflected data; the tables are those of "slicing by 8" (Intel, 2006). Every constant is computed when the process
// needs the first checksum, by the definition of a CRC.
#include "CChecksum.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_FOLDING 1
#elif defined(__aarch64__) && (defined(__APPLE__) || defined(__linux__))
#include <arm_neon.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#define HAS_FOLDING 1
#endif

// The polynomial, its bits in reverse.
#define POLYNOMIAL 0x9A6C9329AC4BC9B5u

// Less than this is not worth the folding.
#define SMALLEST_FOLD 256
#define LANES 8

static uint64_t table[8][256];

// For a lane of 128 bits that is folded over a distance: its first and its second 64 bits.
struct fold {
    uint64_t first, second;
};
static struct fold over_all_lanes, over_one_lane;
static int is_accelerated;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// One step of the division: the remainder times x, where the highest power of x is the lowest bit.
static uint64_t times_x(uint64_t remainder) {
    return remainder >> 1 ^ (remainder & 1 ? POLYNOMIAL : 0);
}

// The remainder of x to a power.
static uint64_t power_of_x(int power) {
    uint64_t remainder = (uint64_t)1 << 63;
    while (power-- > 0) remainder = times_x(remainder);
    return remainder;
}

// The product of two reflected numbers is one bit too low, so each power is one less than the distance.
static struct fold fold_over(int bits) {
    struct fold fold = {power_of_x(bits + 64 - 1), power_of_x(bits - 1)};
    return fold;
}

static int detect(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#elif defined(HAS_FOLDING) && defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
#elif defined(HAS_FOLDING)
    return 1;
#else
    return 0;
#endif
}

static void prepare(void) {
    for (int byte = 0; byte < 256; byte++) {
        uint64_t remainder = (uint64_t)byte;
        for (int bit = 0; bit < 8; bit++) remainder = times_x(remainder);
        table[0][byte] = remainder;
    }
    for (int slice = 1; slice < 8; slice++) {
        for (int byte = 0; byte < 256; byte++) {
            uint64_t before = table[slice - 1][byte];
            table[slice][byte] = table[0][before & 0xFF] ^ before >> 8;
        }
    }
    over_all_lanes = fold_over(LANES * 128);
    over_one_lane = fold_over(128);
    is_accelerated = detect();
}

static uint64_t load(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t by_table(uint64_t state, const uint8_t *bytes, size_t count) {
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word = load(bytes) ^ state;
        state = 0;
        for (int index = 0; index < 8; index++) state ^= table[7 - index][word >> 8 * index & 0xFF];
    }
    for (; count > 0; bytes++, count--) state = table[0][(state ^ *bytes) & 0xFF] ^ state >> 8;
    return state;
}

#if defined(__x86_64__)
typedef __m128i lane;
#define FOLDING __attribute__((target("pclmul,sse4.1")))

FOLDING static inline lane load_lane(const uint8_t *bytes) { return _mm_loadu_si128((const lane *)bytes); }
FOLDING static inline lane make_lane(uint64_t first, uint64_t second) {
    return _mm_set_epi64x((long long)second, (long long)first);
}
FOLDING static inline void store_lane(uint8_t *bytes, lane value) { _mm_storeu_si128((lane *)bytes, value); }
FOLDING static inline lane add(lane one, lane other) { return _mm_xor_si128(one, other); }
FOLDING static inline lane folded(lane value, lane constants) {
    return _mm_xor_si128(
        _mm_clmulepi64_si128(value, constants, 0x00), _mm_clmulepi64_si128(value, constants, 0x11));
}
#elif defined(HAS_FOLDING)
typedef uint64x2_t lane;
#define FOLDING __attribute__((target("aes")))

FOLDING static inline lane load_lane(const uint8_t *bytes) { return vreinterpretq_u64_u8(vld1q_u8(bytes)); }
FOLDING static inline lane make_lane(uint64_t first, uint64_t second) {
    return vcombine_u64(vcreate_u64(first), vcreate_u64(second));
}
FOLDING static inline void store_lane(uint8_t *bytes, lane value) { vst1q_u8(bytes, vreinterpretq_u8_u64(value)); }
FOLDING static inline lane add(lane one, lane other) { return veorq_u64(one, other); }
FOLDING static inline lane product(uint64_t one, uint64_t other) {
    return vreinterpretq_u64_p128(vmull_p64((poly64_t)one, (poly64_t)other));
}
FOLDING static inline lane folded(lane value, lane constants) {
    return veorq_u64(
        product(vgetq_lane_u64(value, 0), vgetq_lane_u64(constants, 0)),
        product(vgetq_lane_u64(value, 1), vgetq_lane_u64(constants, 1)));
}
#endif

#if defined(HAS_FOLDING)
FOLDING static uint64_t by_folding(uint64_t state, const uint8_t *bytes, size_t count) {
    const lane far = make_lane(over_all_lanes.first, over_all_lanes.second);
    const lane near = make_lane(over_one_lane.first, over_one_lane.second);
    lane lanes[LANES];
    for (int index = 0; index < LANES; index++) lanes[index] = load_lane(bytes + 16 * index);
    lanes[0] = add(lanes[0], make_lane(state, 0));
    bytes += 16 * LANES;
    count -= 16 * LANES;
    for (; count >= 16 * LANES; bytes += 16 * LANES, count -= 16 * LANES) {
        for (int index = 0; index < LANES; index++)
            lanes[index] = add(folded(lanes[index], far), load_lane(bytes + 16 * index));
    }
    lane last = lanes[0];
    for (int index = 1; index < LANES; index++) last = add(folded(last, near), lanes[index]);
    for (; count >= 16; bytes += 16, count -= 16) last = add(folded(last, near), load_lane(bytes));
    uint8_t rest[16];
    store_lane(rest, last);
    return by_table(by_table(0, rest, sizeof rest), bytes, count);
}
#endif

uint64_t lfs_crc64_nvme(uint64_t state, const void *bytes, size_t count) {
    pthread_once(&once, prepare);
#if defined(HAS_FOLDING)
    if (is_accelerated && count >= SMALLEST_FOLD) return by_folding(state, bytes, count);
#endif
    return by_table(state, bytes, count);
}

uint64_t lfs_crc64_nvme_portable(uint64_t state, const void *bytes, size_t count) {
    pthread_once(&once, prepare);
    return by_table(state, bytes, count);
}

int lfs_crc64_is_accelerated(void) {
    pthread_once(&once, prepare);
    return is_accelerated;
}
