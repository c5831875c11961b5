/* dialog.h: a question in a box: choices, or one line to type. Deciding here, drawing in
 * dialog_draw.c. The answer goes to the function that asked. */
#ifndef TINCA_UI_APP_DIALOG_H
#define TINCA_UI_APP_DIALOG_H

#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct app;
struct canvas;

enum { DIALOG_MAX_CHOICES = 4, DIALOG_MAX_PICKS = 2, DIALOG_MAX_VALUES = 8 };

struct dialog_choice {
    int key, other;    /* letters that choose it at once; `other` may be 0 */
    const char *label; /* begins with the letter's word: "stop now and save" */
};

/* A row above the line to type: one of several values. */
struct dialog_pick {
    const char *label;
    char values[DIALOG_MAX_VALUES][64];
    size_t count, selected;
};

struct dialog {
    bool open;
    char title[64];
    char text[400];
    struct dialog_choice choices[DIALOG_MAX_CHOICES];
    size_t choice_count; /* 0: a line to type */
    size_t selected;
    struct dialog_pick picks[DIALOG_MAX_PICKS];
    size_t pick_count;
    size_t above; /* with picks: how many rows above the line the focus is; 0: on the line */
    bool asked;   /* whether a file that exists may be replaced */
    struct line_edit edit;
    char note[200];                                 /* below the line: what is wrong with it */
    void (*answer)(struct app *app, size_t choice); /* also for a typed line, choice 0 */
    bool (*edit_key)(struct app *app, int key);     /* keys with a meaning of their own; NULL */
    void (*edited)(struct app *app);                /* the line, or a pick, has changed; NULL */
};

enum dialog_result { DIALOG_OPEN, DIALOG_CANCELLED, DIALOG_ANSWERED };

/* Opens a dialog; its choices, or its line, are filled in by the caller. */
struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice));
void dialog_offer(struct dialog *dialog, int key, int other, const char *label);

/* Says below the line what is wrong with it as the path of a file; "": nothing is. */
void dialog_note_path(struct dialog *dialog);

/* Whether the file that the line names may be written: if it exists, Enter must be pressed twice; a
 * descriptor, FIFO or device is refused. False: the dialog is open again and says why. */
bool dialog_may_write(struct dialog *dialog, bool exists);

/* What a key does to an open dialog. Esc cancels; Enter takes the selected choice or the line. */
enum dialog_result dialog_key(struct dialog *dialog, int key);

void dialog_draw(const struct dialog *dialog, struct canvas *canvas);

#endif
