/* completion.h: the list of candidates that a line of text can be completed with, below the line.
 *
 * A source (completion_source) looks at the text before the cursor and adds the candidates that
 * begin with its last part. Up, Down and Tab select one, Enter takes it, Esc closes the list. As
 * long as none is selected, Enter takes the line as it was typed. The names of folders are read in
 * the background; completion_is_waiting says whether some are missing.
 */
#ifndef TINCA_UI_WIDGETS_COMPLETION_H
#define TINCA_UI_WIDGETS_COMPLETION_H

#include "base/error.h"
#include "ui/terminal/layout.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct canvas;
struct folder_listing;
struct folder_name;

enum {
    COMPLETION_ITEMS = 128,
    COMPLETION_TEXT = 264,
    COMPLETION_NOTE = 96,
    COMPLETION_LISTINGS = 3 /* a source may ask for a folder, for one in it and for a file */
};

struct completion_item {
    char text[COMPLETION_TEXT], note[COMPLETION_NOTE]; /* note: an explanation, or "" */
    bool more; /* the value needs more text after it: "idx:", a folder */
};

struct completion {
    bool open;
    struct completion_item items[COMPLETION_ITEMS];
    size_t count, left_out; /* left_out: candidates for which there was no room */
    size_t from, to;        /* the bytes of the line that a candidate replaces */
    char stem[sizeof((struct line_edit *)0)->text]; /* these bytes, which candidates begin with */
    bool all;                                       /* candidates need not begin with the stem */
    bool waiting;                                   /* the names of a folder are missing */
    size_t selected;                                /* 0: none; else item selected - 1 */
    size_t top;                                     /* the first visible item */
    /* of the folders that were last asked for, the last one first, or NULL */
    struct folder_listing *listings[COMPLETION_LISTINGS];
};

/* Adds the candidates for a line whose text before the cursor is `text`. It calls completion_stem,
 * then any of the functions that add candidates. `context` is what completion_update was given. */
typedef void completion_source(struct completion *completion, const char *text,
                               const void *context);

/* Sets the part of the line that candidates replace: from byte `from` to the end of `text`. */
void completion_stem(struct completion *completion, const char *text, size_t from);

/* Adds a candidate unless it does not begin with the stem or is there already. */
void completion_add(struct completion *completion, const char *text, const char *note, bool more);

/* Adds the names of the folder in which the path text + from lies: its folders and, unless `ending`
 * is NULL, the files whose names end in it ("": all files). A leading ~/ is the home directory.
 * Names with a leading dot only appear when the dot was typed. */
void completion_add_paths(struct completion *completion, const char *text, size_t from,
                          const char *ending);

/* Returns the names in a folder, or the lines of a file, when they are known, or NULL; sets *count.
 */
const struct folder_name *completion_folder(struct completion *completion, const char *path,
                                            size_t *count);

/* Opens the list with the candidates for the line at the cursor. With `all` also those that do not
 * begin with what is typed, to choose another value. */
void completion_update(struct completion *completion, const struct line_edit *edit, bool all,
                       completion_source *source, const void *context);

/* Returns whether a folder is still being read; completion_update then adds its names later. */
bool completion_is_waiting(const struct completion *completion);

/* Returns whether the list is shown: it is open and has candidates. */
bool completion_is_shown(const struct completion *completion);

/* The effects of a key on a list that is shown. */
enum completion_result {
    COMPLETION_IGNORED, /* the key is not one of the list's */
    COMPLETION_MOVED,   /* another candidate is selected, or the list is closed */
    COMPLETION_CHANGED, /* the line has changed and can be completed further */
    COMPLETION_TAKEN,   /* the line ends in the chosen candidate, which needs no more text */
};

/* Handles a key of the list; ignores all of them while it is not shown. Up and Down move the
 * selection, and above the first candidate none is selected; then Up is ignored. Tab extends the
 * line by what all candidates have in common, or selects the next one. Enter takes the selected
 * one; without one it is ignored. Esc closes the list. After COMPLETION_CHANGED call
 * completion_update.
 */
enum completion_result completion_key(struct completion *completion, struct line_edit *edit,
                                      int key);

/* Handles a key of a line whose list follows every change: a key of the list, Tab, which opens it
 * again, or one that edits the line. `source` NULL: the line is only edited. Returns
 * COMPLETION_IGNORED for a key that does none of this. */
enum completion_result completion_edit_key(struct completion *completion, struct line_edit *edit,
                                           int key, completion_source *source, const void *context);

/* Adds the names that have become known since, of which completion_is_waiting knows. Returns
 * whether the list has changed. */
bool completion_step(struct completion *completion, const struct line_edit *edit,
                     completion_source *source, const void *context);

/* The source of a line that is the path of any file. */
completion_source completion_of_paths;

/* Closes the list and drops the folder. */
void completion_close(struct completion *completion);

/* Draws the list below the cell at `row`, `column` of `area`, or above it if there is more room. */
void completion_draw(struct completion *completion, struct canvas *canvas, struct rect area,
                     int row, int column);

/* --- folder listing ---
 *
 * lists the names in a folder, or the lines of a short file of text such as one
 * of class names, in a separate thread, so that a slow disk delays no key. */

enum { FOLDER_LISTING_LINES = 1000 };

struct folder_listing;

struct folder_name {
    char *name;
    bool is_folder;
};

#endif
