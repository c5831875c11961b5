/* Fields, their names and their texts come from chunks of memory that are freed together. A message
 * keeps its fields in a list, in the order of the file. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/language.h"

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

/* --- the text format --- */

/* The text format of protobuf, as far as Caffe's files use it: fields "name: value" and "name {
 * fields }", lists in brackets, strings with escapes, comments. Names are not checked here. */

/* A field takes at least three characters of a file, and about a hundred bytes of memory. */
enum { GROWTH = 48, MARGIN = 1 << 16 };
#define FILE_LIMIT ((size_t)4 << 20)

struct reader {
    struct caffe_tree *tree;
    const char *at, *end;
    size_t line;
    struct error *error;
};

static bool fail(struct reader *reader, const char *why)
{
    return error_set(reader->error, ERROR_INPUT, reader->tree->path, NULL, "line %zu: %s",
                     reader->line, gettext(why));
}

static bool fail_memory(struct reader *reader)
{
    return fail(reader, N_("the text needs too much memory"));
}

/* --- characters --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns the next character, 0 at the end. */
static char peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

/* Skips blanks and comments, then returns the next character. */
static char skip(struct reader *reader)
{
    while (reader->at < reader->end) {
        const char c = *reader->at;
        if (c == '#')
            while (reader->at < reader->end && *reader->at != '\n')
                reader->at++;
        else if (c == '\n' || c == ' ' || c == '\t' || c == '\r')
            reader->line += *reader->at++ == '\n';
        else
            break;
    }
    return peek(reader);
}

/* Skips `c` if it comes next. Returns whether it did. */
static bool skip_if(struct reader *reader, char c)
{
    if (skip(reader) != c)
        return false;
    reader->at++;
    return true;
}

/* Returns a copy of the characters from `begin` to the present one; NULL with an error. */
static const char *copy_from(struct reader *reader, const char *begin)
{
    const size_t length = (size_t)(reader->at - begin);
    char *text = caffe_tree_memory(reader->tree, length + 1);
    if (text)
        memcpy(text, begin, length);
    else
        fail_memory(reader);
    return text;
}

/* --- values --- */

/* Reads up to `most` digits of a number in this base. Returns false if there is none. */
static bool read_digits(struct reader *reader, unsigned base, size_t most, unsigned *value)
{
    size_t count = 0;
    for (*value = 0; count < most; count++) {
        const char c = peek(reader), *const digits = "0123456789abcdef";
        const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit || (unsigned)(digit - digits) >= base)
            break;
        *value = *value * base + (unsigned)(digit - digits);
        reader->at++;
    }
    return count > 0;
}

/* Reads what follows a backslash. */
static bool read_escape(struct reader *reader, char *out)
{
    static const char letters[] = "abfnrtv\\'\"?", values[] = "\a\b\f\n\r\t\v\\'\"?";
    const char c = peek(reader), *found = c ? strchr(letters, c) : NULL;
    unsigned value = 0;
    bool known = true;
    if (found) {
        reader->at++;
        value = (unsigned char)values[found - letters];
    } else if (c == 'x' || c == 'X') {
        reader->at++;
        known = read_digits(reader, 16, 2, &value);
    } else {
        known = read_digits(reader, 8, 3, &value);
    }
    *out = (char)value;
    return (known && value > 0 && value < 256) ||
           fail(reader, N_("a string has an escape that has no meaning"));
}

/* Appends one quoted string to text[*length]. */
static bool read_quoted(struct reader *reader, char *text, size_t *length)
{
    const char quote = *reader->at++;
    while (peek(reader) != quote) {
        char c = peek(reader);
        if (reader->at == reader->end || c == '\n')
            return fail(reader, N_("a string has no closing quote"));
        reader->at++;
        if (c == '\\' && !read_escape(reader, &c))
            return false;
        text[(*length)++] = c;
    }
    reader->at++;
    return true;
}

/* Returns an upper limit of the length of the string that begins here. */
static size_t quoted_limit(const struct reader *reader)
{
    const char *at = reader->at + 1;
    while (at < reader->end && *at != *reader->at && *at != '\n')
        at += *at == '\\' && at + 1 < reader->end ? 2 : 1;
    return (size_t)(at - reader->at);
}

/* Reads a string, or several that stand beside each other and are one. */
static const char *read_string(struct reader *reader)
{
    const char *joined = "";
    for (char c = skip(reader); c == '"' || c == '\''; c = skip(reader)) {
        const size_t before = strlen(joined);
        size_t length = before;
        char *text = caffe_tree_memory(reader->tree, before + quoted_limit(reader) + 1);
        if (!text) {
            fail_memory(reader);
            return NULL;
        }
        memcpy(text, joined, before);
        if (!read_quoted(reader, text, &length))
            return NULL;
        joined = text;
    }
    return joined;
}

