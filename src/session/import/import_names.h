/* import_names.h: what the name of a column, a key or a tag means. Trainers name the same quantity
 * in many ways (val_loss, Loss/validation, eval/loss), so a name is read as words. Internal to
 * session/import/. */
#ifndef TINCA_SESSION_IMPORT_IMPORT_NAMES_H
#define TINCA_SESSION_IMPORT_IMPORT_NAMES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum import_quantity {
    IMPORT_STEP,
    IMPORT_EPOCH,
    IMPORT_TIME, /* seconds, or a date */
    IMPORT_LOSS,
    IMPORT_RATE,
    IMPORT_VAL_LOSS,
    IMPORT_TOP1,     /* accuracy of a validation */
    IMPORT_TOP5,     /* the same */
    IMPORT_ACCURACY, /* of the training, or without a word that says of what */
    IMPORT_BATCH,    /* images per iteration */
    IMPORT_MEMORY,   /* bytes */
    IMPORT_QUANTITIES,
    IMPORT_UNKNOWN = IMPORT_QUANTITIES
};

enum { IMPORT_NAME_SIZE = 96 };

/* The names that were chosen for the quantities. Begin with {0}. */
struct import_names {
    struct import_name {
        char text[IMPORT_NAME_SIZE]; /* "": none yet */
        int rank;                    /* the lower, the better the name fits */
        bool given;                  /* by the user */
    } chosen[IMPORT_QUANTITIES];
    bool several; /* more than one validation accuracy was there, and the user named none */
};

/* Returns what a name means, and how well it fits: *rank is 0 for the plain name, and grows with
 * each word that says less or is unknown. */
enum import_quantity import_name_means(const char *name, int *rank);

/* Takes the user's choice, "loss=NAME,top1=NAME,...". NULL is allowed. Returns false with an error
 * if a quantity is unknown or a name is empty. */
bool import_names_give(struct import_names *names, const char *columns, struct error *error);

/* Offers a name. Returns the quantity whose chosen name it is now, or IMPORT_UNKNOWN. *replaced is
 * set to whether it replaces another name, whose values no longer count. `validation`: the place of
 * the name says that it is of a validation. */
enum import_quantity import_names_offer(struct import_names *names, const char *name,
                                        bool validation, bool *replaced);

#endif
