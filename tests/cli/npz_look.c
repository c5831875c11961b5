/* npz_look FILE [NAME]: lists the arrays of an .npz file, "NAME TYPE SHAPE", or prints the values
 * of one, a line each. Checks what a reader of ZIP archives relies on: that the list of members and
 * each local header agree, that members are stored, and their CRC-32, with zlib. Shares no other
 * code with the program. Exit status 1, with the reason, if something is wrong. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint8_t *file;
static size_t file_size;

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "npz_look: %s\n", why);
    exit(1);
}

/* Returns the bytes of the file from `offset` on, of which there are at least `count`. */
static const uint8_t *at(uint64_t offset, uint64_t count)
{
    if (offset > file_size || count > file_size - offset)
        fail("the archive ends too early");
    return file + offset;
}

static uint64_t number(const uint8_t *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static void print_text(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4) {
        const uint32_t c = (uint32_t)number(data + i, 4);
        if (c >= 0x80)
            printf("\\u%04x", c);
        else if (c)
            putchar((int)c);
    }
    putchar('\n');
}

static void print_values(const char *type, const uint8_t *data, size_t bytes)
{
    const size_t item = strtoul(type + 2, NULL, 10);
    if (type[1] == 'U') {
        print_text(data, bytes);
        return;
    }
    for (size_t i = 0; i + item <= bytes; i += item) {
        float f;
        memcpy(&f, data + i, item == 4 ? 4 : 0);
        if (strcmp(type, "<f4") == 0)
            printf("%.9g\n", (double)f);
        else if (strcmp(type, "<i8") == 0)
            printf("%" PRId64 "\n", (int64_t)number(data + i, 8));
        else if (strcmp(type, "|i1") == 0)
            printf("%d\n", (int8_t)data[i]);
        else
            printf("%#" PRIx64 "\n", number(data + i, (int)item));
    }
}

/* Reads the header of an array, and shows it or its values. */
static void show_array(const char *name, const uint8_t *data, size_t size, const char *wanted)
{
    char text[4096], type[64] = "", shape[256] = "";
    if (size < 10 || memcmp(data, "\x93NUMPY\x01\x00", 8) != 0)
        fail("a member is no array");
    const size_t length = (size_t)number(data + 8, 2);
    if (length + 10 > size || length >= sizeof text || (length + 10) % 64 != 0 ||
        data[9 + length] != '\n')
        fail("the header of an array is wrong");
    memcpy(text, data + 10, length);
    text[length] = '\0';
    if (sscanf(text, "{'descr': '%63[^']', 'fortran_order': False, 'shape': (%255[^)]), }", type,
               shape) != 2 &&
        sscanf(text, "{'descr': '%63[^']', 'fortran_order': False, 'shape': (), }", type) != 1)
        fail("the header of an array cannot be read");
    size_t count = 1;
    for (char *dim = shape; *dim;) {
        count *= strtoul(dim, &dim, 10);
        dim += strspn(dim, ", ");
    }
    const size_t item = strtoul(type + 2, NULL, 10) * (type[1] == 'U' ? 4 : 1);
    if (count * item != size - 10 - length)
        fail("an array has not the bytes that its shape says");
    if (!wanted)
        printf("%s %s (%s)\n", name, type, shape);
    else if (strcmp(name, wanted) == 0)
        print_values(type, data + 10 + length, size - 10 - length);
}

/* Checks a member of the list and its local header. Returns the bytes of its entry. */
static size_t read_member(uint64_t offset, const char *wanted)
{
    char name[400];
    const uint8_t *entry = at(offset, 46);
    if (number(entry, 4) != 0x02014b50)
        fail("the list of members is wrong");
    const uint64_t size = number(entry + 24, 4), length = number(entry + 28, 2);
    const uint64_t place = number(entry + 42, 4), extra = number(entry + 30, 2);
    if (number(entry + 10, 2) != 0 || number(entry + 20, 4) != size)
        fail("a member is not stored");
    if (length >= sizeof name || length < 5)
        fail("a name is wrong");
    memcpy(name, at(offset + 46, length), length);
    name[length] = '\0';
    const uint8_t *local = at(place, 30);
    if (number(local, 4) != 0x04034b50 ||
        memcmp(local + 6, entry + 8, 2 + 2 + 4 + 4 + 4 + 4 + 2) != 0 ||
        memcmp(at(place + 30, length), name, length) != 0)
        fail("a local header is not what the list says");
    const uint64_t begin = place + 30 + length + number(local + 28, 2);
    const uint8_t *data = at(begin, size);
    if (crc32_z(0, data, size) != number(entry + 16, 4))
        fail("a CRC-32 is wrong");
    if (strcmp(name + length - 4, ".npy") != 0)
        fail("a member is not called .npy");
    name[length - 4] = '\0';
    show_array(name, data, size, wanted);
    return 46 + length + extra;
}

int main(int argc, char **argv)
{
    FILE *stream = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!stream || fseek(stream, 0, SEEK_END) != 0)
        fail("the file cannot be opened");
    file_size = (size_t)ftell(stream);
    rewind(stream);
    file = malloc(file_size + 1);
    if (!file || fread(file, 1, file_size, stream) != file_size)
        fail("the file cannot be read");
    fclose(stream);
    if (file_size < 22)
        fail("the archive ends too early");
    const uint8_t *end = at(file_size - 22, 22);
    if (number(end, 4) != 0x06054b50 || number(end + 8, 2) != number(end + 10, 2))
        fail("the end of the archive is wrong");
    uint64_t offset = number(end + 16, 4);
    for (uint64_t i = 0; i < number(end + 8, 2); i++)
        offset += read_member(offset, argc > 2 ? argv[2] : NULL);
    if (offset != file_size - 22 || offset - number(end + 16, 4) != number(end + 12, 4))
        fail("the list of members has another length");
    free(file);
    return 0;
}
