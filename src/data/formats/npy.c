/* The dictionary is not parsed as Python: each key is looked for with its quotation marks, and the
 * text after its colon is read as a type, a word or a list of sizes. Anything else is refused. */
#include "data/formats/npy.h"

#include "base/language.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 6, WRITTEN = 256 };

static bool refuse(const char *path, const char *why, const char *advice, struct error *error)
{
    return error_set(error, ERROR_INPUT, path, advice, "%s", language_text(why));
}

/* Returns the length of the whole header from its first NPY_START bytes, or 0 with an error. */
static size_t npy_header_length(const uint8_t *start, const char *path, struct error *error)
{
    if (memcmp(start, "\x93NUMPY", MAGIC) != 0 || start[MAGIC] < 1 || start[MAGIC] > 3) {
        refuse(path, N_("it does not begin like a .npy file"),
               "save it with numpy.save or numpy.savez", error);
        return 0;
    }
    const bool old = start[MAGIC] == 1;
    const size_t text =
        old ? start[8] | (size_t)start[9] << 8
            : start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (text < 2 || text > NPY_MAX_HEADER) {
        error_set(error, ERROR_INPUT, path, "save it with numpy.save",
                  "its header announces a description of %zu bytes", text);
        return 0;
    }
    return text + (old ? 10 : 12);
}

/* Returns the text after `'key':`, or NULL. */
static const char *value_of(const char *text, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(text, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':')
        return NULL;
    return at + strspn(at, " ");
}

static bool parse_type(struct npy_header *header, const char *text, const char *path,
                       struct error *error)
{
    const char *at = value_of(text, "descr");
    if (!at || *at++ != '\'')
        return refuse(path, N_("its items are not plain numbers"),
                      "save an array of numbers, such as array.astype(numpy.float32)", error);
    const char order = *at; /* each character is read only if the one before it was expected */
    header->kind = order ? at[1] : '\0';
    const bool number =
        header->kind && strchr("uifb", header->kind) && isdigit((unsigned char)at[2]);
    char *end = NULL;
    header->item = number ? strtoul(at + 2, &end, 10) : 0;
    const unsigned long item = header->item;
    if (!(item == 1 || item == 2 || item == 4 || item == 8) || *end != '\'')
        return refuse(path, N_("its items are not numbers of 1, 2, 4 or 8 bytes"),
                      "convert it, such as array.astype(numpy.float32)", error);
    if (order != '<' && order != '|' && item > 1)
        return refuse(path, N_("its numbers are big-endian"), "convert it: array.astype('<f4')",
                      error);
    return true;
}

static bool parse_shape(struct npy_header *header, const char *text, const char *path,
                        struct error *error)
{
    const char *at = value_of(text, "shape");
    if (!at || *at++ != '(')
        return refuse(path, N_("its header has no shape"), "save it with numpy.save", error);
    for (at += strspn(at, " "); *at && *at != ')'; at += strspn(at, " ,")) {
        char *end;
        if (!isdigit((unsigned char)*at) || header->dimensions == NPY_MAX_DIMENSIONS)
            return refuse(path, N_("its shape is not one of one to four sizes"),
                          "images are N,H,W or N,H,W,C or N,C,H,W; labels are N", error);
        const unsigned long long size = strtoull(at, &end, 10);
        if (size > SIZE_MAX / 2)
            return refuse(path, N_("its shape has a size that is too large"), "is it damaged?",
                          error);
        header->shape[header->dimensions++] = (size_t)size;
        at = end;
    }
    return *at == ')' || refuse(path, N_("its shape does not end"), "is it damaged?", error);
}

static bool count_items(struct npy_header *header, size_t limit, const char *path,
                        struct error *error)
{
    header->items = 1;
    for (size_t i = 0; i < header->dimensions; i++) {
        if (header->shape[i] && header->items > limit / header->item / header->shape[i])
            return error_set(error, ERROR_INPUT, path, "save fewer images, or give a folder",
                             "its header announces more than %zu MiB", limit >> 20);
        header->items *= header->shape[i];
    }
    return true;
}

bool npy_header_parse(struct npy_header *header, const uint8_t *bytes, size_t size, size_t limit,
                      const char *path, struct error *error)
{
    const size_t length = size >= NPY_START ? npy_header_length(bytes, path, error) : 0;
    if (length == 0 || length > size)
        return size < NPY_START || length > size
                   ? refuse(path, N_("the file ends within its header"), "is it cut off?", error)
                   : false;
    const size_t start = bytes[MAGIC] == 1 ? 10 : 12;
    char *text = malloc(length - start + 1);
    if (!text)
        return error_set_memory(error, path, length);
    memcpy(text, bytes + start, length - start);
    text[length - start] = '\0';
    *header = (struct npy_header){.bytes = length};
    const char *order = value_of(text, "fortran_order");
    bool parsed = parse_type(header, text, path, error) && parse_shape(header, text, path, error) &&
                  count_items(header, limit, path, error);
    if (parsed && (!order || strncmp(order, "False", 5) != 0))
        parsed = refuse(path, N_("the array is in column order (Fortran)"),
                        "save numpy.ascontiguousarray(array)", error);
    free(text);
    return parsed;
}

size_t npy_header_write(uint8_t *out, const char *type, const size_t *shape, size_t dimensions)
{
    char text[WRITTEN];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "{'descr': '%.12s', 'fortran_order': False, 'shape': (", type);
    for (size_t i = 0; i < dimensions && i < NPY_MAX_DIMENSIONS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%zu, ", shape[i]);
    if (dimensions > 1)
        used -= 2;
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    const size_t total = (10 + used + 1 + 63) / 64 * 64;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)((total - 10) & 255);
    out[9] = (uint8_t)((total - 10) >> 8);
    memcpy(out + 10, text, used);
    memset(out + 10 + used, ' ', total - 10 - used);
    out[total - 1] = '\n';
    return total;
}
