/* json.h: reads and builds JSON. This is the only module that uses cJSON.
 *
 * Input is limited in size and depth. A document keeps its text, so that an error can name the line
 * of a value. A `struct json` is a value of a document, or of a tree that is being built; it lives
 * as long as its root.
 */
#ifndef TINCA_BASE_JSON_JSON_H
#define TINCA_BASE_JSON_JSON_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { JSON_MAX_DEPTH = 64 };
#define JSON_MAX_BYTES  ((size_t)256 << 20)
#define JSON_MAX_VALUES ((size_t)1 << 24) /* each takes 64 bytes in memory, however short it is */

struct json;

/* --- reading --- */

struct json_document {
    struct json *root;
    char *source; /* the text that was parsed */
    char *name;   /* where it came from, for messages */
};

/* Parses `length` bytes, which need no NUL at the end. `name` appears in messages, such as
 * "networks/lenet.json". Returns false with an error that names the line. */
bool json_parse(struct json_document *document, const char *text, size_t length, const char *name,
                struct error *error);

/* Reads and parses a file of at most `limit` bytes. Returns false with an error. */
bool json_read_file(struct json_document *document, const char *path, size_t limit,
                    struct error *error);
void json_document_free(struct json_document *document);

/* Returns the line, from 1, on which a value of this document stands. */
size_t json_line(const struct json_document *document, const struct json *value);

/* Returns the member with this name; NULL if there is none, or if this is no object. */
const struct json *json_member(const struct json *object, const char *key);

/* Files come from strangers, so every value may have any type. The functions that expect a type
 * treat a value of another type as if it were absent. All of them accept NULL. */

/* Walk the values of an array, or the members of an object; NULL at the end. */
const struct json *json_first(const struct json *array);
const struct json *json_first_member(const struct json *object);
const struct json *json_next(const struct json *value);

/* Return the number of values of an array, or of members of an object. */
size_t json_length(const struct json *array);
size_t json_member_count(const struct json *object);

/* Returns the name of an object's member; "" for other values. */
const char *json_key(const struct json *value);

/* Return whether a value has this type; NULL has none. */
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_null(const struct json *value);

/* Return NULL or false if the value has another type. */
const char *json_string(const struct json *value);
bool json_number(const struct json *value, double *out);
bool json_count(const struct json *value, size_t *out); /* an integer of 0..2^53 */
bool json_bool(const struct json *value, bool *out);

/* --- building --- */

struct json *json_new_object(void); /* NULL if out of memory, like json_new_array */
struct json *json_new_array(void);
void json_free(struct json *root);

/* Add a value to `parent`. `key` is its name, or NULL if `parent` is an array. They return false or
 * NULL if out of memory or `parent` is NULL, so a chain of calls needs one check. NaN and infinity,
 * which JSON cannot represent, become null. */
struct json *json_add_object(struct json *parent, const char *key);
struct json *json_add_array(struct json *parent, const char *key);
bool json_add_string(struct json *parent, const char *key, const char *value);
bool json_add_number(struct json *parent, const char *key, double value);
bool json_add_count(struct json *parent, const char *key, uint64_t value);
bool json_add_float(struct json *parent, const char *key, float value); /* as json_float */
bool json_add_bool(struct json *parent, const char *key, bool value);
bool json_add_null(struct json *parent, const char *key);

/* Adds a tree that was built separately. Takes ownership of it, even on failure. */
bool json_add_tree(struct json *parent, const char *key, struct json *tree);

/* Removes a member of an object, if it has it. */
void json_remove(struct json *object, const char *key);

/* Returns a deep copy, or NULL if out of memory. */
struct json *json_copy(const struct json *value);

/* Returns the text of a tree, owned by the caller (free()), or NULL with an error. Hidden
 * characters (character.h) become \uXXXX, so the text is safe on a terminal. Bytes that are not
 * UTF-8 remain.
 */
char *json_print(const struct json *root, bool pretty, struct error *error);

/* Returns the text of a tree for other programs: like json_print, but each byte that is not UTF-8
 * (paths may contain such bytes) becomes U+FFFD, because JSON must be valid UTF-8. */
char *json_print_utf8(const struct json *root, bool pretty, struct error *error);

/* Returns the double with the shortest text that reads back as exactly `value`: 0.1 for 0.1f. */
double json_float(float value);

enum { JSON_FLOAT_SIZE = 32 };
/* Writes that shortest text, "null" if `value` is not finite. Returns its length. */
size_t json_float_text(float value, char text[JSON_FLOAT_SIZE]);

/* Returns the version of the library that parses: "1.7.15". */
const char *json_library_version(void);

#endif
