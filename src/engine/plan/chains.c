/* Chains of steps, in inference: consecutive steps of the execution order that run as one job of
 * the thread pool. A task of the job is one part, which is a band of rows of one image; it runs all
 * steps of the chain for its part, one after the other. That pays if several threads share an
 * image: with whole images as parts, the additional memory (below) costs more time than is saved.
 *
 * A chain consists of links. A step of a link may read, of a value that its own link computes, at
 * most the rows that it writes (it is row-local); of a value of the link before, also a few rows of
 * the neighbouring bands; of any older value all rows. A thread thus begins a link when all bands
 * have computed the rows next to their neighbours of the link before (base/threads/phases.h), which
 * they do first.
 *
 * A thread may be ahead of another one by up to two links. Nothing in a link may therefore write
 * memory that the link itself or the one before reads or writes: all of that is in use until the
 * end of the next link (live_ranges.c), and a chain is split where memory is shared nevertheless.
 */
#include "engine/plan/step_order.h"

#include "engine/ops/op.h"
#include "engine/plan/layouts.h"

/* --- which steps can join --- */

static bool rounds(const struct step_rounding *rounding)
{
    bool any = rounding->input || rounding->weights || rounding->output;
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++)
        any |= rounding->gradients[k];
    return any;
}

/* Returns whether the kernel of a step can compute some rows of an image, and nothing else has to
 * be done for the step. */
static bool can_be_in_chain(const struct plan_step *step)
{
    if (!step->kernel->forward_rows || step->kernel->bands(&step->site) == 0 || step->falls_back ||
        step->by_blocks || rounds(&step->rounding))
        return false;
    for (size_t k = 0; k < step->input_count; k++)
        if (step->copies[k] != PLAN_NONE)
            return false;
    return true;
}

/* Returns how many rows beyond those that it writes a step reads of its first input, above or below
 * them; SIZE_MAX if the rows of its output are not those of the input. It reads no more rows of a
 * second summand than it writes. */
static size_t reach(const struct plan_step *step)
{
    const struct conv_attributes *conv = &step->site.node->attributes.conv;
    const struct node *move = step->site.fused_move;
    if (step->site.node->op != &op_conv || conv->window.stride_height != 1)
        return SIZE_MAX;
    const size_t above = conv->window.pad_height;
    const size_t height = dilated_size(conv->window.kernel_height, conv->dilation_height);
    const size_t below = height > above + 1 ? height - 1 - above : 0;
    return (above > below ? above : below) + (move && move->op == &op_channel_shift);
}

/* Returns whether a step from `first` on computes the value of a node, or some of it. */
static bool computed_since(const struct plan *plan, size_t node, size_t first)
{
    const struct plan_step *step = plan_find_step(plan, node);
    while (step && !step->kernel && !step->joins)
        step = plan_find_step(plan, step->inputs[0]);
    if (!step || step < plan->steps + first)
        return false;
    bool computed = step->kernel;
    for (size_t k = 0; k < step->input_count && !computed; k++)
        computed = computed_since(plan, step->inputs[k], first);
    return computed;
}

static bool needs_workspace(const struct plan_step *step)
{
    return step->kernel->workspace_bytes && step->kernel->workspace_bytes(&step->site) > 0;
}

/* Returns whether a step of [first, end) uses the workspace. */
static bool uses_workspace(const struct plan *plan, size_t first, size_t end)
{
    bool uses = false;
    for (size_t s = first; s < end; s++)
        uses |= plan->steps[s].kernel && needs_workspace(&plan->steps[s]);
    return uses;
}

/* A chain that grows: the first steps of its last two links, which are the same in a chain of one
 * link. */
struct growing_chain {
    size_t before, link;
};

/* Returns whether step s has to begin a link in order to join the chain. */
static bool needs_link(const struct plan *plan, const struct growing_chain *chain, size_t s)
{
    const struct plan_step *step = &plan->steps[s];
    const size_t rows = reach(step);
    return rows > 0 &&
           (computed_since(plan, step->inputs[0], chain->link) ||
            (rows > PLAN_BORDER_ROWS && computed_since(plan, step->inputs[0], chain->before)));
}

/* Adds step s to the chain, if it can join. Threads divide the workspace as each kernel wants, so
 * only one step of a link and the one before it may use it. */
