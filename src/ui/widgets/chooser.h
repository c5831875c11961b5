/* chooser.h: a list to choose from, narrowed by typing. Where free text is allowed, what was typed
 * and matches nothing can be taken as it is. */
#ifndef TINCA_UI_WIDGETS_CHOOSER_H
#define TINCA_UI_WIDGETS_CHOOSER_H

#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct canvas;

enum { CHOOSER_MAX_ITEMS = 96 };

struct chooser_item {
    const char *text, *note;
};

struct chooser {
    bool open, free_text;
    char title[64];
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count;
    size_t shown[CHOOSER_MAX_ITEMS], shown_count; /* the items that match, by index */
    size_t selected, top;                         /* among those shown */
    struct line_edit filter;
};

/* `items` stay the caller's and must live while it is open. */
void chooser_begin(struct chooser *chooser, const char *title, const struct chooser_item *items,
                   size_t count, const char *current, bool free_text);

enum chooser_result { CHOOSER_OPEN, CHOOSER_CANCELLED, CHOOSER_CHOSEN };
/* CHOSEN: see chooser_choice. */
enum chooser_result chooser_key(struct chooser *chooser, int key);
const char *chooser_choice(const struct chooser *chooser);

void chooser_draw(struct chooser *chooser, struct canvas *canvas);

#endif
