/* Fields, their names and their texts come from chunks of memory that are freed together. A message
 * keeps its fields in a list, in the order of the file. */
#include "exchange/caffe/internal.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384, ALIGNMENT = 16 };
#define MAX_COUNT ((unsigned long long)1 << 32)

struct caffe_chunk {
    struct caffe_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
};

void caffe_tree_free(struct caffe_tree *tree)
{
    while (tree->chunks) {
        struct caffe_chunk *chunk = tree->chunks;
        tree->chunks = chunk->next;
        free(chunk);
    }
    *tree = (struct caffe_tree){0};
}

void *caffe_tree_memory(struct caffe_tree *tree, size_t bytes)
{
    if (tree->failed || bytes > SIZE_MAX / 4) {
        tree->failed = true;
        return NULL;
    }
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct caffe_chunk *chunk = tree->chunks;
    if (!chunk || chunk->size - chunk->used < rounded) {
        const size_t size = rounded > CHUNK ? rounded : CHUNK;
        chunk = size <= tree->left ? calloc(1, sizeof *chunk + size) : NULL;
        if (!chunk) {
            tree->failed = true;
            return NULL;
        }
        tree->left -= size;
        chunk->size = size;
        chunk->next = tree->chunks;
        tree->chunks = chunk;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return memory;
}

struct caffe_field *caffe_tree_add(struct caffe_tree *tree, struct caffe_field *message,
                                   const char *name, enum caffe_field_kind kind, const char *text)
{
    struct caffe_field *field = caffe_tree_memory(tree, sizeof *field);
    if (!field)
        return NULL;
    field->name = name;
    field->kind = kind;
    field->text = text;
    if (message->last)
        message->last->next = field;
    else
        message->first = field;
    message->last = field;
    return field;
}

/* --- reading --- */

static const struct caffe_field *find(const struct caffe_field *field, const char *name)
{
    while (field && strcmp(field->name, name) != 0)
        field = field->next;
    return field;
}

const struct caffe_field *caffe_first(const struct caffe_field *message, const char *name)
{
    return message ? find(message->first, name) : NULL;
}

const struct caffe_field *caffe_next(const struct caffe_field *field)
{
    return find(field->next, field->name);
}

size_t caffe_count(const struct caffe_field *message, const char *name)
{
    size_t count = 0;
    for (const struct caffe_field *f = caffe_first(message, name); f; f = caffe_next(f))
        count++;
    return count;
}

const struct caffe_field *caffe_nth(const struct caffe_field *message, const char *name, size_t n)
{
    const struct caffe_field *field = caffe_first(message, name);
    while (field && n-- > 0)
        field = caffe_next(field);
    return field;
}

const char *caffe_text(const struct caffe_field *message, const char *name, const char *otherwise)
{
    const struct caffe_field *field = caffe_first(message, name);
    return field && field->kind != CAFFE_MESSAGE ? field->text : otherwise;
}

bool caffe_read_number(const struct caffe_field *field, double *number)
{
    char *end;
    if (field->kind != CAFFE_WORD || !field->text[0])
        return false;
    *number = strtod(field->text, &end);
    if ((*end == 'f' || *end == 'F') && end != field->text)
        end++;
    return *end == '\0' && isfinite(*number);
}

bool caffe_read_count(const struct caffe_field *field, size_t *count)
{
    char *end;
    if (field->kind != CAFFE_WORD || field->text[0] < '0' || field->text[0] > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(field->text, &end, 0);
    *count = (size_t)value;
    return *end == '\0' && errno == 0 && value <= MAX_COUNT;
}

bool caffe_read_flag(const struct caffe_field *field, bool *flag)
{
    static const char *const words[] = {"false", "f", "False", "0", "true", "t", "True", "1"};
    for (size_t i = 0; i < 8; i++)
        if (field->kind == CAFFE_WORD && strcmp(field->text, words[i]) == 0) {
            *flag = i >= 4;
            return true;
        }
    return false;
}
