/* Computes products of warpgroups and copies of the TMA (emulated_wgmma.h).
 *
 * Shared addresses are offsets in a window, in which the dynamic memory does not begin at a
 * multiple of 1024, as it need not on a GPU. The 128-byte swizzle exchanges chunks of 16 bytes:
 * bits 4 to 6 of an address are combined with bits 7 to 9 by an exclusive or. */
#include "emulated_mma.h"
#include "emulated_wgmma.h"

#include <atomic>
#include <cstdio>
#include <map>

enum { WINDOW_BYTES = 256 << 10, DYNAMIC_AT = 1024 + 48, CHUNK = 16 };
alignas(1024) static unsigned char window[WINDOW_BYTES];

[[noreturn]] static void give_up(const char *why)
{
    fprintf(stderr, "emulator: %s\n", why);
    abort();
}

static void must(bool holds, const char *why)
{
    if (!holds)
        give_up(why);
}

/* --- shared memory --- */

char *dynamic_shared(void)
{
    return (char *)window + DYNAMIC_AT;
}

uint32_t shared_address(const void *shared)
{
    const unsigned char *at = (const unsigned char *)shared;
    must(at >= window && at < window + WINDOW_BYTES, "an address is not in dynamic shared memory");
    return (uint32_t)(at - window);
}

/* Returns what the swizzled address refers to. */
static unsigned char *swizzled(uint32_t address)
{
    must(address < WINDOW_BYTES, "an operand lies outside of shared memory");
    return window + (address ^ (address >> 7 & 7) << 4);
}

void shared_store_16(void *to, uint4 words)
{
    must(shared_address(to) % CHUNK == 0, "a store of 16 bytes is not aligned");
    memcpy(to, &words, sizeof words);
    emulator_mark_unfenced(true);
}

void fence_async(void)
{
    emulator_mark_unfenced(false);
}

/* --- barriers and copies --- */

struct tensor {
    unsigned char *from;
    uint64_t width, height, stride; /* bytes, rows, bytes */
    uint32_t box_bytes, box_rows, element;
};
static_assert(sizeof(struct tensor) <= sizeof(CUtensorMap), "the tensor fits the map");

struct box_copy {
    uint32_t to;
    struct tensor tensor;
    int64_t x, y;
};

struct mbarrier {
    unsigned phases; /* complete ones */
    bool arrived;    /* in this phase; there is one arrival */
    int64_t bytes;   /* expected and not yet copied */
    std::vector<struct box_copy> copies;
};
static std::map<const uint64_t *, struct mbarrier> barriers;

void emulator_begin_shared(size_t dynamic_bytes)
{
    barriers.clear();
    must(DYNAMIC_AT + dynamic_bytes <= WINDOW_BYTES, "too much shared memory");
    memset(window, 0xff, DYNAMIC_AT + dynamic_bytes); /* NaN */
}

static struct mbarrier &find(const uint64_t *barrier)
{
    const auto found = barriers.find(barrier);
    must(found != barriers.end(), "a barrier in shared memory was not initialised");
    return found->second;
}

static void check_phase(struct mbarrier &barrier)
{
    if (!barrier.arrived || barrier.bytes != 0)
        return;
    barrier.phases++;
    barrier.arrived = false;
}

void mbarrier_init(uint64_t *barrier)
{
    barriers[barrier] = {};
}

void mbarrier_publish(void)
{
}

void mbarrier_expect(uint64_t *barrier, uint32_t bytes)
{
    struct mbarrier &b = find(barrier);
    must(!b.arrived, "a second arrival at a barrier for one");
    b.arrived = true;
    b.bytes += bytes;
    check_phase(b);
}

static void copy_box(const struct box_copy &copy)
{
    const struct tensor &t = copy.tensor;
    for (uint32_t row = 0; row < t.box_rows; row++)
        for (uint32_t byte = 0; byte < t.box_bytes; byte += t.element) {
            const int64_t x = copy.x * t.element + byte, y = copy.y + row;
            unsigned char *to = swizzled(copy.to + row * t.box_bytes + byte);
            if (x >= 0 && y >= 0 && x < (int64_t)t.width && y < (int64_t)t.height)
                memcpy(to, t.from + y * (int64_t)t.stride + x, t.element);
            else
                memset(to, 0, t.element);
        }
}

static void do_copies(struct mbarrier &b)
{
    for (const struct box_copy &copy : b.copies) {
        copy_box(copy);
        b.bytes -= copy.tensor.box_bytes * copy.tensor.box_rows;
    }
    b.copies.clear();
    check_phase(b);
}

void tma_load_2d(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    struct mbarrier &b = find(barrier);
    struct box_copy copy = {shared_address(to), {}, x, y};
    memcpy(&copy.tensor, map, sizeof copy.tensor);
    must(copy.to % 1024 == 0, "a swizzled box begins within the pattern");
    b.copies.push_back(copy);
    if (!emulator_is_late())
        do_copies(b);
}

void mbarrier_wait(uint64_t *barrier, uint32_t parity)
{
    struct mbarrier &b = find(barrier);
    if (b.phases % 2 == parity)
        do_copies(b);
    must(b.phases % 2 != parity, "a thread waits for a copy that nobody has begun");
}

static bool refuse_maps;
static std::atomic<size_t> maps;

extern "C" void emulator_refuse_tensor_maps(bool refuse)
{
    refuse_maps = refuse;
}

