/* A layer over cJSON that adds limits, line numbers, safe output and exact numbers.
 *
 * cJSON stores no positions, so json_line counts: the n-th value of the text, in reading order, is
 * the n-th value of the tree in preorder. */
#include "base/json/json.h"

#include "base/character.h"
#include "base/decimal.h"
#include "base/files/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *inner(const struct json *value)
{
    return (const cJSON *)value;
}

static cJSON *inner_mutable(struct json *value)
{
    return (cJSON *)value;
}

/* --- reading --- */

static size_t line_at(const char *text, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static const char *skip_string(const char *c, const char *end)
{
    for (c++; c < end && *c != '"'; c++)
        if (*c == '\\')
            c++;
    return c < end ? c + 1 : end;
}

/* Refuses text that is nested too deeply, has too many values or contains a NUL byte, before cJSON
 * sees it: cJSON recurses, allocates for every value, and would stop at the NUL. */
static bool check_limits(const char *text, size_t length, const char *name, struct error *error)
{
    size_t depth = 0, values = 1;
    if (memchr(text, '\0', length))
        return error_set(error, ERROR_INPUT, name, "correct the file there",
                         "line %zu: this is not JSON", line_at(text, strnlen(text, length)));
    for (const char *c = text, *end = text + length; c < end;) {
        if (*c == '"') {
            c = skip_string(c, end);
            continue;
        }
        if (*c == '{' || *c == '[')
            depth++;
        else if ((*c == '}' || *c == ']') && depth > 0)
            depth--;
        if (depth > JSON_MAX_DEPTH)
            return error_set(error, ERROR_INPUT, name, "flatten it",
                             "line %zu: nested deeper than %d levels",
                             line_at(text, (size_t)(c - text)), JSON_MAX_DEPTH);
        values += *c == ',' || *c == '{' || *c == '[';
        if (values > JSON_MAX_VALUES)
            return error_set(error, ERROR_INPUT, name, NULL, "more than %zu values",
                             JSON_MAX_VALUES);
        c++;
    }
    return true;
}

/* Parses document->source. cJSON reports only where it stopped; POSIX's malloc sets errno if memory
 * is out. */
static bool parse_source(struct json_document *document, size_t length, struct error *error)
{
    const char *stopped = NULL;
    errno = 0;
    document->root =
        (struct json *)cJSON_ParseWithLengthOpts(document->source, length + 1, &stopped, true);
    if (document->root)
        return true;
    if (errno == ENOMEM)
        return error_set_memory(error, document->name, 0);
    size_t offset = stopped ? (size_t)(stopped - document->source) : 0;
    return error_set(error, ERROR_INPUT, document->name, "correct the file there",
                     "line %zu: this is not JSON",
                     line_at(document->source, offset < length ? offset : length));
}

/* Parses text with a NUL at its end; takes ownership of it. */
static bool parse_own(struct json_document *document, char *text, size_t length, const char *name,
                      struct error *error)
{
    *document = (struct json_document){.source = text};
    bool parsed =
        length <= JSON_MAX_BYTES ||
        error_set(error, ERROR_INPUT, name, NULL, "more than %zu bytes of JSON", JSON_MAX_BYTES);
    parsed = parsed && check_limits(text, length, name, error) &&
             (document->name = memory_copy_text(name, error)) &&
             parse_source(document, length, error);
    if (!parsed)
        json_document_free(document);
    return parsed;
}

bool json_parse(struct json_document *document, const char *text, size_t length, const char *name,
                struct error *error)
{
    *document = (struct json_document){0};
    char *copy = memory_new(length + 1, 1, name, error);
    return copy && parse_own(document, memcpy(copy, text, length), length, name, error);
}

bool json_read_file(struct json_document *document, const char *path, size_t limit,
                    struct error *error)
{
    *document = (struct json_document){0};
    size_t size;
    char *text = file_read(path, limit, &size, error);
    return text && parse_own(document, text, size, path, error);
}

void json_document_free(struct json_document *document)
{
    cJSON_Delete(inner_mutable(document->root));
    free(document->source);
    free(document->name);
    *document = (struct json_document){0};
}

/* Counts the values before `wanted` in preorder; returns whether it was found. */
static bool preorder_number(const cJSON *value, const cJSON *wanted, size_t *number)
{
    if (value == wanted)
        return true;
    ++*number;
    for (const cJSON *child = value->child; child; child = child->next)
        if (preorder_number(child, wanted, number))
            return true;
    return false;
}

size_t json_line(const struct json_document *document, const struct json *value)
{
    size_t number = 0, line = 1, seen = 0;
    if (!preorder_number(inner(document->root), inner(value), &number))
        return 0;
    const char *c = document->source, *end = c + strlen(c);
    while (c < end) {
        if (*c == '\n')
            line++;
        if (strchr(" \t\r\n,:]}", *c)) {
            c++;
            continue;
        }
        const char *start = c;
        size_t start_line = line;
        if (*c == '"') {
            c = skip_string(c, end);
            const char *after = c + strspn(c, " \t\r\n");
            if (*after == ':') /* a member's name, not a value */
                continue;
        } else if (*c == '{' || *c == '[') {
            c++;
        } else {
            c += strcspn(c, " \t\r\n,]}");
        }
        if (seen++ == number)
            return start_line;
        if (c == start)
            c++;
    }
    return line;
}

const struct json *json_member(const struct json *object, const char *key)
{
    return json_is_object(object)
               ? (const struct json *)cJSON_GetObjectItemCaseSensitive(inner(object), key)
               : NULL;
}

static const struct json *first_child(const struct json *container, bool of_type)
{
    return of_type ? (const struct json *)inner(container)->child : NULL;
}

const struct json *json_first(const struct json *array)
{
    return first_child(array, json_is_array(array));
}

const struct json *json_first_member(const struct json *object)
{
    return first_child(object, json_is_object(object));
}

const struct json *json_next(const struct json *value)
{
    return value ? (const struct json *)inner(value)->next : NULL;
}

size_t json_length(const struct json *array)
{
    return json_is_array(array) ? (size_t)cJSON_GetArraySize(inner(array)) : 0;
}

size_t json_member_count(const struct json *object)
{
    return json_is_object(object) ? (size_t)cJSON_GetArraySize(inner(object)) : 0;
}

const char *json_key(const struct json *value)
{
    return value && inner(value)->string ? inner(value)->string : "";
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(inner(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(inner(value));
}

bool json_is_null(const struct json *value)
{
    return cJSON_IsNull(inner(value));
}

const char *json_string(const struct json *value)
{
    return cJSON_GetStringValue(inner(value));
}

bool json_number(const struct json *value, double *out)
{
    if (!cJSON_IsNumber(inner(value)))
        return false;
    *out = inner(value)->valuedouble;
    return true;
}

bool json_count(const struct json *value, size_t *out)
{
    double number;
    if (!json_number(value, &number) || !(number >= 0) || number > 0x1p53 ||
        number != floor(number))
        return false;
    *out = (size_t)number;
    return true;
}

bool json_bool(const struct json *value, bool *out)
{
    if (!cJSON_IsBool(inner(value)))
        return false;
    *out = cJSON_IsTrue(inner(value));
    return true;
}

/* --- building --- */

struct json *json_new_object(void)
{
    return (struct json *)cJSON_CreateObject();
}

struct json *json_new_array(void)
{
    return (struct json *)cJSON_CreateArray();
}

void json_free(struct json *root)
{
    cJSON_Delete(inner_mutable(root));
}

static bool add(struct json *parent, const char *key, cJSON *item)
{
    if (parent && item &&
        (key ? cJSON_AddItemToObject(inner_mutable(parent), key, item)
             : cJSON_AddItemToArray(inner_mutable(parent), item)))
        return true;
    cJSON_Delete(item);
    return false;
}

struct json *json_add_object(struct json *parent, const char *key)
{
    cJSON *item = cJSON_CreateObject();
    return add(parent, key, item) ? (struct json *)item : NULL;
}

struct json *json_add_array(struct json *parent, const char *key)
{
    cJSON *item = cJSON_CreateArray();
    return add(parent, key, item) ? (struct json *)item : NULL;
}

bool json_add_string(struct json *parent, const char *key, const char *value)
{
    return add(parent, key, cJSON_CreateString(value));
}

bool json_add_number(struct json *parent, const char *key, double value)
{
    return add(parent, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

bool json_add_count(struct json *parent, const char *key, uint64_t value)
{
    return json_add_number(parent, key, (double)value);
}

bool json_add_float(struct json *parent, const char *key, float value)
{
    return json_add_number(parent, key, json_float(value));
}

bool json_add_bool(struct json *parent, const char *key, bool value)
{
    return add(parent, key, cJSON_CreateBool(value));
}

bool json_add_null(struct json *parent, const char *key)
{
    return add(parent, key, cJSON_CreateNull());
}

bool json_add_tree(struct json *parent, const char *key, struct json *tree)
{
    return add(parent, key, inner_mutable(tree));
}

void json_remove(struct json *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(inner_mutable(object), key);
}

struct json *json_copy(const struct json *value)
{
    return (struct json *)cJSON_Duplicate(inner(value), true);
}

/* Appends \uXXXX, as a surrogate pair if necessary. */
static void append_escaped(struct text *out, uint32_t code_point)
{
    if (code_point > 0xffff) {
        text_append(out, "\\u%04x", (unsigned)(0xd800 + ((code_point - 0x10000) >> 10)));
        code_point = 0xdc00 + ((code_point - 0x10000) & 0x3ff);
    }
    text_append(out, "\\u%04x", (unsigned)code_point);
}

/* Returns the text with the hidden characters above 126 escaped; cJSON has escaped those below 32.
 * `valid`: bytes that are not UTF-8 become U+FFFD. The result is owned by the caller; NULL if
 * out of memory. */
static char *escape_hidden(const char *text, bool valid)
{
    struct text out = {0};
    while (*text && !out.failed) {
        uint32_t code_point = 0;
        const size_t found = character_decode_utf8(text, &code_point), length = found ? found : 1;
        if (found && code_point >= 0x7f && !character_is_visible(code_point))
            append_escaped(&out, code_point);
        else if (!found && valid)
            append_escaped(&out, 0xfffd);
        else
            text_append_bytes(&out, text, length);
        text += length;
    }
    if (out.failed)
        text_free(&out);
    return out.data;
}

/* --- exact numbers ---
 *
 * cJSON prints a number with 15 digits if these read back as a neighbour of it, too, and so may
 * lose the last bit. Such numbers are replaced by their texts in a copy of the tree. */

enum { SHORT_DIGITS = 15, ALL_DIGITS = 17, NUMBER_SIZE = 32 };

static bool is_exact_with(double value, int digits, char text[NUMBER_SIZE])
{
    snprintf(text, NUMBER_SIZE, "%.*g", digits, value);
    return strtod(text, NULL) == value;
}

static bool needs_digits(const cJSON *item)
{
    char text[NUMBER_SIZE];
    const double value = item->valuedouble;
    const bool whole = fabs(value) < 1e15 && value == floor(value);
    return cJSON_IsNumber(item) && isfinite(value) && !whole &&
           !is_exact_with(value, SHORT_DIGITS, text);
}

/* Returns whether an item of a list, or a value in it, needs more digits. */
static bool list_needs_digits(const cJSON *item)
{
    for (; item; item = item->next)
        if (needs_digits(item) || list_needs_digits(item->child))
            return true;
    return false;
}

/* Makes the number a text that is printed as it is. Returns false if memory runs out. */
static bool write_out(cJSON *item)
{
    char text[NUMBER_SIZE];
    int digits = SHORT_DIGITS + 1;
    while (digits < ALL_DIGITS && !is_exact_with(item->valuedouble, digits, text))
        digits++;
    is_exact_with(item->valuedouble, digits, text);
    item->valuestring = cJSON_malloc(strlen(text) + 1);
    if (!item->valuestring)
        return false;
    memcpy(item->valuestring, text, strlen(text) + 1);
    item->type = cJSON_Raw | (item->type & cJSON_StringIsConst);
    return true;
}

static bool write_out_list(cJSON *item)
{
    for (; item; item = item->next)
        if ((needs_digits(item) && !write_out(item)) || !write_out_list(item->child))
            return false;
    return true;
}

static char *print_exactly(const cJSON *root, bool pretty)
{
    if (!root || (!needs_digits(root) && !list_needs_digits(root->child)))
        return pretty ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
    cJSON *copy = cJSON_Duplicate(root, true);
    char *text = NULL;
    if (copy && write_out_list(copy))
        text = pretty ? cJSON_Print(copy) : cJSON_PrintUnformatted(copy);
    cJSON_Delete(copy);
    return text;
}

/* --- printing --- */

static char *print_tree(const struct json *root, bool pretty, bool valid, struct error *error)
{
    char *text = print_exactly(inner(root), pretty);
    const char *c = text;
    while (c && *c && (unsigned char)*c < 0x7f)
        c++;
    if (c && *c) {
        char *escaped = escape_hidden(text, valid);
        free(text);
        text = escaped;
    }
    if (!text)
        error_set_memory(error, "a JSON document", 0);
    return text;
}

char *json_print(const struct json *root, bool pretty, struct error *error)
{
    return print_tree(root, pretty, false, error);
}

char *json_print_utf8(const struct json *root, bool pretty, struct error *error)
{
    return print_tree(root, pretty, true, error);
}

const char *json_library_version(void)
{
    return cJSON_Version();
}

/* --- the shortest decimal, of 6 to 9 digits, that reads back as the same float ---
 *
 * Session files have millions of floats, so usual magnitudes do without printf and strtod: the
 * value times a power of ten, rounded to an integer, has the digits; that integer divided by the
 * power is correctly rounded, since both are exact as doubles, and shows whether the digits
 * suffice. */

enum { DIGITS_LEAST = 6, DIGITS_MOST = 9, PLACES_MOST = 13 };

static const double powers[PLACES_MOST + 1] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5,  1e6,
                                               1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};

/* Finds the decimal of a positive value. Returns false if it is too large or too small. */
static bool find_decimal(float value, struct decimal *decimal)
{
    int before = 0; /* digits before the point; 0 below 1, -1 below 0.1, ... */
    if (FLT_EVAL_METHOD != 0 || !(value >= 1e-4f && value < 1e6f))
        return false;
    for (double unit = 1; (double)value >= unit; unit *= 10)
        before++;
    for (double unit = 0.1; before <= 0 && (double)value < unit; unit /= 10)
        before--;
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        const int places = digits - before;
        if (places < 0 || places > PLACES_MOST)
            continue;
        const double whole = nearbyint((double)value * powers[places]);
        if ((float)(whole / powers[places]) != value)
            continue;
        *decimal = (struct decimal){(uint64_t)whole, places};
        return true;
    }
    return false;
}

static double find_shortest(float value)
{
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        char text[JSON_FLOAT_SIZE];
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        const double shortest = strtod(text, NULL);
        if ((float)shortest == value)
            return shortest;
    }
    return (double)value;
}

double json_float(float value)
{
    struct decimal decimal;
    if (!find_decimal(fabsf(value), &decimal))
        return isfinite(value) ? find_shortest(value) : (double)value;
    const double found = (double)decimal.whole / powers[decimal.places];
    return value < 0 ? -found : found;
}

_Static_assert((int)JSON_FLOAT_SIZE >= (int)DECIMAL_SIZE, "the text of a float holds a decimal");

size_t json_float_text(float value, char text[JSON_FLOAT_SIZE])
{
    struct decimal decimal;
    if (find_decimal(fabsf(value), &decimal))
        return decimal_write(decimal, value < 0, text);
    if (!isfinite(value))
        return (size_t)snprintf(text, JSON_FLOAT_SIZE, "null");
    return (size_t)snprintf(text, JSON_FLOAT_SIZE, "%.9g", find_shortest(value));
}
