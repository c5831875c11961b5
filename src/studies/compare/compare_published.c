#include "studies/compare/compare_published.h"

const char published_gpu[] = "GTX Titan", published_cpu[] = "i7-7700K";

const struct published_result published_results[] = {
    {"squeezenet", "none", 90.11, 746638, 2.21, 6.61},
    {"squeezenet", "dsc", 87.50, 248670, 2.40, 9.55},
    {"squeezenet", "shift", 87.97, 246926, 2.66, 5.36},
    {"squeezenet", "shuffle", 87.83, 114574, 2.58, 10.23},
    {"resnet20", "none", 86.47, 272762, 1.71, 2.94},
    {"resnet20", "dsc", 80.37, 40810, 2.21, 5.28},
    {"resnet20", "shift", 80.81, 35194, 1.92, 2.07},
    {"resnet20", "shuffle", 81.94, 24682, 2.55, 2.61},
    {"resnet56", "none", 88.79, 856058, 4.45, 8.01},
    {"resnet56", "dsc", 82.51, 120106, 5.83, 17.32},
    {"resnet56", "shift", 84.05, 102394, 4.95, 5.19},
    {"resnet56", "shuffle", 83.36, 67786, 7.00, 7.06},
    {"resnet110", "none", 88.99, 1731002, 7.32, 16.05},
    {"resnet110", "dsc", 83.34, 239050, 11.50, 36.83},
    {"resnet110", "shift", 85.02, 203194, 9.56, 9.90},
    {"resnet110", "shuffle", 83.19, 132442, 13.62, 13.72},
};
const size_t published_result_count = sizeof published_results / sizeof *published_results;
