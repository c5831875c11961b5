/* Numbers the channels of all nodes; a disjoint-set forest (Tarjan 1975) joins those that belong
 * together: each operator has one rule that joins channels of its inputs and its output. The root
 * of a set is its channel with the smallest number, so that the result does not depend on the order
 * of the rules. The reason to keep a channel (channel_hold) is recorded at that channel, and
 * spreads to its set at the end. */
#include "engine/compress/channel_groups.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

struct finder {
    struct channel_groups *groups;
    const struct graph *graph;
    size_t *parent;
    enum channel_hold *hold; /* by channel */
    size_t *holder;
};

/* --- sets --- */

static size_t root_of(struct finder *finder, size_t channel)
{
    size_t *parent = finder->parent;
    while (parent[channel] != channel) {
        parent[channel] = parent[parent[channel]];
        channel = parent[channel];
    }
    return channel;
}

static void join(struct finder *finder, size_t a, size_t b)
{
    a = root_of(finder, a);
    b = root_of(finder, b);
    if (a < b)
        finder->parent[b] = a;
    else
        finder->parent[a] = b;
}

/* Returns the number of channel `c` of a node. */
static size_t channel_at(const struct finder *finder, size_t node, size_t c)
{
    return finder->groups->first[node] + c;
}

/* Returns the node that is input `k` of a node, and its channels. */
static size_t input_node(const struct finder *finder, size_t node, size_t k)
{
    return finder->graph->nodes[node].inputs[k];
}

static size_t input_channels(const struct finder *finder, size_t node, size_t k)
{
    return finder->graph->nodes[input_node(finder, node, k)].output.channels;
}

/* Marks all channels of a node as held. An earlier reason stays. */
static void hold_node(struct finder *finder, size_t node, enum channel_hold hold, size_t holder)
{
    const struct channel_groups *groups = finder->groups;
    for (size_t i = groups->first[node]; i < groups->first[node + 1]; i++)
        if (finder->hold[i] == CHANNEL_FREE) {
            finder->hold[i] = hold;
            finder->holder[i] = holder;
        }
}

/* Joins the channels of a node that have the same place in each of `parts` parts; the parts cover
 * channels [0, count). */
static void join_places(struct finder *finder, size_t node, size_t parts, size_t count)
{
    const size_t places = count / parts;
    for (size_t part = 1; part < parts; part++)
        for (size_t place = 0; place < places; place++)
            join(finder, channel_at(finder, node, place),
                 channel_at(finder, node, part * places + place));
}

/* --- the rules of the operators --- */

typedef void coupling_rule(struct finder *finder, size_t node);

/* Joins each channel of every input with the channel of the output with the same number. */
static void join_each(struct finder *finder, size_t node)
{
    for (size_t k = 0; k < finder->graph->nodes[node].input_count; k++)
        for (size_t c = 0; c < input_channels(finder, node, k); c++)
            join(finder, channel_at(finder, input_node(finder, node, k), c),
                 channel_at(finder, node, c));
}

static void join_nothing(struct finder *finder, size_t node)
{
    (void)finder;
    (void)node;
}

bool channel_groups_are_whole(const struct conv_attributes *conv, size_t inputs)
{
    return conv->groups > 1 && (inputs == conv->groups || conv->outputs == conv->groups);
}

static void join_conv(struct finder *finder, size_t node)
{
    const struct conv_attributes *conv = &finder->graph->nodes[node].attributes.conv;
    const size_t from = input_node(finder, node, 0), inputs = input_channels(finder, node, 0);
    if (!channel_groups_are_whole(conv, inputs)) {
        join_places(finder, from, conv->groups, inputs);
        join_places(finder, node, conv->groups, conv->outputs);
        return;
    }
    for (size_t i = 0; i < inputs; i++)
        join(finder, channel_at(finder, from, i),
             channel_at(finder, node, i * conv->groups / inputs * (conv->outputs / conv->groups)));
    for (size_t o = 0; o < conv->outputs; o++)
        join(finder, channel_at(finder, node, o),
             channel_at(finder, from, o * conv->groups / conv->outputs * (inputs / conv->groups)));
}

static void join_concat(struct finder *finder, size_t node)
{
    size_t at = 0;
    for (size_t k = 0; k < finder->graph->nodes[node].input_count; k++)
        for (size_t c = 0; c < input_channels(finder, node, k); c++)
            join(finder, channel_at(finder, input_node(finder, node, k), c),
                 channel_at(finder, node, at++));
}

