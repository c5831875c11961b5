/* Runs a grid of blocks on one processor.
 *
 * Every thread of a block is a fiber with its stack, which is allocated when the fiber starts and
 * freed when it ends, so that a kernel without barriers uses a single stack over and over. A fiber
 * runs until it waits: at the block's barrier, or for its warp. When no fiber can run any more,
 * those whose wait is over are released: a warp when all of its 32 lanes wait, the block when all
 * threads wait. If that releases none, a GPU would hang, and the program ends here.
 *
 * A shuffle stores its value in one of two rows of its warp, in turn: a lane that is one shuffle
 * ahead does not overwrite values that others still read, and it cannot be two ahead. The same
 * holds for the words that lanes exchange for tensor cores (mma.cpp).
 */
#include "cuda_runtime.h"

#include <cstdio>
#include <vector>

#if !defined __x86_64__
#include <ucontext.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum fiber_state : uint8_t { FIBER_NEW, FIBER_READY, FIBER_AT_BARRIER, FIBER_AT_WARP, FIBER_DONE };

struct fiber {
    unsigned number; /* in its block */
    uint3 index;
    char *stack;
    unsigned shuffles; /* the number of the shuffle or exchange it has joined */
    std::vector<emulator_copy> copies;
    std::vector<emulator_product> products;
    bool unfenced; /* its stores to shared memory (emulated_wgmma.h) */
#if defined __x86_64__
    void *top;
#else
    ucontext_t place;
#endif
};

/* The stacks of a block are next to each other. A power of two would put the same place of all of
 * them into the same few lines of a cache. */
enum { WARP = 32, MAX_THREADS = 1024, STACK_BYTES = (64 << 10) + 17 * 64 };
static const unsigned ALL_LANES = 0xffffffffu;

static struct emulated_block {
    ~emulated_block()
    {
        for (char *stack : stacks)
            free(stack);
    }
    std::vector<fiber> fibers;
    fiber_state states[MAX_THREADS]; /* apart from the fibers: all are looked at after each wait */
    std::vector<char *> stacks;      /* unused stacks */
    std::vector<unsigned> order;
    size_t next; /* the place in `order` of what may run next */
    fiber scheduler, *now;
    const std::function<void()> *kernel;
    float rows[MAX_THREADS / WARP][2][WARP];
    emulator_words words[MAX_THREADS / WARP][2][WARP];
    uint64_t seed, draws;
    size_t kernels;
} block;

[[noreturn]] static void give_up(const char *why)
{
    fprintf(stderr, "emulator: block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x,
            blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, why);
    abort();
}

/* --- changing fibers --- */

static void thread_main(void)
{
    (*block.kernel)();
    block.states[block.now->number] = FIBER_DONE;
}

#if defined __x86_64__
/* Saves the registers that a callee must save, changes the stack, and continues the other fiber. */
extern "C" void emulator_switch(void **from_top, void *to_top);
asm(".text\n.globl emulator_switch\n.type emulator_switch, @function\nemulator_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emulator_switch, .-emulator_switch\n");

static void change(fiber *from, fiber *to)
{
    emulator_switch(&from->top, to->top);
}

static void fiber_main(void)
{
    thread_main();
    change(block.now, &block.scheduler);
    give_up("a thread that had ended was woken");
}

static void prepare(fiber *f)
{
    void **top = (void **)(f->stack + STACK_BYTES);
    *--top = nullptr; /* no return address; and the alignment of a called function */
    *--top = (void *)fiber_main;
    for (int saved = 0; saved < 6; saved++)
        *--top = nullptr;
    f->top = top;
}
#else
static void change(fiber *from, fiber *to)
{
    swapcontext(&from->place, &to->place);
}

static void fiber_main(void)
{
    thread_main();
    change(block.now, &block.scheduler);
}

static void prepare(fiber *f)
{
    getcontext(&f->place);
    f->place.uc_stack.ss_sp = f->stack;
    f->place.uc_stack.ss_size = STACK_BYTES;
    f->place.uc_link = nullptr;
    makecontext(&f->place, fiber_main, 0);
}
#endif

static void begin(fiber *f)
{
    if (block.stacks.empty())
        block.stacks.push_back((char *)aligned_alloc(64, STACK_BYTES));
    f->stack = block.stacks.back();
    block.stacks.pop_back();
    if (!f->stack)
        give_up("no memory for a thread");
    prepare(f);
}

/* Returns the next fiber that can run, as the one that runs now; the scheduler if there is none. */
static fiber *take_next(void)
{
    while (block.next < block.order.size()) {
        const unsigned number = block.order[block.next++];
        fiber_state *state = &block.states[number];
        if (*state > FIBER_READY)
            continue;
        fiber *f = &block.fibers[number];
        if (*state == FIBER_NEW)
            begin(f);
        *state = FIBER_READY;
        block.now = f;
        threadIdx = f->index;
        return f;
    }
    return &block.scheduler;
}

/* Runs all fibers that can run until each of them waits or has ended. A fiber that ends comes back
 * here, since another may get its stack. */
static void run_ready(void)
{
    block.next = 0;
    for (fiber *f; (f = take_next()) != &block.scheduler;) {
        change(&block.scheduler, f);
        if (block.states[block.now->number] == FIBER_DONE)
            block.stacks.push_back(block.now->stack);
    }
}

/* Lets the next fiber run. */
static void wait_as(fiber_state state)
{
    fiber *f = block.now;
    block.states[f->number] = state;
    change(f, take_next());
}

/* --- order --- */