static bool join(struct plan *plan, struct growing_chain *chain, size_t s)
{
    struct plan_step *step = &plan->steps[s];
    const size_t height = plan->steps[chain->link].site.node->output.height;
    const bool link = needs_link(plan, chain, s);
    const size_t before = link ? chain->link : chain->before;
    if (step->site.node->output.height != height ||
        (link && reach(step) > PLAN_BORDER_ROWS &&
         computed_since(plan, step->inputs[0], chain->link)) ||
        (needs_workspace(step) && uses_workspace(plan, before, s)))
        return false;
    step->begins_link = link;
    if (link)
        *chain = (struct growing_chain){.before = chain->link, .link = s};
    return true;
}

/* Makes the longest chain that can begin with step `first`; returns the number of the step after
 * it. */
static size_t make_chain(struct plan *plan, size_t first)
{
    struct growing_chain chain = {first, first};
    size_t end = first + 1;
    for (size_t s = end; s < plan->step_count; s++) {
        if (!plan->steps[s].kernel)
            continue;
        if (!can_be_in_chain(&plan->steps[s]) || !join(plan, &chain, s))
            break;
        end = s + 1;
    }
    return end;
}

/* Returns whether several threads share an image in a step of [first, end). */
static bool divides_images(const struct plan *plan, size_t first, size_t end)
{
    bool divides = false;
    for (size_t s = first; s < end; s++) {
        const struct plan_step *step = &plan->steps[s];
        divides |= step->kernel && step->kernel->bands(&step->site) > 1;
    }
    return divides;
}

void step_order_find_chains(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        plan->steps[s].chain_end = s + 1;
    if (plan->mode != PLAN_INFERENCE)
        return;
    for (size_t s = 0; s < plan->step_count; s = plan->steps[s].chain_end) {
        struct plan_step *step = &plan->steps[s];
        if (!step->kernel || !can_be_in_chain(step))
            continue;
        const size_t end = make_chain(plan, s);
        if (divides_images(plan, s, end))
            step->chain_end = end;
    }
}

/* --- memory --- */

/* Bytes [begin, end) of the arena that belong to the value of node `owner`; a concatenation owns
 * its parts, which never overlap. */
struct arena_range {
    size_t owner, begin, end;
};

static struct arena_range range_of(const struct plan *plan, size_t node)
{
    const struct plan_step *step = plan_find_step(plan, node);
    while (step && !step->kernel && !step->joins) {
        node = step->inputs[0];
        step = plan_find_step(plan, node);
    }
    if (step && step->part_of != PLAN_NONE)
        node = step->part_of;
    const size_t begin = plan->values[node];
    if (begin == PLAN_NONE) /* an input of the network */
        return (struct arena_range){.owner = node};
    return (struct arena_range){node, begin, begin + layouts_value_bytes(plan, node)};
}

static bool ranges_overlap(struct arena_range a, struct arena_range b)
{
    return a.owner != b.owner && a.begin < b.end && b.begin < a.end;
}

/* Returns the first step of the link before that of step s, in the chain that begins with `first`.
 */
static size_t link_before(const struct plan *plan, size_t first, size_t s)
{
    size_t links = 0;
    while (s > first && (links += plan->steps[s].begins_link) < 2)
        s--;
    return s;
}

/* Returns whether step s of a chain writes memory that an earlier step of its link, or of the link
 * before, reads or writes. */
static bool disturbs(const struct plan *plan, size_t first, size_t s)
{
    const struct arena_range written = range_of(plan, plan->steps[s].node);
    for (size_t i = link_before(plan, first, s); i < s; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (!step->kernel)
            continue;
        if (ranges_overlap(written, range_of(plan, step->node)))
            return true;
        for (size_t k = 0; k < step->input_count; k++)
            if (ranges_overlap(written, range_of(plan, step->inputs[k])))
                return true;
    }
    return false;
}

void step_order_split_chains(struct plan *plan)
{
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end) {
        const size_t end = plan->steps[first].chain_end;
        for (size_t s = first + 1; s < end; s++)
            if (plan->steps[s].kernel && disturbs(plan, first, s)) {
                plan->steps[first].chain_end = s;
                plan->steps[s].chain_end = end;
                plan->steps[s].begins_link = false;
                break;
            }
    }
}