static bool read_scalar(struct reader *reader, struct caffe_field *message, const char *name)
{
    const size_t line = reader->line;
    const char c = skip(reader);
    const bool quoted = c == '"' || c == '\'';
    const bool number = is_digit(c) || c == '-' || c == '+' || c == '.';
    const char *begin = reader->at, *text;
    if (quoted) {
        text = read_string(reader);
    } else {
        if (c == '-' || c == '+')
            reader->at++;
        while (is_letter(peek(reader)) || is_digit(peek(reader)) || peek(reader) == '.' ||
               (number && (peek(reader) == '-' || peek(reader) == '+') &&
                (reader->at[-1] == 'e' || reader->at[-1] == 'E')))
            reader->at++;
        if (reader->at == begin)
            return fail(reader, N_("a value was expected"));
        text = copy_from(reader, begin);
    }
    struct caffe_field *field =
        text ? caffe_tree_add(reader->tree, message, name, quoted ? CAFFE_STRING : CAFFE_WORD, text)
             : NULL;
    if (!field)
        return reader->tree->failed ? fail_memory(reader) : false;
    field->line = line;
    return true;
}

/* --- messages --- */

static bool read_fields(struct reader *reader, struct caffe_field *message, char closing,
                        size_t depth);

static bool read_message(struct reader *reader, struct caffe_field *message, const char *name,
                         size_t depth)
{
    const char closing = *reader->at++ == '<' ? '>' : '}';
    struct caffe_field *field = caffe_tree_add(reader->tree, message, name, CAFFE_MESSAGE, "");
    if (!field)
        return fail_memory(reader);
    field->line = reader->line;
    if (depth == CAFFE_MAX_DEPTH)
        return fail(reader, N_("fields are nested too deeply"));
    return read_fields(reader, field, closing, depth + 1);
}

static bool read_value(struct reader *reader, struct caffe_field *message, const char *name,
                       bool colon, size_t depth)
{
    const char c = skip(reader);
    if (c == '{' || c == '<')
        return read_message(reader, message, name, depth);
    return colon ? read_scalar(reader, message, name)
                 : fail(reader, N_("a colon or a brace was expected after a name"));
}

static bool read_field(struct reader *reader, struct caffe_field *message, size_t depth)
{
    const char *begin = reader->at;
    if (!is_letter(*begin))
        return fail(reader, N_("the name of a field was expected"));
    while (is_letter(peek(reader)) || is_digit(peek(reader)))
        reader->at++;
    const char *name = copy_from(reader, begin);
    if (!name)
        return false;
    const bool colon = skip_if(reader, ':');
    if (!skip_if(reader, '['))
        return read_value(reader, message, name, colon, depth);
    if (skip_if(reader, ']'))
        return true;
    do {
        if (!read_value(reader, message, name, true, depth))
            return false;
    } while (skip_if(reader, ','));
    return skip_if(reader, ']') || fail(reader, N_("a list has no closing bracket"));
}

/* Reads fields up to `closing`; 0: up to the end of the text. */
static bool read_fields(struct reader *reader, struct caffe_field *message, char closing,
                        size_t depth)
{
    while (skip(reader) != closing || (!closing && reader->at < reader->end)) {
        if (reader->at == reader->end)
            return fail(reader, N_("the text ends before a brace is closed"));
        if (!read_field(reader, message, depth))
            return false;
        if (!skip_if(reader, ','))
            skip_if(reader, ';');
    }
    if (closing)
        reader->at++;
    return true;
}

bool caffe_tree_parse(struct caffe_tree *tree, const char *path, const char *text, size_t size,
                      struct error *error)
{
    struct reader reader = {tree, text, text + size, 1, error};
    *tree = (struct caffe_tree){.path = path, .root = {.name = "", .kind = CAFFE_MESSAGE}};
    tree->root.text = "";
    tree->left = MARGIN + size * GROWTH;
    return memchr(text, '\0', size)
               ? fail(&reader, N_("it is no text: a binary file has the ending "
                                  ".caffemodel"))
               : read_fields(&reader, &tree->root, '\0', 0);
}

bool caffe_tree_read_text(struct caffe_tree *tree, const char *path, struct error *error)
{
    size_t size;
    char *text = file_read(path, FILE_LIMIT, &size, error);
    if (!text) {
        *tree = (struct caffe_tree){.path = path};
        return false;
    }
    const bool read = caffe_tree_parse(tree, path, text, size, error);
    free(text);
    return read;
}
