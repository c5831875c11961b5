/* The suggested learning rate: losses whose course is known give a suggestion inside its range, or
 * none with each of the reasons. */
#include "training/find_rate.h"

#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 100 };

/* Returns a value between -1 and 1, of a fixed sequence (a linear congruential generator). */
static double scatter(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (double)(1 << 23) - 1;
}

/* A loss over the index of the rate: level, then a fall, a level and a rise. */
struct course {
    double falls, least, rises; /* indices: the fall begins and ends, the rise begins */
    double depth;               /* of the fall */
    double noise;               /* the losses differ from the course by up to so much */
    double quiet;               /* the index from which on it is a tenth of that; 0: never */
    double high;                /* the last rate; 0: 10 */
};

static double loss_at(const struct course *course, double i)
{
    const double part = (i - course->falls) / (course->least - course->falls);
    const double fall = fmin(fmax(part, 0), 1) * course->depth;
    return 2.3 - fall + fmax(i - course->rises, 0);
}

/* Returns the suggestion for the first `count` of 100 losses that follow the course. */
static struct rate_suggestion suggest(const struct course *course, size_t count)
{
    struct rate_point points[COUNT];
    const double high = course->high > 0 ? course->high : 10;
    unsigned state = 1;
    for (size_t i = 0; i < COUNT; i++) {
        const bool quiet = course->quiet > 0 && (double)i >= course->quiet;
        const double noise = course->noise * scatter(&state) * (quiet ? 0.1 : 1);
        points[i] = (struct rate_point){.rate = 1e-6 * pow(high / 1e-6, (double)i / (COUNT - 1)),
                                        .loss = loss_at(course, (double)i) + noise};
    }
    return rate_points_suggest(points, count, COUNT);
}

static bool inside(const struct rate_suggestion *suggestion)
{
    return suggestion->found && suggestion->reason[0] == '\0' &&
           suggestion->lowest < suggestion->point && suggestion->point < suggestion->highest;
}

static void test_suggestions(void)
{
    const struct course valley = {
        .falls = 40, .least = 70, .rises = 80, .depth = 1.5, .noise = 0.1};
    struct rate_suggestion found = suggest(&valley, COUNT);
    tap_ok(inside(&found) && found.point >= 45 && found.point <= 65,
           "the loss falls: the suggestion is inside the fall");
    tap_ok(found.lowest >= 35 && found.highest <= 75, "  and so is its range (%zu to %zu)",
           found.lowest, found.highest);
    /* the loss rises as soon as it has fallen: every later window has a larger mean */
    for (size_t rises = 50; rises <= 70; rises += 5) {
        const struct course cliff = {.falls = (double)rises - 12,
                                     .least = (double)rises,
                                     .rises = (double)rises,
                                     .depth = 1.5,
                                     .noise = 0.4};
        found = suggest(&cliff, rises + 8);
        tap_ok(inside(&found), "the loss rises from %zu on: the suggestion is no end (%zu)", rises,
               found.point);
    }
    /* the search ends, at a loss that is not finite, while the loss falls */
    const struct course cut = {.falls = 40, .least = 80, .rises = 99, .depth = 2, .noise = 0.1};
    found = suggest(&cut, 65);
    tap_ok(inside(&found) && found.highest < 65,
           "the loss is not finite behind its fall: the suggestion is no end of its range (%zu)",
           found.point);
    for (size_t falls = 20; falls <= 60; falls += 5) {
        const struct course steep = {.falls = (double)falls,
                                     .least = (double)falls + 3,
                                     .rises = 99,
                                     .depth = 1.5,
                                     .noise = 0.3};
        found = suggest(&steep, COUNT);
        tap_ok(inside(&found), "a fall within three rates, from %zu on: inside (%zu)", falls,
               found.point);
    }
}

/* Checks that there is no suggestion, for a reason that has both texts. */
static void refuses(const char *name, const struct course *course, size_t count, const char *saw,
                    const char *advice)
{
    const struct rate_suggestion found = suggest(course, count);
    tap_ok(!found.found && found.point == 0 && strstr(found.reason, saw) &&
               strstr(found.reason, advice),
           "%s: %s", name, found.found ? "a suggestion" : found.reason);
}

static void test_reasons(void)
{
    const struct course flat = {.falls = 40, .least = 70, .rises = 99, .depth = 0, .noise = 0.1},
                        rising = {.falls = 40, .least = 70, .rises = 80, .depth = 0, .noise = 0.1};
    const struct course noisy = {.falls = 45, .least = 65, .rises = 99, .depth = 0.3, .noise = 0.6};
    /* the losses scatter less once the network gives each class the same probability */
    const struct course quiet = {
        .falls = 60, .least = 85, .rises = 99, .depth = 0.15, .noise = 0.6, .quiet = 60};
    const struct course first = {.falls = -10, .least = 30, .rises = 99, .depth = 2, .noise = 0.05},
                        last = {.falls = 70, .least = 110, .rises = 120, .depth = 2, .noise = 0.05};
    const struct course low = {
        .falls = 40, .least = 70, .rises = 99, .depth = 0, .noise = 0.1, .high = 1e-3};
    refuses("the loss does nothing", &flat, COUNT, "from 1e-06 to 10 the loss neither falls nor",
            "give --iterations 1000");
    refuses("the loss does nothing at low rates", &low, COUNT, "from 1e-06 to 0.001 the loss",
            "give a higher --high");
    refuses("the loss rises", &rising, COUNT, "falls at no rate, and rises from about",
            "give --iterations 1000");
    refuses("the loss grows without limit", &flat, 80, "falls at no rate, and rises from about 0.3",
            "give --iterations 1000");
    refuses("a fall in noise", &noisy, COUNT, "scatter too much: the clearest fall, at about",
            "give --iterations");
    refuses("a small fall where the noise ends", &quiet, COUNT, "neither falls nor rises", "");
    refuses("the fall is where the rates begin", &first, COUNT,
            "falls from the lowest rates on, up to", "give a lower --low");
    refuses("the fall is where the rates end", &last, COUNT, "up to the highest rates, and",
            "give a higher --high");
    refuses("it grows without limit at once", &flat, 15, "grew without limit after 15 losses",
            "give a lower --low");
    refuses("not even the first loss is finite", &flat, 0, "grew without limit after 0 losses",
            "give a lower --low");
    struct rate_point few[10] = {{0}};
    tap_ok(strstr(rate_points_suggest(few, 10, 10).reason, "give more --iterations"),
           "ten iterations are too few");
}

TEST_CASE(find_rate_test)
{
    test_suggestions();
    test_reasons();
    return tap_done();
}
