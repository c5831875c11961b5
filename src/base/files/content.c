/* A file is compared with the rows of content.inc one after another. Formats without a magic number
 * are recognised by their structure: messages of protobuf by the numbers and types of their fields,
 * of which only keys and lengths are read; texts by words within the first bytes. */
#include "base/files/content.h"

#include "base/files/file.h"
#include "base/language.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { HEAD = 4096, TAR_MAGIC = 257, MAX_FIELDS = 4096 };

/* The first bytes of a file, followed by a zero. */
struct head {
    const char *path;
    int file;
    uint64_t size;
    char bytes[HEAD + 1];
    size_t count;
};

/* --- binary files --- */

static bool is_empty(const struct head *head)
{
    return head->count == 0;
}

static bool is_safetensors(const struct head *head)
{
    uint64_t length;
    memcpy(&length, head->bytes, sizeof length);
    return head->count > sizeof length && length <= head->size - sizeof length;
}

/* An event file begins with a record of less than 64 KiB that holds the text "brain.Event:". */
bool content_is_events(const char *bytes, size_t count)
{
    static const char version[] = "brain.Event:";
    const size_t length = sizeof version - 1;
    const size_t end = count < CONTENT_EVENT_HEAD ? count : CONTENT_EVENT_HEAD;
    if (count < 12 + length)
        return false;
    for (size_t i = 2; i < 8; i++)
        if (bytes[i])
            return false;
    for (size_t at = 12; at + length <= end; at++)
        if (memcmp(bytes + at, version, length) == 0)
            return true;
    return false;
}

static bool is_events(const struct head *head)
{
    return content_is_events(head->bytes, head->count);
}

/* Returns whether the name of an archive's first member ends so. */
static bool first_member_ends(const struct head *head, const char *ending)
{
    const size_t length = (unsigned char)head->bytes[26] + 256u * (unsigned char)head->bytes[27];
    const size_t size = strlen(ending);
    return length >= size && 30 + length <= head->count &&
           memcmp(head->bytes + 30 + length - size, ending, size) == 0;
}

static bool has_pickle(const struct head *head)
{
    return first_member_ends(head, "data.pkl");
}

static bool has_arrays(const struct head *head)
{
    return first_member_ends(head, ".npy");
}

static bool has_tar(const struct head *head)
{
    char bytes[TAR_MAGIC + 5];
    gzFile file = gzopen(head->path, "rb");
    const bool read = file && gzread(file, bytes, sizeof bytes) == (int)sizeof bytes;
    if (file)
        gzclose(file);
    return read && memcmp(bytes + TAR_MAGIC, "ustar", 5) == 0;
}

static bool is_bitmap(const struct head *head)
{
    return head->count > 14 && head->bytes[6] == 0 && head->bytes[8] == 0;
}

static bool is_idx(const struct head *head)
{
    return head->count >= 8 && memcmp(head->bytes, "\0\0\x08", 3) == 0 &&
           (head->bytes[3] == 1 || head->bytes[3] == 3);
}

/* --- messages of protobuf --- */

/* Reads a number of 7 bits a byte at *offset, and moves it behind it. */
static bool read_number(int file, uint64_t *offset, uint64_t *number)
{
    uint8_t bytes[10];
    const ssize_t got = pread(file, bytes, sizeof bytes, (off_t)*offset);
    *number = 0;
    for (ssize_t i = 0; i < got; i++) {
        *number |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            *offset += (uint64_t)i + 1;
            return true;
        }
    }
    return false;
}

/* The fields of a message below 32, as bits: texts and messages, and numbers. */
struct schema {
    uint32_t byte_fields, number_fields;
    uint64_t wanted; /* a field of bytes that the message must have */
};

/* Returns whether the fields are those of a message. A file that ends too early still counts, if it
 * got as far as the wanted field. */
static bool fits_schema(const struct head *head, const struct schema *schema)
{
    enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };
    uint64_t offset = 0, key, number;
    bool found = false;
    for (size_t i = 0; offset < head->size && i < MAX_FIELDS; i++) {
        if (!read_number(head->file, &offset, &key) || !read_number(head->file, &offset, &number))
            return found;
        const uint64_t field = key >> 3, wire = key & 7;
        const uint32_t fields = wire == WIRE_BYTES    ? schema->byte_fields
                                : wire == WIRE_NUMBER ? schema->number_fields
                                                      : 0;
        const bool wanted = field == schema->wanted && wire == WIRE_BYTES;
        if (!wanted && (field > 31 || !(fields >> field & 1)))
            return false;
        found |= wanted;
        if (wire == WIRE_BYTES && number > head->size - offset)
            return found;
        offset += wire == WIRE_BYTES ? number : 0;
    }
    return found;
}

