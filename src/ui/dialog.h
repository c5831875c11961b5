/* dialog.h: a question in a box: choices, or one line to type. Deciding here, drawing in
 * dialog_draw.c. The answer goes to the function that asked. */
#ifndef TINCA_UI_DIALOG_H
#define TINCA_UI_DIALOG_H

#include "ui/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct app;
struct canvas;

enum { DIALOG_MAX_CHOICES = 4 };

struct dialog_choice {
    int key, other;    /* letters that choose it at once; `other` may be 0 */
    const char *label; /* begins with the letter's word: "stop now and save" */
};

struct dialog {
    bool open;
    char title[64];
    char text[400];
    struct dialog_choice choices[DIALOG_MAX_CHOICES];
    size_t choice_count; /* 0: a line to type */
    size_t selected;
    struct line_edit edit;
    char note[200];                                 /* below the line: what is wrong with it */
    void (*answer)(struct app *app, size_t choice); /* also for a typed line, choice 0 */
    bool (*edit_key)(struct app *app, int key);     /* keys with a meaning of their own; NULL */
    void (*edited)(struct app *app);                /* the line has changed; NULL */
};

enum dialog_result { DIALOG_STAYS, DIALOG_CANCELLED, DIALOG_ANSWERED };

/* Opens a dialog; its choices, or its line, are filled in by the caller. */
struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice));
void dialog_offer(struct dialog *dialog, int key, int other, const char *label);

/* What a key does to an open dialog. Esc cancels; Enter takes the selected choice or the line. */
enum dialog_result dialog_key(struct dialog *dialog, int key);

void dialog_draw(const struct dialog *dialog, struct canvas *canvas);

#endif
