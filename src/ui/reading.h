/* reading.h: the kept runs that are being read in the background (session/run_reader.h): the
 * outlines of those in the list, and the one that is to be shown. No key waits for them. */
#ifndef TINCA_UI_READING_H
#define TINCA_UI_READING_H

#include <stdbool.h>
#include <stddef.h>

struct app;
struct run_entry;
struct run_read;
struct run_reader;
struct screen;

struct reading_view {            /* starts as {0} */
    struct run_reader *outlines; /* NULL: none are being read */
    size_t taken;                /* of the outlines' results */
    struct run_reader *whole;    /* the run that is to be shown; NULL: none */
    const struct screen *from;   /* it replaces this screen, once that is in front */
    bool attached;               /* `tinca attach` asked for it */
};

void reading_free(struct reading_view *view);

/* Takes what has been read, and shows the run that was asked for. */
void reading_step(struct app *app);

/* Whether something is being read. */
bool reading_busy(const struct app *app);

/* Reads the kept runs that are not known yet, the newest first. True: call it again at once. */
bool reading_outlines(struct app *app);

/* Whether the run is not known yet. */
bool reading_is_unread(const struct run_entry *entry);

/* Whether any kept run is not known yet. */
bool reading_any_unread(const struct app *app);

/* Reads the whole of a kept run and shows it then; Esc abandons that. */
void reading_open(struct app *app, const struct run_entry *entry, bool attached);

/* Esc on the screen that waits for a run. False: none waits. */
bool reading_abandon(struct app *app);

/* The kept run that lies there, or NULL. */
struct run_entry *reading_entry(struct app *app, const char *directory);

#endif
