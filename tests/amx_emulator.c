/* Emulates AMX in a signal handler (amx_emulator.h). The encodings and the meaning of instructions
 * are those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. All are
 * VEX-encoded with the opcode map 0F 38, in the three-byte form:
 *
 *   C4  R X B 00010   W vvvv L pp   opcode   ModRM   [SIB]   [displacement]
 *
 * R, X, B and vvvv are inverted. The prefix pp tells apart instructions with the same opcode. */
#include "config.h"

#include "amx_emulator.h"

#include "base/host/host.h"

#if defined(HAVE_AMX_KERNELS) && defined(__linux__)

#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };
enum { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2 }; /* pp */
enum { OPCODE_CONFIGURE = 0x49, OPCODE_MOVE = 0x4B };
enum { OPCODE_MULTIPLY_BF16 = 0x5C, OPCODE_MULTIPLY_INT8 = 0x5E };

struct tile {
    unsigned rows, bytes; /* bytes of a row; 0: not configured */
    unsigned char values[ROWS][ROW_BYTES];
};

static _Thread_local struct tile tiles[TILES];
static _Thread_local unsigned long products;

/* A decoded instruction. */
struct instruction {
    unsigned prefix, opcode;
    unsigned mod, reg, rm, vvvv;
    uintptr_t address; /* of the memory operand: the first row */
    size_t stride;     /* from row to row */
    size_t length;
};

static void require(bool condition, const char *what)
{
    static const char before[] = "amx_emulator: the instruction would fault: ";
    if (condition)
        return;
    if (write(STDERR_FILENO, before, sizeof before - 1) < 0 ||
        write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(99);
    _exit(99);
}

/* --- decoding --- */

/* Returns a general register by its number in an instruction. */
static uintptr_t register_of(const ucontext_t *context, unsigned number)
{
    static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t)context->uc_mcontext.gregs[order[number]];
}

/* Sets the address, the stride and the length of an instruction with a memory operand, whose bytes
 * from ModRM on are at `at`. Returns false for an address relative to the instruction. */
static bool decode_memory(const ucontext_t *context, const unsigned char *at, unsigned x,
                          unsigned b, struct instruction *i)
{
    const bool has_sib = i->rm == 4;
    const unsigned char sib = has_sib ? at[1] : 0;
    const unsigned base = (has_sib ? sib & 7u : i->rm) | b << 3;
    const unsigned index = (sib >> 3 & 7u) | x << 3;
    size_t length = has_sib ? 2 : 1;
    int64_t displacement = 0;
    const bool has_base = !(i->mod == 0 && (base & 7) == 5);
    if (i->mod == 0 && !has_sib && i->rm == 5)
        return false;
    if (i->mod == 1)
        displacement = (int8_t)at[length];
    if (i->mod == 2 || !has_base) {
        int32_t wide;
        memcpy(&wide, at + length, sizeof wide);
        displacement = wide;
    }
    length += i->mod == 1 ? 1 : i->mod == 2 || !has_base ? 4 : 0;
    i->stride = has_sib && index != 4 ? register_of(context, index) << (sib >> 6) : 0;
    i->address = (has_base ? register_of(context, base) : 0) + (uintptr_t)displacement;
    i->length += length;
    return true;
}

/* Decodes the instruction at which the thread has stopped. Returns false for one that is not VEX
 * with the opcode map 0F 38. */
static bool decode(const ucontext_t *context, struct instruction *i)
{
    const unsigned char *at = (const unsigned char *)context->uc_mcontext.gregs[REG_RIP];
    if (at[0] != 0xC4 || (at[1] & 0x1F) != 2)
        return false;
    const unsigned x = !(at[1] & 0x40), b = !(at[1] & 0x20);
    *i = (struct instruction){.prefix = at[2] & 3u,
                              .opcode = at[3],
                              .mod = at[4] >> 6,
                              .reg = at[4] >> 3 & 7u,
                              .rm = at[4] & 7u,
                              .vvvv = ~(unsigned)at[2] >> 3 & 15u,
                              .length = 4};
    if (i->mod == 3) {
        i->length++;
        return true;
    }
    return decode_memory(context, at + 4, x, b, i);
}

/* --- execution --- */

/* The memory that LDTILECFG reads. */
struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void configure(const struct instruction *i)
{
    struct configuration c;
    memcpy(&c, (const void *)i->address, sizeof c);
    require(c.palette == 1 && c.start_row == 0, "a palette other than 1, or a first row");
    for (unsigned t = 0; t < TILES; t++) {
        require(c.rows[t] <= ROWS && c.row_bytes[t] <= ROW_BYTES, "a tile that is too large");
        require((c.rows[t] == 0) == (c.row_bytes[t] == 0), "rows without bytes, or bytes alone");
        memset(&tiles[t], 0, sizeof tiles[t]);
        tiles[t].rows = c.rows[t];
        tiles[t].bytes = c.row_bytes[t];
    }
}

static struct tile *tile_of(unsigned number)
{
    require(number < TILES && tiles[number].rows > 0, "a tile that is not configured");
    return &tiles[number];
}

static void load(const struct instruction *i)
{
    struct tile *tile = tile_of(i->reg);
    memset(tile->values, 0, sizeof tile->values);
    for (unsigned r = 0; r < tile->rows; r++)
        memcpy(tile->values[r], (const void *)(i->address + r * i->stride), tile->bytes);
}

