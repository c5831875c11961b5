/* op_cases --list: the operator cases that have goldens as JSON, for make_goldens.py. */
#include "op_harness.h"

#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_pair(struct json *to, const char *key, size_t first, size_t second)
{
    struct json *pair = json_add_array(to, key);
    json_add_count(pair, NULL, first);
    json_add_count(pair, NULL, second);
}

static void add_window(struct json *to, const struct window *window)
{
    add_pair(to, "kernel", window->kernel_height, window->kernel_width);
    add_pair(to, "stride", window->stride_height, window->stride_width);
    add_pair(to, "pad", window->pad_height, window->pad_width);
}

static void add_conv(struct json *to, const union attributes *a)
{
    add_window(to, &a->conv.window);
    json_add_count(to, "groups", a->conv.groups);
    add_pair(to, "dilation", a->conv.dilation_height, a->conv.dilation_width);
}

static void add_pool(struct json *to, const union attributes *a)
{
    add_window(to, &a->pool.window);
    json_add_bool(to, "ceil", a->pool.ceil_mode);
}

static void add_leaky_relu(struct json *to, const union attributes *a)
{
    json_add_float(to, "slope", a->leaky_relu.slope);
}

static void add_elu(struct json *to, const union attributes *a)
{
    json_add_float(to, "alpha", a->elu.alpha);
}

static void add_batch_norm(struct json *to, const union attributes *a)
{
    json_add_float(to, "epsilon", a->batch_norm.epsilon);
    json_add_float(to, "momentum", a->batch_norm.momentum);
    json_add_bool(to, "instance", a->batch_norm.instance);
}

static void add_lrn(struct json *to, const union attributes *a)
{
    json_add_count(to, "size", a->lrn.size);
    json_add_float(to, "alpha", a->lrn.alpha);
    json_add_float(to, "beta", a->lrn.beta);
    json_add_float(to, "k", a->lrn.k);
}

static void add_dropout(struct json *to, const union attributes *a)
{
    json_add_float(to, "rate", a->dropout.rate);
    json_add_bool(to, "always", a->dropout.always);
    json_add_bool(to, "channels", a->dropout.channels);
}

static void add_softmax(struct json *to, const union attributes *a)
{
    json_add_bool(to, "image", a->softmax.image);
}

static void add_shuffle(struct json *to, const union attributes *a)
{
    json_add_count(to, "groups", a->shuffle.groups);
}

static void add_loss(struct json *to, const union attributes *a)
{
    json_add_float(to, "weight", a->loss.weight);
    json_add_float(to, "smoothing", a->loss.smoothing);
    if (a->loss.has_target)
        json_add_float(to, "target", a->loss.target);
    if (a->loss.temperature > 0)
        json_add_float(to, "temperature", a->loss.temperature);
}

static const struct {
    const struct op *op;
    void (*add)(struct json *to, const union attributes *attributes);
} attribute_writers[] = {
    {&op_conv, add_conv},
    {&op_conv_transpose, add_conv},
    {&op_max_pool, add_pool},
    {&op_average_pool, add_pool},
    {&op_leaky_relu, add_leaky_relu},
    {&op_elu, add_elu},
    {&op_batch_norm, add_batch_norm},
    {&op_lrn, add_lrn},
    {&op_dropout, add_dropout},
    {&op_softmax, add_softmax},
    {&op_channel_shuffle, add_shuffle},
    {&op_softmax_cross_entropy, add_loss},
    {&op_perceptron, add_loss},
    {&op_binary_cross_entropy, add_loss},
    {&op_l1_loss, add_loss},
    {&op_l2_loss, add_loss},
    {&op_distillation, add_loss},
};

static void add_parameters(struct json *to, const struct op_harness *h)
{
    struct json *parameters = json_add_array(to, "parameters");
    for (size_t p = 0; p < h->parameter_count; p++) {
        const struct parameter *parameter = &h->graph.parameters[h->node->parameters[p]];
        struct json *item = json_add_object(parameters, NULL);
        json_add_string(item, "name", strrchr(parameter->name, '.') + 1);
        json_add_bool(item, "learnable", parameter->learnable);
        struct json *dims = json_add_array(item, "dims");
        for (size_t i = 0; i < parameter->rank; i++)
            json_add_count(dims, NULL, parameter->dims[i]);
    }
}

static void add_case(struct json *cases, const struct op_harness *h)
{
    const struct op_case *c = h->op_case;
    struct json *to = json_add_object(cases, NULL);
    json_add_string(to, "name", c->name);
    json_add_string(to, "op", c->op->name);
    json_add_count(to, "node", (uint64_t)(h->node - h->graph.nodes));
    json_add_count(to, "batch", c->batch);
    json_add_bool(to, "training", !(c->flags & CASE_INFERENCE));
    json_add_bool(to, "ties", c->flags & CASE_TIES);
    json_add_bool(to, "large", c->flags & CASE_LARGE);
    json_add_bool(to, "unit_target", c->flags & CASE_UNIT_TARGET);
    json_add_bool(to, "labels", h->labels != NULL);
    struct json *attributes = json_add_object(to, "attributes");
    /* the node's attributes, completed by shape inference */
    for (size_t i = 0; i < sizeof attribute_writers / sizeof *attribute_writers; i++)
        if (attribute_writers[i].op == c->op)
            attribute_writers[i].add(attributes, &h->node->attributes);
    struct json *inputs = json_add_array(to, "inputs");
    for (size_t k = 0; k < c->input_count; k++) {
        struct json *shape = json_add_array(inputs, NULL);
        json_add_count(shape, NULL, c->inputs[k].channels);
        json_add_count(shape, NULL, c->inputs[k].height);
        json_add_count(shape, NULL, c->inputs[k].width);
    }
    add_parameters(to, h);
}

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--list") != 0) {
        fprintf(stderr, "usage: %s --list\n", argv[0]);
        return 2;
    }
    struct error error = {0};
    struct json *root = json_new_object();
    json_add_count(root, "seed", HARNESS_SEED);
    json_add_count(root, "iteration", HARNESS_ITERATION);
    struct json *cases = json_add_array(root, "cases");
    for (size_t i = 0; i < op_case_count; i++) {
        if (op_cases[i].flags & CASE_WITHOUT_GOLDEN)
            continue;
        struct op_harness *h = op_harness_create(&op_cases[i], 1, &error);
        if (h)
            add_case(cases, h);
        else
            fprintf(stderr, "%s: %s\n", op_cases[i].name, error.why);
        op_harness_free(h);
    }
    char *text = json_print(root, true, &error);
    if (text)
        puts(text);
    free(text);
    json_free(root);
    return error.kind != ERROR_NONE;
}