static bool is_onnx(const struct head *head)
{
    static const struct schema model = {1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 8 | 1u << 14 |
                                            1u << 20 | 1u << 25 | 1u << 26,
                                        1u << 1 | 1u << 5, 7};
    return fits_schema(head, &model);
}

static bool is_caffemodel(const struct head *head)
{
    static const struct schema net = {1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 8,
                                      1u << 4 | 1u << 5 | 1u << 7, 100};
    static const struct schema old = {1u << 1 | 1u << 3 | 1u << 6 | 1u << 8,
                                      1u << 4 | 1u << 5 | 1u << 7, 2};
    return fits_schema(head, &net) || fits_schema(head, &old);
}

/* --- texts --- */

/* A text has only those control characters that terminals and printers know. */
static bool is_text(const struct head *head)
{
    for (size_t i = 0; i < head->count; i++)
        if ((unsigned char)head->bytes[i] < ' ' &&
            (!head->bytes[i] || !strchr("\a\b\t\n\v\f\r\33", head->bytes[i])))
            return false;
    return head->count > 0;
}

static bool begins_with(const struct head *head, char c)
{
    return is_text(head) && head->bytes[strspn(head->bytes, " \t\r\n")] == c;
}

static bool has_word(const struct head *head, const char *word)
{
    return is_text(head) && strstr(head->bytes, word);
}

static bool is_json(const struct head *head)
{
    return begins_with(head, '{') || begins_with(head, '[');
}

static bool is_session(const struct head *head)
{
    return begins_with(head, '{') && has_word(head, "\"tinca-session\"");
}

static bool is_network(const struct head *head)
{
    return begins_with(head, '{') && has_word(head, "\"layers\"") && has_word(head, "\"input\"");
}

static bool is_solver(const struct head *head)
{
    return has_word(head, "base_lr:") && has_word(head, "lr_policy:") && !has_word(head, "] ");
}

static bool is_prototxt(const struct head *head)
{
    static const char *const words[] = {"layer {", "layer{", "layers {", "layers{"};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= has_word(head, words[i]);
    return found && !has_word(head, "] ");
}

static bool is_svg(const struct head *head)
{
    return has_word(head, "<svg");
}

static bool is_markup(const struct head *head)
{
    return has_word(head, "<?xml") || has_word(head, "<!DOCTYPE") || has_word(head, "<html");
}

/* --- the table --- */

static const struct {
    const char *name;
    size_t offset;
    const char *magic;
    size_t length;
    bool (*probe)(const struct head *head);
} rows[] = {
    {0},
#define CONTENT(id, name, offset, magic, probe) {name, offset, magic, sizeof magic - 1, probe},
#include "base/files/content.inc"
#undef CONTENT
};

enum content content_of(const char *path)
{
    struct head head = {.path = path};
    struct stat status;
    size_t row = 1;
    head.file = file_open_if_regular(path, O_RDONLY | O_CLOEXEC, &status);
    if (head.file < 0)
        return CONTENT_UNKNOWN;
    const ssize_t got = pread(head.file, head.bytes, HEAD, 0);
    head.size = (uint64_t)status.st_size;
    head.count = got > 0 ? (size_t)got : 0;
    for (; row < CONTENTS; row++)
        if (rows[row].offset + rows[row].length <= head.count &&
            memcmp(head.bytes + rows[row].offset, rows[row].magic, rows[row].length) == 0 &&
            (!rows[row].probe || rows[row].probe(&head)))
            break;
    close(head.file);
    return row < CONTENTS ? (enum content)row : CONTENT_UNKNOWN;
}

const char *content_name(enum content content)
{
    return rows[content].name;
}

bool content_explain(const char *path, const enum content *expected, struct error *error)
{
    const enum content content = content_of(path);
    char why[sizeof error->why];
    while (*expected != CONTENT_UNKNOWN && *expected != content)
        expected++;
    if (content == *expected || content == CONTENT_TEXT || !error || error->kind != ERROR_INPUT)
        return false;
    snprintf(why, sizeof why, "%s", error->why);
    snprintf(error->why, sizeof error->why, _("it is %s: %s"), gettext(rows[content].name), why);
    return false;
}