static void join_flatten(struct finder *finder, size_t node)
{
    const size_t from = input_node(finder, node, 0);
    const size_t area = shape_area(finder->graph->nodes[from].output);
    for (size_t i = 0; i < finder->graph->nodes[node].output.channels; i++)
        join(finder, channel_at(finder, from, i / area), channel_at(finder, node, i));
}

static void join_shuffle(struct finder *finder, size_t node)
{
    const size_t from = input_node(finder, node, 0), channels = input_channels(finder, node, 0);
    const size_t parts = finder->graph->nodes[node].attributes.shuffle.groups;
    for (size_t c = 0; c < channels; c++)
        join(finder, channel_at(finder, node, c),
             channel_at(finder, from, c % parts * (channels / parts) + c / parts));
    join_places(finder, from, parts, channels);
}

static void join_shift(struct finder *finder, size_t node)
{
    const size_t channels = finder->graph->nodes[node].output.channels;
    join_each(finder, node);
    join_places(finder, node, 9, channels / 9 * 9);
}

static void join_dropout(struct finder *finder, size_t node)
{
    join_each(finder, node);
    if (finder->graph->nodes[node].attributes.dropout.always)
        hold_node(finder, node, CHANNEL_NOISE, node);
}

static void hold_neighbours(struct finder *finder, size_t node)
{
    join_each(finder, node);
    hold_node(finder, node, CHANNEL_NEIGHBOURS, node);
}

static void hold_shares(struct finder *finder, size_t node)
{
    join_each(finder, node);
    hold_node(finder, node, CHANNEL_SHARES, node);
}

static void hold_input(struct finder *finder, size_t node)
{
    hold_node(finder, node, CHANNEL_INPUT, node);
}

static void hold_inputs_of_loss(struct finder *finder, size_t node)
{
    for (size_t k = 0; k < finder->graph->nodes[node].input_count; k++)
        hold_node(finder, input_node(finder, node, k), CHANNEL_OUTPUT, node);
    hold_node(finder, node, CHANNEL_OUTPUT, node);
}

static void hold_unknown(struct finder *finder, size_t node)
{
    for (size_t k = 0; k < finder->graph->nodes[node].input_count; k++)
        hold_node(finder, input_node(finder, node, k), CHANNEL_UNKNOWN, node);
    hold_node(finder, node, CHANNEL_UNKNOWN, node);
}

static const struct coupling {
    const struct op *op;
    coupling_rule *rule;
    size_t parameters; /* the most that the rule handles; a node with more has no rule */
} couplings[] = {
    {&op_input, hold_input, 0},         {&op_conv, join_conv, 2},
    {&op_conv_transpose, join_conv, 2}, {&op_linear, join_nothing, 2},
    {&op_max_pool, join_each, 0},       {&op_average_pool, join_each, 0},
    {&op_relu, join_each, 0},           {&op_leaky_relu, join_each, 0},
    {&op_prelu, join_each, 1},          {&op_elu, join_each, 0},
    {&op_gelu, join_each, 0},           {&op_silu, join_each, 0},
    {&op_hardswish, join_each, 0},      {&op_sigmoid, join_each, 0},
    {&op_hardsigmoid, join_each, 0},    {&op_tanh, join_each, 0},
    {&op_softmax, hold_shares, 0},      {&op_batch_norm, join_each, 4},
    {&op_lrn, hold_neighbours, 0},      {&op_dropout, join_dropout, 0},
    {&op_concat, join_concat, 0},       {&op_add, join_each, 0},
    {&op_flatten, join_flatten, 0},     {&op_channel_shuffle, join_shuffle, 0},
    {&op_channel_shift, join_shift, 0}, {&op_channel_scale, join_each, 0},
};

static const struct coupling *find_coupling(const struct op *op)
{
    for (size_t i = 0; i < sizeof couplings / sizeof *couplings; i++)
        if (couplings[i].op == op)
            return &couplings[i];
    return NULL;
}

bool channel_groups_know(const struct op *op)
{
    return op->traits & OP_LOSS || find_coupling(op);
}

/* Returns whether a layer has scales of its weights, which pruning does not change. */
static bool is_quantized(const struct graph *graph, const struct node *node)
{
    return node->parameter_count > 0 &&
           graph_weight_scale(graph, &graph->parameters[node->parameters[0]]);
}

static void couple(struct finder *finder, size_t number)
{
    const struct node *node = &finder->graph->nodes[number];
    const struct coupling *coupling = find_coupling(node->op);
    if (node->op->traits & OP_LOSS)
        hold_inputs_of_loss(finder, number);
    else if (coupling && node->parameter_count <= coupling->parameters &&
             !is_quantized(finder->graph, node))
        coupling->rule(finder, number);
    else
        hold_unknown(finder, number);
}