extern "C" size_t emulator_tensor_maps(void)
{
    return maps;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
{
    const uint32_t element = 1u << type;
    maps++;
    const struct tensor tensor = {(unsigned char *)address,
                                  sizes[0] * element,
                                  sizes[1],
                                  strides[0],
                                  box[0] * element,
                                  box[1],
                                  element};
    if (refuse_maps || rank != 2 || (uintptr_t)address % 16 || (uintptr_t)map % 64 ||
        strides[0] % 16 || strides[0] < tensor.width || strides[0] >> 40 ||
        sizes[0] - 1 > 0xffffffffu || sizes[1] - 1 > 0xffffffffu || box[0] - 1 > 255 ||
        box[1] - 1 > 255 || swizzle != CU_TENSOR_MAP_SWIZZLE_128B || tensor.box_bytes > 128 ||
        tensor.box_bytes % 16 || steps[0] != 1 || steps[1] != 1)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, &tensor, sizeof tensor);
    return CUDA_SUCCESS;
}

/* --- products --- */

enum { ROWS = 64, COLUMNS = 128, SUMS = ROWS * COLUMNS / 128, LINE_TERMS = 16 };

/* The kinds of products, in 32 bytes of a line: loads the terms of 16 bytes. */
typedef void load_chunk(const unsigned char *at, float *terms);

static void load_tf32(const unsigned char *at, float *terms)
{
    uint32_t words[CHUNK / 4];
    memcpy(words, at, CHUNK);
    for (int i = 0; i < CHUNK / 4; i++)
        terms[i] = emulator_tf32_value(words[i]);
}

template <float value_of(uint32_t half)>
static void load_halves(const unsigned char *at, float *terms)
{
    uint16_t halves[CHUNK / 2];
    memcpy(halves, at, CHUNK);
    for (int i = 0; i < CHUNK / 2; i++)
        terms[i] = value_of(halves[i]);
}

static const struct product_kind {
    uint32_t terms;
    load_chunk *load;
} kinds[] = {
    {8, load_tf32}, {16, load_halves<emulator_bf16_value>}, {16, load_halves<emulator_fp16_value>}};

static uint32_t field(uint64_t descriptor, int bit)
{
    return (uint32_t)(descriptor >> bit & 0x3fff) << 4;
}

/* Checks what the emulator relies on: the layout, and nothing in unused bits. */
static void check_descriptor(uint64_t descriptor)
{
    must(descriptor >> 62 == 1, "a descriptor without the 128-byte swizzle");
    must((descriptor >> 49 & 7) == 0, "a descriptor with a base offset");
    must((descriptor & 0x3ff1c000c000c000u) == 0, "a descriptor with bits that mean nothing");
}

/* Loads the terms of a line of an operand that is K-major: eight lines lie 128 bytes apart, eight
 * such groups the stride of the descriptor. */
static void load_line(const struct product_kind *kind, uint64_t descriptor, uint32_t line,
                      float terms[LINE_TERMS])
{
    const uint32_t at = field(descriptor, 0) + line / 8 * field(descriptor, 32) + line % 8 * 128;
    for (uint32_t chunk = 0; chunk < 2; chunk++)
        kind->load(swizzled(at + chunk * CHUNK), terms + chunk * kind->terms / 2);
}

/* Adds to the sums of this thread: rows g and g + 8 of its warp's 16, columns 2 t and 2 t + 1 of
 * each eight ("Matrix Fragments for wgmma.mma_async"). */
static void multiply_now(const struct emulator_product &p)
{
    const struct product_kind *kind = &kinds[p.kind];
    const uint32_t lane = emulator_lane(), warp = emulator_thread() / 32 % 4;
    float left[2][LINE_TERMS], right[LINE_TERMS];
    for (uint32_t half = 0; half < 2; half++)
        load_line(kind, p.a, warp * 16 + half * 8 + lane / 4, left[half]);
    for (uint32_t eight = 0; eight < COLUMNS / 8; eight++)
        for (uint32_t i = 0; i < 2; i++) {
            load_line(kind, p.b, eight * 8 + lane % 4 * 2 + i, right);
            for (uint32_t half = 0; half < 2; half++)
                for (uint32_t k = 0; k < kind->terms; k++)
                    p.d[eight * 4 + half * 2 + i] += left[half][k] * right[k];
        }
}

static void begin_product(int kind, float *d, uint64_t a, uint64_t b)
{
    const uint64_t mine[EMULATOR_WORDS] = {a, b};
    const emulator_words *all = emulator_exchange(mine);
    for (unsigned lane = 0; lane < 32; lane++)
        must(all[lane][0] == a && all[lane][1] == b, "lanes pass different descriptors");
    check_descriptor(a);
    check_descriptor(b);
    const struct emulator_product product = {kind, d, a, b};
    if (emulator_is_late())
        emulator_products().push_back(product);
    else
        multiply_now(product);
}

void wgmma_fence(void)
{
    __syncwarp();
}

/* The end of a group is an entry without sums. */
void wgmma_commit(void)
{
    emulator_products().push_back({0, nullptr, 0, 0});
}

void emulator_wait_products(size_t left)
{
    std::vector<emulator_product> &products = emulator_products();
    size_t groups = 0, done = 0;
    for (const emulator_product &product : products)
        groups += !product.d;
    for (; groups > left; done++)
        if (!products[done].d)
            groups--;
        else
            multiply_now(products[done]);
    products.erase(products.begin(), products.begin() + (std::ptrdiff_t)done);
}

void wgmma_tf32(float *d, uint64_t a, uint64_t b)
{
    begin_product(0, d, a, b);
}

void wgmma_bf16(float *d, uint64_t a, uint64_t b)
{
    begin_product(1, d, a, b);
}

void wgmma_fp16(float *d, uint64_t a, uint64_t b)
{
    begin_product(2, d, a, b);
}
