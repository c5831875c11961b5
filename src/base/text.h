/* text.h: a growing string, and the few formats that several rooms share. */
#ifndef TINCA_BASE_TEXT_H
#define TINCA_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}; `data` is always NUL-terminated once something was appended. After a failed
 * allocation `failed` stays true and further appends do nothing: check it once at the end. */
struct text {
    char *data;
    size_t length, capacity;
    bool failed;
};

void text_append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_append_bytes(struct text *text, const char *bytes, size_t count);
void text_free(struct text *text);

/* A count in groups of three digits: 431,080. Returns `out`. */
char *text_count(uint64_t value, char *out, size_t size);

/* Bytes as people read them: "512 B", "3.2 MiB", "1.52 GiB". Returns `out`. */
char *text_bytes(uint64_t bytes, char *out, size_t size);

/* A number with an SI prefix: 41.6 M, 1.43 G. Returns `out`. */
char *text_si(double value, char *out, size_t size);

/* Seconds as "42 s", "3:07 min", "2:41:09 h". Returns `out`. */
char *text_duration(double seconds, char *out, size_t size);

/* Columns that a text takes on a terminal; its bytes where it is not valid in this locale. */
size_t text_columns(const char *text);

/* Parses the whole of `text`; false when it is not a number or leaves the range. */
bool text_to_size(const char *text, size_t *value);
bool text_to_uint64(const char *text, uint64_t *value);
bool text_to_double(const char *text, double *value);

/* A size as people write it: 800000000, 600M, 1.5G, 600MiB, "1.50 GiB". K, M, G, T, also with an i
 * or iB, are powers of 1024; KB to TB are powers of 1000. Below 2^63. */
bool text_to_bytes(const char *text, uint64_t *value);

#endif
