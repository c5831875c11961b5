/* The list of ranks, and the one form in which all files have it: an array of objects in the order
 * of the ranks. What is read may come from a stranger; a list that is incomplete is none. */
#include "runs/values/run_ranks.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double rank_work_wait(const struct rank_work *work)
{
    const double all = work->compute_ms + work->data_ms + work->wait_ms;
    return all > 0 ? work->wait_ms / all : NAN;
}

/* Returns whether an earlier rank is on the host of this one. */
static bool is_host_known(const struct run_ranks *ranks, size_t rank)
{
    for (size_t r = 0; r < rank; r++)
        if (strcmp(ranks->ranks[r].host, ranks->ranks[rank].host) == 0)
            return true;
    return false;
}

bool run_ranks_range(const struct run_ranks *ranks, struct run_ranks_range *range)
{
    *range = (struct run_ranks_range){
        .fastest = INFINITY, .slowest = -INFINITY, .wait_least = INFINITY, .wait_most = -INFINITY};
    for (size_t r = 0; r < ranks->count; r++) {
        const struct rank_work *work = &ranks->ranks[r];
        const double own = work->compute_ms + work->data_ms, wait = rank_work_wait(work);
        range->hosts += !is_host_known(ranks, r);
        if (isnan(own) || isnan(wait))
            continue;
        if (own > range->slowest) {
            range->slowest = own;
            range->slowest_rank = r;
        }
        range->fastest = fmin(range->fastest, own);
        range->wait_least = fmin(range->wait_least, wait);
        range->wait_most = fmax(range->wait_most, wait);
    }
    return isfinite(range->fastest);
}

bool run_ranks_copy(struct run_ranks *to, const struct run_ranks *from)
{
    struct rank_work *copy = NULL;
    if (from->count > 0) {
        copy = memory_new(from->count, sizeof *copy, "the ranks", NULL);
        if (!copy)
            return false;
        memcpy(copy, from->ranks, from->count * sizeof *copy);
    }
    free(to->ranks);
    *to = (struct run_ranks){copy, from->count};
    return true;
}

void run_ranks_free(struct run_ranks *ranks)
{
    free(ranks->ranks);
    *ranks = (struct run_ranks){0};
}

/* --- JSON --- */

static bool add_rank(struct json *list, const struct rank_work *work)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "host", work->host) &&
           json_add_count(object, "process", work->process) &&
           json_add_count(object, "iterations", work->iterations) &&
           json_add_number(object, "compute_ms", work->compute_ms) &&
           json_add_number(object, "data_ms", work->data_ms) &&
           json_add_number(object, "wait_ms", work->wait_ms);
}

bool run_ranks_add(struct json *object, const struct run_ranks *ranks)
{
    struct json *list = json_add_array(object, "ranks");
    bool added = list;
    for (size_t r = 0; added && r < ranks->count; r++)
        added = add_rank(list, &ranks->ranks[r]);
    return added;
}

static bool read_count(const struct json *object, const char *key, uint64_t *value)
{
    size_t number;
    const struct json *member = json_member(object, key);
    if (!member || !json_count(member, &number))
        return false;
    *value = number;
    return true;
}

/* Reads milliseconds; null is read as NaN. */
static bool read_time(const struct json *object, const char *key, double *value)
{
    const struct json *member = json_member(object, key);
    *value = NAN;
    return member && (json_is_null(member) || (json_number(member, value) && *value >= 0));
}

static bool read_rank(const struct json *object, struct rank_work *work)
{
    const char *host = json_string(json_member(object, "host"));
    if (!host || !read_count(object, "process", &work->process) ||
        !read_count(object, "iterations", &work->iterations) ||
        !read_time(object, "compute_ms", &work->compute_ms) ||
        !read_time(object, "data_ms", &work->data_ms) ||
        !read_time(object, "wait_ms", &work->wait_ms))
        return false;
    snprintf(work->host, sizeof work->host, "%s", host);
    return true;
}

bool run_ranks_read(const struct json *object, struct run_ranks *ranks)
{
    const struct json *list = json_member(object, "ranks");
    size_t count = 0;
    if (!list || !json_is_array(list))
        return false;
    for (const struct json *item = json_first(list); item; item = json_next(item))
        count++;
    if (count == 0 || count > RUN_RANKS_MOST)
        return false;
    struct run_ranks read = {memory_new(count, sizeof *read.ranks, "the ranks", NULL), 0};
    bool good = read.ranks;
    for (const struct json *item = json_first(list); good && item; item = json_next(item))
        good = read_rank(item, &read.ranks[read.count++]);
    if (!good) {
        run_ranks_free(&read);
        return false;
    }
    run_ranks_free(ranks);
    *ranks = read;
    return true;
}