static uint64_t draw(void)
{
    uint64_t x = block.seed + ++block.draws * 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void set_order(std::vector<unsigned> &order, size_t count)
{
    order.resize(count);
    for (size_t i = 0; i < count; i++)
        order[i] = (unsigned)i;
    for (size_t i = count; block.seed && i > 1; i--)
        std::swap(order[i - 1], order[(draw() >> 32) * i >> 32]);
}

extern "C" void emulator_set_order(uint64_t seed)
{
    block.seed = seed;
    block.draws = 0;
}

/* --- waiting --- */

static bool all_are(size_t first, size_t count, fiber_state state)
{
    const fiber_state *states = block.states + first;
    return states[0] == state && memcmp(states, states + 1, count - 1) == 0;
}

/* Returns whether these threads all wait so, and lets them run if they do. */
static bool release(size_t first, size_t count, fiber_state waiting)
{
    const bool all = all_are(first, count, waiting);
    if (all)
        memset(block.states + first, FIBER_READY, count);
    return all;
}

/* Returns false when all fibers have ended. */
static bool free_waiting(void)
{
    const size_t threads = block.fibers.size();
    bool freed = false;
    if (all_are(0, threads, FIBER_DONE))
        return false;
    for (size_t warp = 0; warp < threads / WARP; warp++)
        freed |= release(warp * WARP, WARP, FIBER_AT_WARP);
    if (!freed && !release(0, threads, FIBER_AT_BARRIER))
        give_up("threads wait for others that never arrive");
    return true;
}

float __fsub_rn(float a, float b)
{
    return a - b;
}

float __fdiv_rn(float a, float b)
{
    return a / b;
}

void __syncthreads(void)
{
    if (block.now->unfenced)
        give_up("stores for an asynchronous reader were not fenced before a barrier");
    wait_as(FIBER_AT_BARRIER);
}

static void wait_for_warp(unsigned mask)
{
    if (mask != ALL_LANES || block.fibers.size() % WARP)
        give_up("the emulator knows only whole warps");
    wait_as(FIBER_AT_WARP);
}

void __syncwarp(unsigned mask)
{
    wait_for_warp(mask);
}

static float exchange(unsigned mask, float value, unsigned from, int width)
{
    const size_t number = block.now->number;
    float *row = block.rows[number / WARP][block.now->shuffles++ % 2];
    if (width != WARP)
        give_up("the emulator knows only shuffles over whole warps");
    row[number % WARP] = value;
    wait_for_warp(mask);
    return from < WARP ? row[from] : value;
}

unsigned emulator_lane(void)
{
    return block.now->number % WARP;
}

unsigned emulator_thread(void)
{
    return block.now->number;
}

bool emulator_is_late(void)
{
    return block.seed != 0;
}

void emulator_mark_unfenced(bool unfenced)
{
    block.now->unfenced = unfenced;
}

std::vector<emulator_product> &emulator_products(void)
{
    return block.now->products;
}

const emulator_words *emulator_exchange(const uint64_t mine[EMULATOR_WORDS])
{
    const size_t number = block.now->number;
    emulator_words *row = block.words[number / WARP][block.now->shuffles++ % 2];
    memcpy(row[number % WARP], mine, sizeof *row);
    wait_for_warp(ALL_LANES);
    return row;
}

std::vector<emulator_copy> &emulator_copies(void)
{
    return block.now->copies;
}

float __shfl_xor_sync(unsigned mask, float value, int lanes, int width)
{
    return exchange(mask, value, emulator_lane() ^ (unsigned)lanes, width);
}

float __shfl_down_sync(unsigned mask, float value, unsigned lanes, int width)
{
    return exchange(mask, value, emulator_lane() + lanes, width);
}

float __shfl_sync(unsigned mask, float value, int lane, int width)
{
    return exchange(mask, value, (unsigned)lane % WARP, width);
}

/* --- blocks --- */

static void run_block(const std::function<void()> &kernel, size_t shared_bytes)
{
    const size_t threads = (size_t)blockDim.x * blockDim.y * blockDim.z;
    block.kernel = &kernel;
    block.fibers.resize(threads);
    if (shared_bytes > 0)
        emulator_begin_shared(shared_bytes);
    for (unsigned i = 0; i < threads; i++) {
        block.states[i] = FIBER_NEW;
        block.fibers[i].number = i;
        block.fibers[i].shuffles = 0;
        block.fibers[i].copies.clear();
        block.fibers[i].products.clear();
        block.fibers[i].unfenced = false;
        block.fibers[i].index = {i % blockDim.x, i / blockDim.x % blockDim.y,
                                 i / blockDim.x / blockDim.y};
    }
    block.order.clear();
    do {
        if (block.seed || block.order.empty())
            set_order(block.order, threads);
        run_ready();
    } while (free_waiting());
}

static void run_grid(dim3 grid, dim3 threads, const std::function<void()> &kernel,
                     size_t shared_bytes)
{
    std::vector<unsigned> order;
    set_order(order, (size_t)grid.x * grid.y * grid.z);
    gridDim = grid;
    blockDim = threads;
    for (unsigned i : order) {
        blockIdx = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
        run_block(kernel, shared_bytes);
    }
    block.kernels++;
}

cudaError_t emulator_launch(dim3 grid, dim3 threads, const std::function<void()> &kernel,
                            size_t shared_bytes, cudaStream_t stream)
{
    const size_t count = (size_t)threads.x * threads.y * threads.z;
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535 ||
        !count || count > MAX_THREADS || threads.z > 64 || shared_bytes > 227 << 10)
        return cudaErrorInvalidConfiguration;
    emulator_guard guard(emulator_lock);
    const cudaError_t refused = emulator_refuse_launch();
    if (refused != cudaSuccess)
        return refused;
    return emulator_submit(stream, [=] { run_grid(grid, threads, kernel, shared_bytes); });
}

extern "C" size_t emulator_kernels_run(void)
{
    return block.kernels;
}
