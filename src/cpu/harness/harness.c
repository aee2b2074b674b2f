// Runs generated tests on this machine: many instances at a time, workers in lock step.
//
// A round: the leader of a group plans it, all workers meet, each runs its roles over all
// instances, all meet again, and each counts and resets its share. Roles that share a worker are
// kept apart by a full fence, so that no role sees another's stores early.
//
// usage: PROGRAM TEST SEED SECONDS ROUNDS FILE [PROCESSORS]
//   FILE has one environment a line, the numbers of `struct environment` in order.
//   PROCESSORS are numbers with commas between them: threads run there alone, and take them in this order.

#define _GNU_SOURCE
#include "harness.h"
#include "environment.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
static inline void fence(void) { __asm__ __volatile__("mfence" ::: "memory"); }
static inline void pause_a_little(void) { __builtin_ia32_pause(); }
static inline void flush_line(void *p) { __builtin_ia32_clflush(p); }
static inline uint64_t ticks(void) { return __builtin_ia32_rdtsc(); }
enum { TICKS_AHEAD = 1024 };
#elif defined(__aarch64__)
static inline void fence(void) { __asm__ __volatile__("dmb sy" ::: "memory"); }
static inline void pause_a_little(void) { __asm__ __volatile__("yield" ::: "memory"); }
static inline void flush_line(void *p) { __asm__ __volatile__("dc civac, %0" ::"r"(p) : "memory"); }
static inline uint64_t ticks(void) {
  uint64_t t;
  __asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
  return t;
}
enum { TICKS_AHEAD = 64 };
#else
static inline void fence(void) { __sync_synchronize(); }
static inline void pause_a_little(void) {}
static inline void flush_line(void *p) { (void)p; }
static inline uint64_t ticks(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
enum { TICKS_AHEAD = 500 };
#endif

enum { LINE = 64, MAX_WORKERS = 64, MAX_PHASES = MAX_ROLES, KEPT = 64, SPARSE = 1 << 17 };
enum { NO_ROLE = ~0u };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(3);
}

// ---- random numbers: splitmix64 ----

struct random { uint64_t state; };

