/* decimal.h: writes numbers as text without printf, for files with millions of them. */
#ifndef TINCA_BASE_DECIMAL_H
#define TINCA_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_SIZE = 32 }; /* bytes of the longest text, with its NUL */

/* The decimal whole / 10^places. */
struct decimal {
    uint64_t whole;
    int places; /* at most 13 */
};

/* Writes a decimal, without zeros at the end of its fraction. Returns the length. */
size_t decimal_write(struct decimal decimal, bool negative, char text[DECIMAL_SIZE]);

/* Writes a count. Returns the length. */
size_t decimal_write_count(uint64_t count, char text[DECIMAL_SIZE]);

/* Writes what printf writes for "%.6g". Returns the length. */
size_t decimal_write_six(double value, char text[DECIMAL_SIZE]);

#endif
