// What generated tests and the harness share. A test has roles (its threads), locations, and
// columns (what an outcome shows). Instances of it lie side by side in memory.

#include <stddef.h>
#include <stdint.h>

enum { MAX_ROLES = 8, MAX_LOCATIONS = 16, MAX_COLUMNS = 32 };

// One group of workers that run the same instances, as roles see it.
struct view {
  char *location[MAX_LOCATIONS]; // instance i has location l at location[l] + at[i]
  uint32_t *at;
  uint32_t *code[MAX_ROLES];    // what role r saw in instance i, as a number
  uint64_t *other[MAX_COLUMNS]; // values that have no number of their own
  volatile uint32_t others;     // whether there ever was such a value
  uint32_t instances;
};

// Runs `count` instances, the first of them `start`, the next `step` further on, and round
// again; gives the instance after the last.
typedef uint32_t role(struct view *, uint32_t start, uint32_t step, uint32_t count);

struct test {
  uint32_t roles, locations, columns;
  uint64_t outcomes;                // how many numbers there are for outcomes
  uint32_t radix[MAX_COLUMNS];      // how many values a column tells apart, and others
  uint32_t bytes[MAX_LOCATIONS];    // size of a location
  uint32_t constant[MAX_LOCATIONS]; // whether it can only be read
  uint32_t observes_memory;
  role *run[MAX_ROLES];             // each thread as it is
  role *slow[MAX_ROLES];            // and with gaps between its instructions
  uint64_t (*outcome)(struct view *, uint32_t instance);
  void (*count)(struct view *, uint32_t from, uint32_t to, uint64_t *counts);
  void (*reset)(struct view *, uint32_t location, uint32_t from, uint32_t to);
};

extern const struct test *const tests[];
extern const uint32_t test_count;

// A value that has no number: it is kept, and counts as the last number of its column.
uint32_t keep_other(struct view *v, uint32_t column, uint32_t instance, uint64_t value, uint32_t last);
// Counts an outcome where there are too many for a table.
void count_sparse(uint64_t *counts, uint64_t outcome);

// Outcomes up to this many are counted in tables, those up to the first in four at once, so that
// one increment need not wait for the one before.
enum { FEW_OUTCOMES = 1 << 10, MANY_OUTCOMES = 1 << 16 };
