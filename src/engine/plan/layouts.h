/* layouts.h: how the values of a plan lie in memory. Internal to the plan. */
#ifndef TINCA_ENGINE_PLAN_LAYOUTS_H
#define TINCA_ENGINE_PLAN_LAYOUTS_H

#include "engine/plan/plan.h"

/* Sets plain[] (by node) to true for the nodes whose value must have the plain layout, because the
 * caller reads it. */
void layouts_mark_plain(const struct plan *plan, bool *plain);

/* Returns whether the convolutions of a training use most of the lanes of channel-blocked values:
 * channels that do not fill their last block cost as much as others. */
bool layouts_pay(const struct plan *plan);

/* Offers a step the layouts of its site, before its kernel is chosen: its inputs have the layouts
 * of the steps before it, and its output may be channel-blocked unless `plain` is set. */
void layouts_offer(const struct plan *plan, struct plan_step *step, bool plain);

/* Records the layout of the step's value that follows from its kernel. */
void layouts_settle(struct plan *plan, struct plan_step *step);

/* Returns whether the kernel of a step of a training plan knows the layouts of its inputs. In
 * inference it need not, since the plan provides plain copies. */
bool layouts_agree(const struct plan *plan, const struct plan_step *step);

/* Makes values channels-last where the kernel that writes them and all that read them work on such
 * values, and sets the layouts of the sites. The steps have the kernels that they would have with
 * plain values; plain[] is that of layouts_mark_plain. Returns whether any value is channels-last.
 */
bool layouts_put_channels_last(struct plan *plan, const bool *plain);

/* Completes the layouts of all values, after fusion: which parts of a concatenation are written in
 * place, how much padding each value has, and which inputs a kernel reads as a plain copy. */
void layouts_complete(struct plan *plan);

/* Returns the bytes of a node's value in the arena. */
size_t layouts_value_bytes(const struct plan *plan, size_t node);

/* Returns the bytes of the copy of an input that the kernel of a step reads. */
size_t layouts_copy_bytes(const struct plan *plan, const struct plan_step *step, size_t input);

/* Returns how many values kernels read as copies. */
size_t layouts_copy_count(const struct plan *plan);

#endif