static void store(const struct instruction *i)
{
    const struct tile *tile = tile_of(i->reg);
    for (unsigned r = 0; r < tile->rows; r++)
        memcpy((void *)(i->address + r * i->stride), tile->values[r], tile->bytes);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Checks the operands of a product. */
static void require_sizes(const struct tile *sums, const struct tile *a, const struct tile *b)
{
    require(a != sums && b != sums && a != b, "a tile that is used twice");
    require(sums->rows == a->rows && sums->bytes == b->bytes && a->bytes == 4 * b->rows,
            "tiles whose sizes do not fit together");
}

/* Adds the products of pairs of bf16. The tests have no numbers below the normal ones, which the
 * instruction takes for 0. */
static void multiply_bf16(const struct instruction *i)
{
    struct tile *sums = tile_of(i->reg);
    const struct tile *a = tile_of(i->rm), *b = tile_of(i->vvvv);
    require_sizes(sums, a, b);
    for (unsigned m = 0; m < sums->rows; m++) {
        float even[ROW_BYTES / 4] = {0}, odd[ROW_BYTES / 4] = {0}, total[ROW_BYTES / 4];
        for (unsigned k = 0; k < b->rows; k++) {
            uint32_t pair, other[ROW_BYTES / 4];
            memcpy(&pair, a->values[m] + 4 * k, sizeof pair);
            memcpy(other, b->values[k], sizeof other);
            for (unsigned n = 0; n < ROW_BYTES / 4; n++) {
                even[n] += float_of(pair << 16) * float_of(other[n] << 16);
                odd[n] += float_of(pair & 0xFFFF0000) * float_of(other[n] & 0xFFFF0000);
            }
        }
        memcpy(total, sums->values[m], sizeof total);
        for (unsigned n = 0; n < ROW_BYTES / 4; n++)
            total[n] += even[n] + odd[n];
        memcpy(sums->values[m], total, sums->bytes);
    }
    products++;
}

/* Adds the products of quads of bytes, without and with a sign; sums wrap around. */
static void multiply_int8(const struct instruction *i)
{
    struct tile *sums = tile_of(i->reg);
    const struct tile *a = tile_of(i->rm), *b = tile_of(i->vvvv);
    require_sizes(sums, a, b);
    for (unsigned m = 0; m < sums->rows; m++) {
        uint32_t total[ROW_BYTES / 4];
        memcpy(total, sums->values[m], sizeof total);
        for (unsigned k = 0; k < a->bytes; k++)
            for (unsigned n = 0; n < ROW_BYTES / 4; n++)
                total[n] += (uint32_t)(a->values[m][k] * (int8_t)b->values[k / 4][4 * n + k % 4]);
        memcpy(sums->values[m], total, sums->bytes);
    }
    products++;
}

/* Executes an instruction; returns false if it is none that it knows. */
static bool execute(const struct instruction *i)
{
    const bool memory = i->mod != 3;
    if (i->opcode == OPCODE_CONFIGURE && i->prefix == NO_PREFIX && memory)
        configure(i);
    else if (i->opcode == OPCODE_CONFIGURE && i->prefix == NO_PREFIX)
        memset(tiles, 0, sizeof tiles); /* TILERELEASE */
    else if (i->opcode == OPCODE_CONFIGURE && i->prefix == PREFIX_F2 && !memory)
        memset(tile_of(i->reg)->values, 0, sizeof tiles->values);
    else if (i->opcode == OPCODE_MOVE && i->prefix == PREFIX_F2 && memory)
        load(i);
    else if (i->opcode == OPCODE_MOVE && i->prefix == PREFIX_F3 && memory)
        store(i);
    else if (i->opcode == OPCODE_MULTIPLY_BF16 && i->prefix == PREFIX_F3 && !memory)
        multiply_bf16(i);
    else if (i->opcode == OPCODE_MULTIPLY_INT8 && i->prefix == PREFIX_66 && !memory)
        multiply_int8(i); /* TDPBUSD */
    else
        return false;
    return true;
}

static void handle(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    struct instruction instruction;
    (void)info;
    bool known = false;
    /* the instructions that follow as well: a signal takes longer than most of them */
    while (decode(context, &instruction) && execute(&instruction)) {
        context->uc_mcontext.gregs[REG_RIP] += (greg_t)instruction.length;
        known = true;
    }
    if (!known)
        signal(number, SIG_DFL); /* the instruction is executed again, and ends the program */
}

bool amx_emulator_start(void)
{
    return host_has_bf16() && amx_emulator_install();
}

/* Returns whether the processor has the tiles itself, whatever TINCA_CPU asks for, and asks the
 * kernel for permission to use them (base/host/amx.c). Without permission only some of the
 * instructions raise SIGILL there, so that they cannot be emulated. */
static bool processor_has_tiles(void)
{
    enum { REQUEST_STATE_PERMISSION = 0x1023, STATE_OF_TILES = 18 };
    const unsigned needed =
        1u << 22 /* AMX-BF16 */ | 1u << 24 /* AMX-TILE */ | 1u << 25; /* AMX-INT8 */
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & needed) == needed &&
           syscall(SYS_arch_prctl, REQUEST_STATE_PERMISSION, STATE_OF_TILES) == 0;
}

bool amx_emulator_install(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    return processor_has_tiles() || sigaction(SIGILL, &action, NULL) == 0;
}

#else

bool amx_emulator_start(void)
{
    return false;
}

bool amx_emulator_install(void)
{
    return false;
}

static unsigned long products;

#endif

unsigned long amx_emulator_products(void)
{
    return products;
}
