/* dialog.h: a dialog box with either a list of choices or one line of text to type, with optional
 * rows of values above it. Only one dialog is open at a time (app->dialog). The caller's `answer`
 * function receives the result. */
#ifndef TINCA_UI_APP_DIALOG_H
#define TINCA_UI_APP_DIALOG_H

#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

struct app;
struct canvas;

enum { DIALOG_MAX_CHOICES = 4, DIALOG_MAX_PICKS = 2, DIALOG_MAX_VALUES = 16 };

struct dialog_choice {
    int key, other;    /* letters that choose it at once; `other` may be 0 */
    const char *label; /* what the choice does: "stop it, and save" */
};

/* A row above the text line with a choice of several values, such as the file format. */
struct dialog_pick {
    const char *label;
    char values[DIALOG_MAX_VALUES][64];
    size_t count, selected;
};

/* The line is the path of a file to write; this says what is there already. */
enum path_kind {
    PATH_UNKNOWN, /* the disk has not answered yet */
    PATH_FREE,
    PATH_FILE,
    PATH_FOLDER,
    PATH_STREAM /* a descriptor, FIFO or device */
};

struct dialog {
    bool open;
    char title[64];
    char text[400];
    struct dialog_choice choices[DIALOG_MAX_CHOICES];
    size_t choice_count; /* 0: the dialog has a text line instead */
    size_t selected;     /* choice */
    struct dialog_pick picks[DIALOG_MAX_PICKS];
    size_t pick_count;
    size_t above; /* the focus is this many rows above the text line; 0: on the line */
    bool kept;    /* something was typed, or the question is whether to run: F5 does not close it */
    bool asked;   /* the user was asked whether the existing file may be replaced */
    struct line_edit edit;
    struct completion completion;                   /* candidates for the line, after Tab */
    completion_source *source;                      /* adds them; NULL: nothing completes it */
    const void *context;                            /* what `source` is given */
    bool follows;                                   /* they are shown while the user types, too */
    char looked_at[512];                            /* the line whose kind is known */
    enum path_kind kind;                            /* of `looked_at` */
    bool looking;                                   /* a thread looks at the line */
    bool note_waits;                                /* the note follows from what it finds */
    char note[200];                                 /* below the line: what is wrong with it */
    void (*answer)(struct app *app, size_t choice); /* choice 0 for a typed line */
    bool (*edit_key)(struct app *app, int key);     /* handles a key first; NULL: none */
    void (*edited)(struct app *app);                /* the line or a pick has changed; NULL: none */
};

enum dialog_result { DIALOG_OPEN, DIALOG_CANCELLED, DIALOG_ANSWERED };

/* Opens an empty dialog and returns it. The caller adds choices (dialog_offer) or begins the text
 * line (line_edit_begin). */
struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice));
/* Adds a choice. `key` and `other` (0: none) are the letters that choose it at once. */
void dialog_offer(struct dialog *dialog, int key, int other, const char *label);

/* Begins the line with a text. `source` (NULL: none) adds candidates for it; completion_of_paths
 * makes it the path of a file. */
void dialog_begin_line(struct dialog *dialog, const char *text, bool replace,
                       completion_source *source, const void *context);

/* Returns what the open dialog's line names. If that is not known yet, a thread looks, and
 * dialog->edited is called when it knows. */
enum path_kind dialog_path_kind(struct app *app);

/* Sets dialog->note to what is wrong with the line as the path of a file to write; "": nothing, or
 * it is not known yet (dialog_path_kind). */
void dialog_note_path(struct app *app);

/* Returns whether the file that the line names may be written. If it exists, the user must press
 * Enter twice; a descriptor, FIFO or device is refused. When it returns false, the dialog is open
 * again and its note says why. */
bool dialog_may_write(struct dialog *dialog, bool exists);

/* Applies a key to an open dialog and returns the dialog's state after it. Esc cancels; Enter
 * answers with the selected choice or the line, in which the ~ of a path is then expanded. Tab
 * completes a line that has a source. */
enum dialog_result dialog_key(struct dialog *dialog, int key);

/* Returns whether nothing is lost when the dialog is closed without an answer. */
bool dialog_may_be_left(const struct dialog *dialog);

/* Closes the dialog without an answer. */
void dialog_close(struct dialog *dialog);

/* Adds files that have become known in the meantime to the candidates for the line. */
void dialog_step(struct dialog *dialog);

/* Draws the dialog in the middle of the screen. */
void dialog_draw(struct dialog *dialog, struct canvas *canvas);

#endif
