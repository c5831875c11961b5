/* targets.h: what a click does. While a frame is drawn, places are noted with the key that would do
 * the same, and how often it would have to be pressed: so nothing can be done by the mouse alone,
 * and screens decide about keys only.
 */
#ifndef TINCA_UI_TARGETS_H
#define TINCA_UI_TARGETS_H

#include "ui/layout.h"

#include <stddef.h>

struct target {
    struct rect area; /* on the screen */
    int key;
    size_t times;
};

enum { TARGETS_MAX = 256 };

struct targets {
    struct target list[TARGETS_MAX];
    size_t count;
};

void targets_forget(struct targets *targets);

/* Notes a place. A later one lies above an earlier; beyond TARGETS_MAX nothing is noted. */
void targets_add(struct targets *targets, struct rect area, int key, size_t times);

/* A row of a list whose selected row is `selected`: a click goes there, or opens it if it is it. */
void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected);

/* What lies there, or NULL. */
const struct target *targets_find(const struct targets *targets, int row, int column);

#endif
