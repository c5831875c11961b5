/* json.h: the only door to cJSON.
 *
 * What is read is limited in size and depth, and remembers its text so that an error can name the
 * line of a value. `struct json` is a value inside a document or inside a tree being built; values
 * live as long as the root they hang from.
 */
#ifndef TINCA_BASE_JSON_JSON_H
#define TINCA_BASE_JSON_JSON_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { JSON_MAX_DEPTH = 64 };
#define JSON_MAX_BYTES  ((size_t)256 << 20)
#define JSON_MAX_VALUES ((size_t)1 << 24) /* each takes 64 bytes, whatever its text takes */

struct json;

/* --- reading --- */

struct json_document {
    struct json *root;
    char *source; /* the text that was parsed, for line numbers */
    char *name;   /* where it came from, for messages */
};

/* `name` is used in messages ("networks/lenet.json"). The text need not be NUL-terminated. */
bool json_parse(struct json_document *document, const char *text, size_t length, const char *name,
                struct error *error);
bool json_read_file(struct json_document *document, const char *path, size_t limit,
                    struct error *error);
void json_document_free(struct json_document *document);

/* The line (from 1) on which a value of this document stands. */
size_t json_line(const struct json_document *document, const struct json *value);

const struct json *json_member(const struct json *object, const char *key); /* NULL: none */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *value);
size_t json_length(const struct json *container);
const char *json_key(const struct json *value); /* of an object's member */

bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_null(const struct json *value);
const char *json_string(const struct json *value);       /* NULL when it is not a string */
bool json_number(const struct json *value, double *out); /* false when it is not a number */
bool json_count(const struct json *value, size_t *out);  /* an integer of 0..2^53 */
bool json_bool(const struct json *value, bool *out);

/* --- building: each returns false or NULL when memory is out or `parent` is NULL --- */

struct json *json_new_object(void);
struct json *json_new_array(void);
void json_free(struct json *root);

/* `key` is NULL when `parent` is an array. Numbers that JSON lacks (NaN, infinity) become null. */
struct json *json_add_object(struct json *parent, const char *key);
struct json *json_add_array(struct json *parent, const char *key);
bool json_add_string(struct json *parent, const char *key, const char *value);
bool json_add_number(struct json *parent, const char *key, double value);
bool json_add_count(struct json *parent, const char *key, uint64_t value);
bool json_add_float(struct json *parent, const char *key,
                    float value); /* shortest that reads back */
bool json_add_bool(struct json *parent, const char *key, bool value);
bool json_add_null(struct json *parent, const char *key);
/* Hangs an independent tree below `parent` and takes it over, even when it fails. */
bool json_add_tree(struct json *parent, const char *key, struct json *tree);
struct json *json_copy(const struct json *value);

/* The text of a tree, owned by the caller (free()). Hidden characters (character.h) are written as
 * \uXXXX, so that the text can be shown on a terminal; bytes that are not UTF-8 stay as they are.
 */
char *json_print(const struct json *root, bool pretty, struct error *error);

/* The same for a document that others read: with U+FFFD for each byte that is not UTF-8 (of a
 * path), which is no JSON either. */
char *json_print_utf8(const struct json *root, bool pretty, struct error *error);

/* The double whose shortest text reads back as exactly this float: 0.1f gives 0.1. */
double json_float(float value);

#endif
