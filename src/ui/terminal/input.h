/* input.h: turns the bytes that a terminal sends into keys (keys.h). No reading: terminal.c does
 * it.
 *
 * Control sequences may arrive in pieces. A sequence that is not known is dropped as a whole, so
 * that its bytes are never typed. A bracketed paste becomes one key, UI_PASTE, with its text.
 */
#ifndef TINCA_UI_TERMINAL_INPUT_H
#define TINCA_UI_TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    INPUT_BYTES = 256,
    INPUT_PASTE_BYTES = 4096,
    INPUT_SEQUENCES = 16,
    INPUT_SEQUENCE_BYTES = 16
};

/* A decoder; initialise it with {0}. */
struct input {
    char bytes[INPUT_BYTES]; /* what has arrived and is not decoded yet */
    size_t count;
    double arrived; /* when the last bytes arrived, in seconds */
    double wait;    /* seconds after that until the bytes are decoded as they are; 0: at once */

    bool escape_reported; /* an Esc was reported because nothing followed in time, */
    double escape_at;     /* then */

    bool pasting;
    char paste[INPUT_PASTE_BYTES]; /* the text of the last paste, NUL-terminated; cut if too long */
    size_t paste_length;

    int row, column; /* of the last event of the mouse, from 0 */

    struct {
        char bytes[INPUT_SEQUENCE_BYTES];
        int key;
    } sequences[INPUT_SEQUENCES]; /* what input_define has added */
    size_t sequence_count;
};

/* Adds a sequence that the terminal sends for a key, in addition to the usual ones. Sequences of
 * one byte, NULL, and those that do not fit are ignored. */
void input_define(struct input *input, const char *bytes, int key);

/* Adds bytes that have arrived at the time `now` (in seconds). Returns how many it has taken; when
 * they do not all fit, call input_key before adding the rest. */
size_t input_put(struct input *input, const char *bytes, size_t count, double now);

/* Decodes the next key. Returns UI_NONE if there is none, or if it is not complete. */
int input_key(struct input *input, double now);

/* Returns in how many seconds input_key has to be called even if no byte arrives; INFINITY: not at
 * all. */
double input_seconds(const struct input *input, double now);

#endif
