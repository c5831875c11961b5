/* seeds.h: trains and continues groups of seeds (runs/history/seed_group.h), one run after the
 * other. Functions that return int return the exit status and have printed their error. */
#ifndef TINCA_CLI_SEEDS_H
#define TINCA_CLI_SEEDS_H

#include "cli/train.h"

/* Trains the runs of --seeds and prints their means. The request has been checked. */
int seeds_train(const struct train *train);

/* Continues the unfinished runs of a group and trains its missing ones. */
int seeds_resume(const char *operand, const struct train *train);

#endif
