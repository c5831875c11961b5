/* text.h: a growing string, and the formats of numbers that several modules share. */
#ifndef TINCA_BASE_TEXT_H
#define TINCA_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A growing string; initialise it with {0}. `data` is NULL until something is appended, and
 * NUL-terminated afterwards. After a failed allocation `failed` stays true and appending does
 * nothing, so it is enough to check `failed` once, at the end. */
struct text {
    char *data;
    size_t length, capacity;
    bool failed;
};

/* Appends printf's output. */
void text_append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends `count` bytes. */
void text_append_bytes(struct text *text, const char *bytes, size_t count);

/* Writes the string to a stream and empties it, so that a long document takes the memory of one
 * part; does nothing if `stream` is NULL. */
void text_drain(struct text *text, FILE *stream);

/* Frees the string and resets it to {0}. */
void text_free(struct text *text);

/* Writes a count with thousands separators: 431,080. Returns `out`. */
char *text_count(uint64_t value, char *out, size_t size);

/* Writes a number of bytes: "512 B", "3.20 MiB", "15.2 GiB". Returns `out`. */
char *text_bytes(uint64_t bytes, char *out, size_t size);

/* Writes a number with an SI prefix: "41.6 M", "1.43 G". Returns `out`. */
char *text_si(double value, char *out, size_t size);

/* Writes a number with `digits` significant digits ("%.*g"); "NaN", "inf" or "-inf" if it is not
 * finite, which printf may write as "-nan". Returns `out`. */
char *text_number(double value, int digits, char *out, size_t size);
/* Calls text_number with a buffer that lives to the end of the enclosing block. */
#define TEXT_NUMBER(value, digits) text_number(value, digits, (char[32]){0}, 32)

/* Writes a duration, rounded: "4.2 s", "42 s", "3:07 min", "2:41:09 h"; "-" if it is negative or
 * NaN. Returns `out`. */
char *text_duration(double seconds, char *out, size_t size);

/* Writes the same without tenths, which only flicker while the duration grows: "4 s". */
char *text_whole_duration(double seconds, char *out, size_t size);

/* Returns the number of terminal columns that a text takes, or its length in bytes if it is not
 * valid in the locale. */
size_t text_columns(const char *text);

/* Each of these parses the whole of `text` into *value. They return false, and leave *value
 * unchanged, if the text is not a number or out of range. */
bool text_to_size(const char *text, size_t *value);
bool text_to_uint64(const char *text, uint64_t *value);
bool text_to_double(const char *text, double *value); /* finite numbers only */

/* Parses a size in bytes, below 2^63: 800000000, 600M, 1.5G, 600MiB, "1.50 GiB". K, M, G and T,
 * alone or followed by i or iB, are powers of 1024; KB to TB are powers of 1000. */
bool text_to_bytes(const char *text, uint64_t *value);

/* Parses a duration into seconds: 90, 90s, 45m, 1h30m, 2d. Fractions are allowed; the units must
 * come from the longest to the shortest. */
bool text_to_seconds(const char *text, double *value);

#endif