/* --- the result --- */

static bool allocate(struct finder *finder, struct error *error)
{
    struct channel_groups *groups = finder->groups;
    const struct graph *graph = finder->graph;
    groups->first = memory_new(graph->node_count + 1, sizeof *groups->first, "channels", error);
    if (!groups->first)
        return false;
    for (size_t i = 0; i < graph->node_count; i++)
        groups->first[i + 1] = groups->first[i] + graph->nodes[i].output.channels;
    const size_t count = groups->channel_count = groups->first[graph->node_count];
    return (groups->node_of = memory_new(count, sizeof *groups->node_of, "channels", error)) &&
           (groups->group_of = memory_new(count, sizeof *groups->group_of, "channels", error)) &&
           (groups->channels = memory_new(count, sizeof *groups->channels, "channels", error)) &&
           (groups->groups = memory_new(count, sizeof *groups->groups, "channels", error)) &&
           (finder->parent = memory_new(count, sizeof *finder->parent, "channels", error)) &&
           (finder->hold = memory_new(count, sizeof *finder->hold, "channels", error)) &&
           (finder->holder = memory_new(count, sizeof *finder->holder, "channels", error));
}

/* Numbers the sets in the order of their roots, which are their first channels. */
static void number_groups(struct finder *finder)
{
    struct channel_groups *groups = finder->groups;
    for (size_t i = 0; i < groups->channel_count; i++) {
        const size_t root = root_of(finder, i);
        if (root == i)
            groups->group_of[i] = groups->count++;
        struct channel_group *group = &groups->groups[groups->group_of[root]];
        groups->group_of[i] = groups->group_of[root];
        group->size++;
        if (group->hold == CHANNEL_FREE) {
            group->hold = finder->hold[i];
            group->holder = finder->holder[i];
        }
    }
    for (size_t g = 1; g < groups->count; g++)
        groups->groups[g].begin = groups->groups[g - 1].begin + groups->groups[g - 1].size;
}

static void list_channels(struct finder *finder)
{
    struct channel_groups *groups = finder->groups;
    size_t *filled = finder->holder; /* reuses an array that is not needed any more */
    memset(filled, 0, groups->channel_count * sizeof *filled);
    for (size_t i = 0; i < groups->channel_count; i++) {
        const size_t group = groups->group_of[i];
        groups->channels[groups->groups[group].begin + filled[group]++] = i;
    }
}

bool channel_groups_find(struct channel_groups *groups, const struct graph *graph, const bool *keep,
                         struct error *error)
{
    struct finder finder = {.groups = groups, .graph = graph};
    *groups = (struct channel_groups){.graph = graph};
    const bool allocated = allocate(&finder, error);
    for (size_t i = 0; allocated && i < groups->channel_count; i++)
        finder.parent[i] = i;
    for (size_t i = 0; allocated && i < graph->node_count; i++) {
        for (size_t c = groups->first[i]; c < groups->first[i + 1]; c++)
            groups->node_of[c] = i;
        if (keep && keep[i])
            hold_node(&finder, i, CHANNEL_ASKED, i);
        couple(&finder, i);
    }
    if (allocated) {
        number_groups(&finder);
        list_channels(&finder);
    } else
        channel_groups_free(groups);
    free(finder.parent);
    free(finder.hold);
    free(finder.holder);
    return allocated;
}

void channel_groups_free(struct channel_groups *groups)
{
    free(groups->first);
    free(groups->node_of);
    free(groups->group_of);
    free(groups->channels);
    free(groups->groups);
    *groups = (struct channel_groups){0};
}

const char *channel_hold_text(enum channel_hold hold)
{
    switch (hold) {
    case CHANNEL_INPUT:
        return N_("they are the network's input");
    case CHANNEL_OUTPUT:
        return N_("a loss reads them");
    case CHANNEL_NEIGHBOURS:
        return N_("an operator after them sums over neighbouring channels");
    case CHANNEL_SHARES:
        return N_("an operator after them divides by a sum over all channels");
    case CHANNEL_NOISE:
        return N_("the noise that is added to them depends on their place");
    case CHANNEL_ASKED:
        return N_("--keep names their layer");
    case CHANNEL_UNKNOWN:
        return N_("an operator that reads or makes them is not known here, or is quantized");
    case CHANNEL_FREE:
        break;
    }
    return "";
}
