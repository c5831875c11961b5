/* chooser.h: a list of items to choose from, filtered by typing. If free text is allowed, Enter
 * takes what is typed as it is, unless the arrows have selected an item; it can be completed, too.
 */
#ifndef TINCA_UI_WIDGETS_CHOOSER_H
#define TINCA_UI_WIDGETS_CHOOSER_H

#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct canvas;

enum { CHOOSER_MAX_ITEMS = 96 };

struct chooser_item {
    const char *text, *note; /* note: an explanation beside the text, or "" */
};

struct chooser {
    bool open, free_text, commands; /* commands: see chooser_show_commands */
    char title[64];
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    const char *keys[CHOOSER_MAX_ITEMS]; /* of commands */
    size_t count;
    size_t shown[CHOOSER_MAX_ITEMS], shown_count; /* indices of the items that match the filter */
    size_t selected, top; /* indices into `shown`: the selected item and the first visible one */
    struct line_edit filter;
    bool typed;                   /* the text of `filter` is chosen, and no item is selected */
    struct completion completion; /* candidates for `filter` */
    completion_source *source;    /* adds them, with the chooser as context; NULL: there are none */
};

/* Opens the chooser with the item `current` selected. Copies `items`, but borrows their texts until
 * it is closed. Items beyond CHOOSER_MAX_ITEMS are left out. */
void chooser_begin(struct chooser *chooser, const char *title, const struct chooser_item *items,
                   size_t count, const char *current, bool free_text);

/* Makes a chooser that has just begun one of commands: an item matches if every word typed occurs
 * in its text or note, and keys[i], the key that does the same as item i, stands before its text.
 * First come items whose key is what is typed, then those whose text begins with it. Copies `keys`,
 * but borrows their texts. */
void chooser_show_commands(struct chooser *chooser, const char *const *keys);

/* Lets a chooser with free text that has just begun complete what is typed. The chooser is the
 * context of the source. */
void chooser_complete(struct chooser *chooser, completion_source *source);

enum chooser_result { CHOOSER_OPEN, CHOOSER_CANCELLED, CHOOSER_CHOSEN };

/* Handles a key. Returns whether the chooser stays open, the user cancelled, or the user chose
 * (see chooser_choice). The caller closes it. */
enum chooser_result chooser_key(struct chooser *chooser, int key);

/* Adds candidates that have become known in the meantime; chooser_is_waiting says whether some are
 * missing. */
void chooser_step(struct chooser *chooser);
bool chooser_is_waiting(const struct chooser *chooser);

/* Frees what the completion has read. The chooser is closed. */
void chooser_free(struct chooser *chooser);

/* Returns the selected item's text, else the typed text if free text is allowed, else NULL. */
const char *chooser_choice(const struct chooser *chooser);

/* Draws the chooser as a dialog. */
void chooser_draw(struct chooser *chooser, struct canvas *canvas);

#endif
