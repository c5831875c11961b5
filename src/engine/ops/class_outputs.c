/* The walk goes from each loss over classes backwards through operators that keep the channels,
 * until it reaches the layer whose number of outputs the network file gives. */
#include "engine/ops/class_outputs.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reads_labels(const struct graph *graph, size_t loss)
{
    return graph->nodes[graph->losses[loss]].op->traits & OP_READS_LABELS;
}

/* Returns the number of values of the node that a loss reads. */
static size_t outputs_of(const struct graph *graph, size_t loss)
{
    return shape_count(graph->nodes[graph->nodes[graph->losses[loss]].inputs[0]].output);
}

size_t graph_classes(const struct graph *graph)
{
    return graph->loss_count > 0 && reads_labels(graph, 0) ? outputs_of(graph, 0) : 0;
}

bool graph_classes_agree(const struct graph *graph, size_t *other)
{
    const size_t classes = graph_classes(graph);
    for (size_t i = 0; classes > 0 && i < graph->loss_count; i++) {
        *other = reads_labels(graph, i) ? outputs_of(graph, i) : classes;
        if (*other != classes)
            return false;
    }
    return true;
}

bool graph_counts_outputs(const struct node *node)
{
    return node->op == &op_conv || node->op == &op_linear;
}

/* Returns whether the node has the channels of its inputs, whatever their number. */
static bool keeps_channels(const struct graph *graph, const struct node *node)
{
    for (size_t k = 0; k < node->input_count; k++)
        if (graph->nodes[node->inputs[k]].output.channels != node->output.channels)
            return false;
    return node->input_count == 1 || node->op == &op_add;
}

/* Marks the layers that give node `number` its channels. Nodes are in topological order, so one
 * pass from the last to the first reaches all. Returns false if they have no such layer. */
static bool mark_from(const struct graph *graph, size_t number, bool *marks)
{
    marks[number] = true;
    for (size_t i = number + 1; i-- > 0;) {
        const struct node *node = &graph->nodes[i];
        if (!marks[i] || graph_counts_outputs(node))
            continue;
        if (i == 0 || node->op == &op_input || !keeps_channels(graph, node))
            return false;
        for (size_t k = 0; k < node->input_count; k++)
            marks[node->inputs[k]] = true;
    }
    return true;
}

/* Returns whether only the marked nodes and losses read marked nodes. */
static bool read_by_losses_alone(const struct graph *graph, const bool *marks)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (marks[i] ? graph_counts_outputs(node) : (bool)(node->op->traits & OP_LOSS))
            continue;
        for (size_t k = 0; k < node->input_count; k++)
            if (marks[node->inputs[k]] != marks[i])
                return false;
    }
    return true;
}

/* Returns whether no output layer reads another one: both would be made anew. */
static bool are_last(const struct graph *graph, const bool *marks)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (marks[i] && graph_counts_outputs(&graph->nodes[i]) && marks[graph->nodes[i].inputs[0]])
            return false;
    return true;
}

bool graph_mark_outputs(const struct graph *graph, bool *marks)
{
    bool found = graph_classes(graph) > 0;
    memset(marks, 0, graph->node_count * sizeof *marks);
    for (size_t i = 0; found && i < graph->loss_count; i++)
        if (reads_labels(graph, i))
            found = mark_from(graph, graph->nodes[graph->losses[i]].inputs[0], marks);
    if (found && read_by_losses_alone(graph, marks) && are_last(graph, marks))
        return true;
    memset(marks, 0, graph->node_count * sizeof *marks);
    return false;
}

static size_t count_readers(const struct graph *graph, size_t number)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t k = 0; k < graph->nodes[i].input_count; k++)
            count += graph->nodes[i].inputs[k] == number;
    return count;
}

bool graph_leave_out_softmax(struct graph *graph, size_t *output)
{
    size_t *read = output;
    for (size_t readers = 0;
         graph->nodes[*read].op == &op_flatten || graph->nodes[*read].op == &op_dropout;
         readers = 1) {
        if (count_readers(graph, *read) > readers) /* other layers need the probabilities */
            return false;
        read = &graph->nodes[*read].inputs[0];
    }
    const struct node *node = &graph->nodes[*read];
    const bool vector = shape_area(node->output) == 1;
    if (node->op != &op_softmax || !(vector || (node->attributes.softmax.image && read != output)))
        return false;
    *read = node->inputs[0];
    return true;
}

const struct op *graph_probabilities(const struct graph *graph, size_t output)
{
    const struct node *node = &graph->nodes[output];
    const bool vector = shape_area(node->output) == 1;
    while (node->op == &op_flatten || node->op == &op_dropout)
        node = &graph->nodes[node->inputs[0]];
    return node->op == &op_softmax || (node->op == &op_sigmoid && vector) ? node->op : NULL;
}

const struct op *graph_main_probabilities(const struct graph *graph)
{
    if (graph->loss_count == 0 || reads_labels(graph, 0))
        return NULL;
    return graph_probabilities(graph, graph->nodes[graph->losses[0]].inputs[0]);
}

char *graph_output_names(const struct graph *graph, char *text, size_t size)
{
    bool *marks = memory_new(graph->node_count, sizeof *marks, "the names", NULL);
    size_t used = 0;
    text[0] = '\0';
    if (marks)
        graph_mark_outputs(graph, marks);
    for (size_t i = 0; marks && i < graph->node_count && used < size; i++)
        if (marks[i] && graph_counts_outputs(&graph->nodes[i]))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     graph->nodes[i].name);
    free(marks);
    return text;
}
