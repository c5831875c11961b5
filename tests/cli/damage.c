/* damage OPERATION FILE ...: makes one kind of damage in a file, for runs_check_test.sh.
 *
 *   flip FILE BYTE BIT         flips a bit; a negative BYTE counts from the end
 *   random FILE SEED           flips one bit somewhere
 *   zero FILE BYTE COUNT       a block of zeros
 *   cut FILE BYTES             shortens it; negative: by so many
 *   replace FILE OLD NEW       the first place of OLD, also in the header of a model
 *   value FILE NAME INDEX HEX  sets a float32 of an array of a model or checkpoint (little-endian)
 *   seal FILE...               gives each file that has a checksum that of what it now holds
 *   old FILE                   takes the checksum away, as earlier versions wrote models
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static unsigned char *bytes;
static size_t size;

static int fail(const char *why)
{
    fprintf(stderr, "damage: %s\n", why);
    exit(2);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open the file");
    free(bytes);
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size + 4096); /* space for the replacement */
    if (!bytes || fread(bytes, 1, size, file) != size)
        fail("cannot read the file");
    fclose(file);
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail("cannot write the file");
}

static size_t find(const char *text, size_t from)
{
    const size_t length = strlen(text);
    for (size_t i = from; i + length <= size; i++)
        if (memcmp(bytes + i, text, length) == 0)
            return i;
    return size;
}

static size_t find_needed(const char *text, size_t from)
{
    const size_t at = find(text, from);
    if (at == size)
        fail("the text does not occur");
    return at;
}

static size_t place(const char *text)
{
    const long long at = strtoll(text, NULL, 10);
    const size_t byte = at < 0 ? size - (size_t)-at : (size_t)at;
    if (byte >= size)
        fail("there is no such byte");
    return byte;
}

static void replace(const char *old, const char *new)
{
    const size_t at = find_needed(old, 0), length = strlen(old), added = strlen(new);
    if (added > length + 4096)
        fail("the new text is too long");
    memmove(bytes + at + added, bytes + at + length, size - at - length);
    memcpy(bytes + at, new, added);
    size = size + added - length;
}

/* Removes text from a model's header, whose length must not change: spaces are added at its end. */
static size_t header_length(void)
{
    uint64_t length;
    memcpy(&length, bytes, 8);
    return (size_t)length;
}

static void set_value(const char *name, const char *index, const char *hex)
{
    char key[200];
    uint64_t begin;
    const uint32_t value = (uint32_t)strtoul(hex, NULL, 16);
    snprintf(key, sizeof key, "\"%s\":{", name);
    const size_t at =
        find_needed("\"data_offsets\":[", find_needed(key, 8)) + strlen("\"data_offsets\":[");
    begin = strtoull((const char *)bytes + at, NULL, 10);
    const size_t where = 8 + header_length() + begin + 4 * strtoull(index, NULL, 10);
    if (where + 4 > size)
        fail("there is no such value");
    memcpy(bytes + where, &value, 4);
}

/* A model's checksum covers the bytes after the length of its header. */
static void seal(const char *path)
{
    char digits[9];
    read_file(path);
    const size_t from = size > 0 && bytes[0] == '{' ? 0 : 8;
    const char *key = from == 0 ? "\"crc32\":\t\"" : "\"tinca.crc32\":\"";
    const size_t at = find(key, from) + strlen(key);
    if (at + 8 > size)
        return;
    memcpy(bytes + at, "00000000", 8);
    snprintf(digits, sizeof digits, "%08lx", crc32_z(0, bytes + from, size - from));
    memcpy(bytes + at, digits, 8);
    write_file(path);
}

/* The length of the header does not change. */
static void forget_seal(void)
{
    replace("\"tinca.crc32\":\"", "\"other.crc32\":\"");
}

static void flip_random(const char *seed)
{
    uint64_t state = strtoull(seed, NULL, 10) + 0x9e3779b97f4a7c15u; /* splitmix64 */
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    state = (state ^ state >> 27) * 0x94d049bb133111ebu;
    state ^= state >> 31;
    if (size == 0)
        fail("the file is empty");
    bytes[state / 8 % size] ^= (unsigned char)(1 << state % 8);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int arguments;
    } operations[] = {{"flip", 5},    {"random", 4}, {"zero", 5}, {"cut", 4},
                      {"replace", 5}, {"value", 6},  {"seal", 3}, {"old", 3}};
    enum { SEAL = 6 };
    size_t o = 0;
    while (o < 8 && argc > 1 && strcmp(operations[o].name, argv[1]) != 0)
        o++;
    if (o == 8 || argc < 3 || (argc != operations[o].arguments && o != SEAL))
        fail("usage: damage OPERATION FILE ...");
    for (int i = 2; o == SEAL && i < argc; i++)
        seal(argv[i]);
    if (o == SEAL)
        return 0;
    read_file(argv[2]);
    switch (o) {
    case 0:
        bytes[place(argv[3])] ^= (unsigned char)(1 << atoi(argv[4]));
        break;
    case 1:
        flip_random(argv[3]);
        break;
    case 2:
        if (place(argv[3]) + strtoull(argv[4], NULL, 10) > size)
            fail("there is no such block");
        memset(bytes + place(argv[3]), 0, strtoull(argv[4], NULL, 10));
        break;
    case 3:
        size = place(argv[3]);
        break;
    case 4:
        replace(argv[3], argv[4]);
        break;
    case 5:
        set_value(argv[3], argv[4], argv[5]);
        break;
    default:
        forget_seal();
    }
    write_file(argv[2]);
    free(bytes);
    return 0;
}