static uint64_t next_random(struct random *r) {
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static uint32_t below(struct random *r, uint32_t bound) {
  return (uint32_t)((next_random(r) >> 32) * bound >> 32);
}

static int chance(struct random *r, uint32_t percent) { return below(r, 100) < percent; }

static uint32_t gcd(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// A multiplier under which every number below n comes once.
static uint32_t coprime(struct random *r, uint32_t n) {
  for (int tries = 0; n > 2 && tries < 64; tries++) {
    uint32_t m = 1 + below(r, n - 1);
    if (gcd(m, n) == 1) return m;
  }
  return 1;
}

// ---- groups of workers ----

struct plan {
  int stop;
  uint32_t role[MAX_PHASES][MAX_WORKERS]; // what each worker runs in each phase
  uint32_t start[MAX_ROLES], step[MAX_ROLES];
  uint32_t delay[MAX_WORKERS];
  int slow[MAX_ROLES];
  int fetch[MAX_WORKERS]; // 0 nothing, 1 for reading, 2 for writing, 3 flush
  int any_fetch;
  int paired; // roles go through the instances in different orders
  int reset; // 0 in shares, else location by location, each by another worker
};

struct raw { uint64_t value[MAX_COLUMNS], outcome, count; };

struct group;

struct worker {
  struct group *group;
  uint32_t index, cpu;
  uint32_t turn;
  uint64_t *counts;
  struct raw *raw;
  uint32_t raws;
  uint64_t lost; // outcomes past what can be kept
};

struct group {
  const struct test *test;
  const struct environment *env;
  struct view view;
  struct plan plan;
  struct random random;
  uint32_t workers, phases;
  uint64_t rounds, most_rounds;
  double end;
  struct worker worker[MAX_WORKERS];
  char *memory, *constants;
  size_t constant_bytes;
  _Alignas(128) atomic_uint arrived;
  _Alignas(128) atomic_uint released;
  uint64_t when;
  _Alignas(128) char last;
};

enum { SYNC_NONE, SYNC_SPIN, SYNC_TIMEBASE };

// Looks before a worker takes breaks between looks: breaks are longer than what is waited for.
enum { EAGER = 256 };

// All workers of a group meet. Where there are more threads than processors, spinning keeps the
// one that is waited for from running, so it ends after a while.
static void meet(struct worker *me, uint32_t spins, int timebase) {
  struct group *g = me->group;
  if (g->workers == 1) return;
  uint32_t turn = ++me->turn;
  if (atomic_fetch_add(&g->arrived, 1) + 1 == turn * g->workers) {
    if (timebase) g->when = ticks() + TICKS_AHEAD;
    atomic_store_explicit(&g->released, turn, memory_order_release);
  } else {
    uint32_t spun = 0;
    while ((int32_t)(atomic_load_explicit(&g->released, memory_order_acquire) - turn) < 0) {
      if (++spun >= spins) {
        sched_yield();
        spun = 0;
      } else if (spun > EAGER) {
        pause_a_little();
      }
    }
  }
  if (timebase)
    while (ticks() < g->when) {}
}

static void plan_round(struct group *g) {
  const struct environment *e = g->env;
  struct random *r = &g->random;
  struct plan *p = &g->plan;
  uint32_t roles = g->test->roles, n = g->view.instances;
  p->stop = g->rounds >= g->most_rounds || now() >= g->end;
  if (p->stop) return;
  g->rounds++;
  uint32_t order[MAX_ROLES];
  for (uint32_t i = 0; i < roles; i++) order[i] = i;
  if (chance(r, e->deal_pct))
    for (uint32_t i = roles; i > 1; i--) {
      uint32_t j = below(r, i), other = order[i - 1];
      order[i - 1] = order[j];
      order[j] = other;
    }
  for (uint32_t i = 0; i < g->phases * g->workers; i++)
    p->role[i / g->workers][i % g->workers] = i < roles ? order[i] : NO_ROLE;
  int paired = p->paired = chance(r, e->pair_pct), gaps = chance(r, e->gap_pct);
  for (uint32_t i = 0; i < roles; i++) {
    p->step[i] = paired ? coprime(r, n) : 1;
    p->start[i] = paired ? below(r, n) : 0;
    p->slow[i] = gaps && chance(r, 67);
  }
  p->any_fetch = 0;
  int fetch = chance(r, e->fetch_pct), flush = chance(r, e->flush_pct);
  uint32_t late = below(r, g->workers);
  for (uint32_t w = 0; w < g->workers; w++) {
    p->fetch[w] = flush ? 3 : fetch ? (int)below(r, 3) : 0;
    p->any_fetch |= p->fetch[w];
    p->delay[w] = w == late && e->delay ? below(r, e->delay) : 0;
  }
  p->reset = e->reset <= 2 ? (int)e->reset : (int)below(r, 3);
}

static void fetch_lines(struct worker *me, int how) {
  struct group *g = me->group;
  struct view *v = &g->view;
  for (uint32_t l = 0; l < g->test->locations; l++) {
    char *last = NULL;
    for (uint32_t i = 0; i < v->instances; i++) {
      char *p = v->location[l] + v->at[i], *line = (char *)((uintptr_t)p & ~(uintptr_t)(LINE - 1));
      if (line == last) continue;
      last = line;
      if (how == 1) __builtin_prefetch(p, 0);
      else if (how == 2) __builtin_prefetch(p, 1);
      else flush_line(p);
    }
  }
}

static inline void role_loop(const struct test *t, const struct plan *p, uint32_t number,
                             struct view *v, uint32_t *at, uint32_t count) {
  role *run = p->slow[number] ? t->slow[number] : t->run[number];
  *at = run(v, *at, p->step[number], count);
}

// Runs this worker's threads over all instances. Workers that have several threads of an instance
// turn from one to the next after a few instances, so that they stay near the others.
static void run_roles(struct worker *me, const struct plan *p) {
  struct group *g = me->group;
  const struct environment *e = g->env;
  struct view *v = &g->view;
  uint32_t n = v->instances, part = e->sync_every ? e->sync_every : n;
  uint32_t turn = g->phases > 1 && e->turn ? e->turn : part;
  int meets = e->sync != SYNC_NONE;
  uint32_t at[MAX_PHASES];
  for (uint32_t phase = 0; phase < g->phases; phase++) {
    uint32_t role = p->role[phase][me->index];
    at[phase] = role == NO_ROLE ? 0 : p->start[role];
  }
  for (uint32_t done = 0; done < n; done += part) {
    if (done > 0 && meets) meet(me, e->spins, e->sync == SYNC_TIMEBASE);
    for (uint32_t d = p->delay[me->index]; d > 0; d--) __asm__ __volatile__("" ::: "memory");
    uint32_t left = n - done < part ? n - done : part;
    while (left > 0) {
      uint32_t count = left < turn ? left : turn;
      left -= count;
      for (uint32_t phase = 0; phase < g->phases; phase++) {
        uint32_t role = p->role[phase][me->index];
        // Where orders differ, a role may come to an instance that another has just left.
        if (phase > 0 || (p->paired && g->phases > 1)) fence();
        if (role == NO_ROLE) continue;
        role_loop(g->test, p, role, v, &at[phase], count);
      }
    }
  }
  fence();
}

// Outcomes with values that have no number, one by one.
static void keep_raw(struct worker *me, uint32_t from, uint32_t to) {
  struct view *v = &me->group->view;
  const struct test *t = me->group->test;
  for (uint32_t i = from; i < to; i++) {
    uint64_t outcome = t->outcome(v, i), left = outcome;
    struct raw found = {.outcome = outcome, .count = 1};
    int any = 0;
    for (uint32_t c = t->columns; c-- > 0;) {
      uint32_t number = left % t->radix[c];
      left /= t->radix[c];
      if (number == t->radix[c] - 1) {
        found.value[c] = v->other[c][i];
        any = 1;
      }
    }
    if (!any) continue;
    uint32_t k = 0;
    for (; k < me->raws; k++)
      if (me->raw[k].outcome == outcome && !memcmp(me->raw[k].value, found.value, sizeof found.value)) break;
    if (k < me->raws) me->raw[k].count++;
    else if (k < KEPT) me->raw[me->raws++] = found;
    else me->lost++;
  }
}

static void count_and_reset(struct worker *me, int reset) {
  struct group *g = me->group;
  struct view *v = &g->view;
  uint32_t n = v->instances, w = me->index;
  uint32_t from = (uint64_t)n * w / g->workers, to = (uint64_t)n * (w + 1) / g->workers;
  g->test->count(v, from, to, me->counts);
  if (v->others) keep_raw(me, from, to);
  if (reset && g->test->observes_memory) meet(me, g->env->spins, 0);
  for (uint32_t l = 0; l < g->test->locations; l++) {
    if (g->test->constant[l]) continue;
    if (reset == 0) g->test->reset(v, l, from, to);
    else if ((l + reset - 1) % g->workers == w) g->test->reset(v, l, 0, n);
  }
}

// The processors that were asked for.
static uint32_t on[CPU_SETSIZE], on_count;

static void only_on(const char *list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (char *end; *list; list = *end ? end + 1 : end) {
    unsigned long cpu = strtoul(list, &end, 10);
    if (end == list || (*end && *end != ',') || cpu >= CPU_SETSIZE || on_count == CPU_SETSIZE)
      die("the processors are numbers with commas between them");
    on[on_count++] = cpu;
    CPU_SET(cpu, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("these processors may not be used");
}

static void pin(uint32_t cpu) {
  cpu_set_t set, allowed;
  if (on_count) {
    CPU_ZERO(&set);
    CPU_SET(on[cpu % on_count], &set);
    sched_setaffinity(0, sizeof set, &set);
    return;
  }
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int count = CPU_COUNT(&allowed), wanted = count ? cpu % count : 0;
  for (int c = 0; c < CPU_SETSIZE; c++) {
    if (!CPU_ISSET(c, &allowed) || wanted-- > 0) continue;
    CPU_ZERO(&set);
    CPU_SET(c, &set);
    sched_setaffinity(0, sizeof set, &set);
    return;
  }
}

static void *work(void *arg) {
  struct worker *me = arg;
  struct group *g = me->group;
  const struct environment *e = g->env;
  uint32_t spins = e->sync == SYNC_NONE ? 0 : e->spins;
  if (e->affinity) pin(me->cpu);
  for (;;) {
    if (me->index == 0) plan_round(g);
    meet(me, spins, 0);
    const struct plan *p = &g->plan;
    if (p->stop) break;
    if (p->fetch[me->index]) fetch_lines(me, p->fetch[me->index]);
    if (p->any_fetch || e->sync == SYNC_TIMEBASE) meet(me, spins, e->sync == SYNC_TIMEBASE);
    run_roles(me, p);
    // From the next meeting on, the leader may plan the next round.
    int reset = p->reset;
    meet(me, e->spins, 0);
    count_and_reset(me, reset);
  }
  return NULL;
}

// ---- stress: threads that keep memory busy ----

struct stress {
  const struct environment *env;
  uint32_t cpu;
  atomic_int *stop;
  volatile uint32_t *lines;
  uint64_t seed;
};

static void *disturb(void *arg) {
  struct stress *s = arg;
  struct random r = {s->seed};
  if (s->env->affinity) pin(s->cpu);
  uint32_t words = s->env->stress_lines * (LINE / 4);
  while (!atomic_load_explicit(s->stop, memory_order_relaxed)) {
    volatile uint32_t *word = s->lines + below(&r, words);
    for (int i = 0; i < 256; i++) {
      if (s->env->stress_pattern & 1) *word = i;
      else (void)*word;
      if (s->env->stress_pattern & 2) *word = i + 1;
      else (void)*word;
    }
  }
  return NULL;
}

// ---- one environment ----

static void *allocate(size_t bytes) {
  void *p = NULL;
  if (posix_memalign(&p, 1 << 12, (bytes + LINE) & ~(size_t)(LINE - 1)) != 0) die("out of memory");
  memset(p, 0, bytes);
  return p;
}

static size_t up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static uint64_t *new_counts(const struct test *t) {
  size_t entries = t->outcomes <= FEW_OUTCOMES ? 4 * t->outcomes
                   : t->outcomes <= MANY_OUTCOMES ? t->outcomes : 2 * SPARSE;
  return allocate(entries * sizeof(uint64_t));
}

static void lay_out(struct group *g, struct random *r) {
  const struct test *t = g->test;
  const struct environment *e = g->env;
  struct view *v = &g->view;
  uint32_t n = v->instances = e->instances;
  size_t cell = 0, bytes = 0, offset[MAX_LOCATIONS], widest = 4;
  for (uint32_t l = 0; l < t->locations; l++)
    if (t->bytes[l] > widest) widest = t->bytes[l];
  widest = up(widest, widest > 8 ? 16 : widest > 4 ? 8 : 4);
  size_t spacing = up(e->spacing, widest);
  if (spacing < widest) spacing = widest;
  if (e->apart) {
    // An array a location.
    cell = up(e->stride, widest);
    if (cell < widest) cell = widest;
    size_t array = up(cell * n, 1 << 12) + up(e->spacing, LINE);
    for (uint32_t l = 0; l < t->locations; l++) offset[l] = l * array;
    bytes = array * (t->locations + 1);
  } else {
    // A cell an instance, with its locations side by side.
    for (uint32_t l = 0; l < t->locations; l++) offset[l] = l * spacing;
    cell = up(e->stride, widest);
    if (cell < spacing * t->locations) cell = spacing * t->locations;
    bytes = cell * n;
  }
  g->memory = allocate(bytes);
  for (uint32_t l = 0; l < t->locations; l++) v->location[l] = g->memory + offset[l];
  // Constants lie where no store can go.
  size_t region = up(cell * n + widest, 1 << 12);
  for (uint32_t l = 0; l < t->locations; l++) g->constant_bytes += t->constant[l] ? region : 0;
  if (g->constant_bytes) {
    char *at = g->constants = allocate(g->constant_bytes);
    for (uint32_t l = 0; l < t->locations; l++)
      if (t->constant[l]) {
        v->location[l] = at;
        at += region;
      }
  }
  v->at = allocate(n * sizeof *v->at);
  uint32_t step = e->scatter ? coprime(r, n) : 1;
  for (uint32_t i = 0, at = 0; i < n; i++, at = (at + step) % n) v->at[i] = at * cell;
  for (uint32_t i = 0; i < t->roles; i++) v->code[i] = allocate(n * sizeof *v->code[i]);
  for (uint32_t c = 0; c < t->columns; c++) v->other[c] = allocate(n * sizeof *v->other[c]);
  for (uint32_t l = 0; l < t->locations; l++) t->reset(v, l, 0, n);
  if (g->constant_bytes) mprotect(g->constants, g->constant_bytes, PROT_READ);
}

static void release(struct group *g) {
  for (uint32_t i = 0; i < g->test->roles; i++) free(g->view.code[i]);
  for (uint32_t c = 0; c < g->test->columns; c++) free(g->view.other[c]);
  for (uint32_t w = 0; w < g->workers; w++) {
    free(g->worker[w].counts);
    free(g->worker[w].raw);
  }
  free(g->view.at);
  free(g->memory);
  if (g->constant_bytes) mprotect(g->constants, g->constant_bytes, PROT_READ | PROT_WRITE);
  free(g->constants);
  free(g);
}

uint32_t keep_other(struct view *v, uint32_t column, uint32_t instance, uint64_t value, uint32_t last) {
  v->other[column][instance] = value;
  v->others = 1;
  return last;
}

// Open addressing: a key, one more than the outcome, and its count.
void count_sparse(uint64_t *counts, uint64_t outcome) {
  uint64_t at = (outcome * 0x9e3779b97f4a7c15u) >> 47;
  for (uint32_t tries = 0; tries < SPARSE; tries++, at = (at + 1) % SPARSE) {
    if (counts[2 * at] == 0) counts[2 * at] = outcome + 1;
    if (counts[2 * at] == outcome + 1) {
      counts[2 * at + 1]++;
      return;
    }
  }
  die("more different outcomes than can be counted");
}

static void add_up(struct group *all[], uint32_t groups, const struct test *t) {
  uint64_t *total = new_counts(t);
  for (uint32_t k = 0; k < groups; k++)
    for (uint32_t w = 0; w < all[k]->workers; w++) {
      struct worker *one = &all[k]->worker[w];
      for (uint64_t o = 0; o < (t->outcomes <= MANY_OUTCOMES ? t->outcomes : SPARSE); o++) {
        if (t->outcomes <= FEW_OUTCOMES)
          for (int lane = 0; lane < 4; lane++) total[o] += one->counts[lane * t->outcomes + o];
        else if (t->outcomes <= MANY_OUTCOMES) total[o] += one->counts[o];
        else if (one->counts[2 * o])
          printf("outcome %" PRIu64 " %" PRIu64 "\n", one->counts[2 * o] - 1, one->counts[2 * o + 1]);
      }
      for (uint32_t i = 0; i < one->raws; i++) {
        printf("raw %" PRIu64 " %" PRIu64, one->raw[i].outcome, one->raw[i].count);
        for (uint32_t c = 0; c < t->columns; c++) printf(" %" PRIu64, one->raw[i].value[c]);
        printf("\n");
      }
      if (one->lost) printf("lost %" PRIu64 "\n", one->lost);
    }
  if (t->outcomes <= MANY_OUTCOMES)
    for (uint64_t o = 0; o < t->outcomes; o++)
      if (total[o]) printf("outcome %" PRIu64 " %" PRIu64 "\n", o, total[o]);
  free(total);
}

static void run_environment(const struct test *t, const struct environment *e, uint64_t seed,
                            double seconds, uint64_t rounds) {
  struct random random = {seed};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  long cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  uint32_t most = e->workers ? e->workers : (uint32_t)cpus;
  uint32_t workers = t->roles < most ? t->roles : most;
  if (workers > MAX_WORKERS) workers = MAX_WORKERS;
  uint32_t groups = e->groups ? e->groups : (uint32_t)cpus / workers;
  if (groups < 1) groups = 1;
  if (groups > 64) groups = 64;
  struct group *all[64];
  pthread_t thread[64 * MAX_ROLES], stress_thread[64];
  struct stress stress[64];
  atomic_int stop = 0;
  uint32_t started = 0, stressing = e->stress > 64 ? 64 : e->stress;
  for (uint32_t k = 0; k < groups; k++) {
    struct group *g = all[k] = allocate(sizeof *g);
    g->test = t;
    g->env = e;
    g->random.state = next_random(&random);
    g->workers = workers;
    g->phases = (t->roles + workers - 1) / workers;
    g->most_rounds = rounds ? rounds : UINT64_MAX;
    lay_out(g, &g->random);
    for (uint32_t w = 0; w < workers; w++) {
      struct worker *one = &g->worker[w];
      one->group = g;
      one->index = w;
      one->cpu = k * workers + w;
      one->counts = new_counts(t);
      one->raw = allocate(KEPT * sizeof *one->raw);
    }
  }
  void *lines = stressing ? allocate((size_t)e->stress_lines * LINE) : NULL;
  double begin = now();
  for (uint32_t i = 0; i < stressing; i++) {
    stress[i] = (struct stress){e, groups * workers + i, &stop, lines, next_random(&random)};
    if (pthread_create(&stress_thread[i], NULL, disturb, &stress[i]) != 0) die("no more threads");
  }
  for (uint32_t k = 0; k < groups; k++) {
    all[k]->end = begin + seconds;
    for (uint32_t w = 0; w < workers; w++)
      if (pthread_create(&thread[started++], NULL, work, &all[k]->worker[w]) != 0) die("no more threads");
  }
  for (uint32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  double took = now() - begin;
  atomic_store(&stop, 1);
  for (uint32_t i = 0; i < stressing; i++) pthread_join(stress_thread[i], NULL);
  uint64_t done = 0;
  for (uint32_t k = 0; k < groups; k++) done += all[k]->rounds;
  printf("environment %" PRIu64 " %.6f\n", done, took);
  add_up(all, groups, t);
  printf("end\n");
  fflush(stdout);
  for (uint32_t k = 0; k < groups; k++) release(all[k]);
  free(lines);
}

int main(int argc, char **argv) {
  if (argc != 6 && argc != 7) die("usage: PROGRAM TEST SEED SECONDS ROUNDS FILE [PROCESSORS]");
  if (argc == 7) only_on(argv[6]);
  uint32_t test = strtoul(argv[1], NULL, 10);
  struct random seeds = {strtoull(argv[2], NULL, 10)};
  double seconds = strtod(argv[3], NULL);
  uint64_t rounds = strtoull(argv[4], NULL, 10);
  FILE *file = fopen(argv[5], "r");
  if (test >= test_count || !file) die("there is no such test or file");
  struct environment e;
  uint32_t *numbers = (uint32_t *)&e;
  for (;;) {
    for (size_t i = 0; i < sizeof e / sizeof *numbers; i++)
      if (fscanf(file, "%" SCNu32, &numbers[i]) != 1) return 0;
    run_environment(tests[test], &e, next_random(&seeds), seconds, rounds);
  }
}
