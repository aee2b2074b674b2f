// Turns what the harness counted of one test into a block of a log, in the format of litmus7.
//
// usage: log TEST < what the harness printed

#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What an outcome shows in each column: one of the values that have numbers, or any other.
struct outcome {
  uint32_t number[MAX_COLUMNS];
  uint64_t value[MAX_COLUMNS]; // of a value that is a number
  int is_number[MAX_COLUMNS];
};

struct column {
  uint32_t bits, is_signed, values;
  const char *const *text;     // how each value is shown
  const uint64_t *value;       // and what it is
  const uint32_t *is_number;   // where it is no address
};

// What a state shows: a column, or the elements of an array.
struct shown {
  const char *label;
  uint32_t is_array, from, count;
};

enum { EXISTS, NOT_EXISTS, FORALL };

struct states {
  const char *name, *kind, *condition;
  uint32_t quantifier, columns, shows;
  const struct column *column;
  const struct shown *show;
  const uint32_t *part;
  int (*kept)(const struct outcome *);
  int (*holds)(const struct outcome *);
};

static uint64_t narrow(uint64_t x, uint32_t bits) { return bits < 64 ? x & ((uint64_t)1 << bits) - 1 : x; }

static int64_t widen(uint64_t x, uint32_t bits) {
  return bits < 64 ? (int64_t)(x << (64 - bits)) >> (64 - bits) : (int64_t)x;
}

static int number_is(const struct outcome *o, uint32_t c) { return o->is_number[c]; }
static int64_t as_signed(const struct outcome *o, uint32_t c, uint32_t bits) { return widen(o->value[c], bits); }
static uint64_t as_unsigned(const struct outcome *o, uint32_t c, uint32_t bits) { return narrow(o->value[c], bits); }

// Addresses have numbers, and equal ones equal texts.
static int same_address(const struct column *all, const struct outcome *o, uint32_t a, uint32_t b) {
  return !o->is_number[a] && !o->is_number[b] && !strcmp(all[a].text[o->number[a]], all[b].text[o->number[b]]);
}

#include "states.h"

struct seen { char *text; uint64_t count; int holds; };

static void die(const char *what) {
  fprintf(stderr, "log: %s\n", what);
  exit(3);
}

static void *more(void *old, size_t bytes) {
  void *p = realloc(old, bytes);
  if (!p) die("out of memory");
  return p;
}

static const char *text_of(const struct states *s, const struct outcome *o, uint32_t c, char *room, size_t size) {
  const struct column *column = &s->column[c];
  if (o->number[c] < column->values) return column->text[o->number[c]];
  if (column->is_signed) snprintf(room, size, "%" PRId64, widen(o->value[c], column->bits));
  else snprintf(room, size, "%" PRIu64, narrow(o->value[c], column->bits));
  return room;
}

static char *state_of(const struct states *s, const struct outcome *o) {
  char *out = more(NULL, 1), room[32];
  size_t length = 0;
  out[0] = 0;
  for (uint32_t n = 0; n < s->shows; n++) {
    const struct shown *show = &s->show[n];
    for (uint32_t k = 0; k < show->count || k == 0; k++) {
      const char *value = show->count ? text_of(s, o, s->part[show->from + k], room, sizeof room) : "";
      const char *before = k ? "," : show->is_array ? "={" : "=";
      const char *after = k + 1 < show->count ? "" : show->is_array ? "};" : ";";
      size_t added = strlen(value) + strlen(show->label) + 8;
      out = more(out, length + added);
      length += sprintf(out + length, "%s%s%s%s%s", k == 0 && n ? " " : "", k ? "" : show->label, before, value, after);
    }
  }
  return out;
}

static struct seen *all;
static size_t states;

static void put(const struct states *s, uint64_t outcome, const uint64_t *raw, uint64_t count) {
  struct outcome o = {0};
  for (uint32_t c = s->columns; c-- > 0;) {
    const struct column *column = &s->column[c];
    uint32_t n = o.number[c] = outcome % (column->values + 1);
    outcome /= column->values + 1;
    // A value without a number comes with its outcome, on a line of its own.
    if (n == column->values && !raw) return;
    o.is_number[c] = n == column->values || column->is_number[n];
    o.value[c] = n == column->values ? raw[c] : column->value[n];
  }
  if (!s->kept(&o)) return;
  char *text = state_of(s, &o);
  size_t k = 0;
  while (k < states && strcmp(all[k].text, text)) k++;
  if (k == states) {
    all = more(all, ++states * sizeof *all);
    all[k] = (struct seen){text, 0, s->holds(&o)};
  } else {
    free(text);
  }
  all[k].count += count;
}

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct seen *)a)->text, ((const struct seen *)b)->text);
}

int main(int argc, char **argv) {
  uint32_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : state_count;
  if (n >= state_count) die("usage: log TEST < what the harness printed");
  const struct states *s = all_states[n];
  char word[32];
  double seconds = 0, took;
  uint64_t rounds, number, count, lost = 0, raw[MAX_COLUMNS];
  while (scanf("%31s", word) == 1) {
    int read = 1;
    if (!strcmp(word, "environment")) {
      read = scanf("%" SCNu64 " %lf", &rounds, &took) == 2;
      seconds += took;
    } else if (!strcmp(word, "outcome")) {
      read = scanf("%" SCNu64 " %" SCNu64, &number, &count) == 2;
      if (read) put(s, number, NULL, count);
    } else if (!strcmp(word, "raw")) {
      read = scanf("%" SCNu64 " %" SCNu64, &number, &count) == 2;
      for (uint32_t c = 0; read && c < s->columns; c++) read = scanf("%" SCNu64, &raw[c]) == 1;
      if (read) put(s, number, raw, count);
    } else if (!strcmp(word, "lost")) {
      read = scanf("%" SCNu64, &count) == 1;
      lost += count;
    } else if (strcmp(word, "end")) {
      read = 0;
    }
    if (!read) die("this is not what the harness prints");
  }
  qsort(all, states, sizeof *all, by_text);
  uint64_t positive = 0, negative = lost;
  printf("Test %s %s\nHistogram (%zu states)\n", s->name, s->kind, states);
  for (size_t k = 0; k < states; k++) {
    printf("%-6" PRIu64 "%s>%s\n", all[k].count, all[k].holds ? "*" : ":", all[k].text);
    *(all[k].holds ? &positive : &negative) += all[k].count;
  }
  int ok = s->quantifier == EXISTS ? positive > 0 : s->quantifier == FORALL ? negative == 0 : positive == 0;
  int forbids = s->quantifier == NOT_EXISTS;
  printf("%s\n\nWitnesses\nPositive: %" PRIu64 ", Negative: %" PRIu64 "\n", ok ? "Ok" : "No",
         forbids ? negative : positive, forbids ? positive : negative);
  printf("Condition %s is %svalidated\n", s->condition, ok ? "" : "NOT ");
  printf("Observation %s %s %" PRIu64 " %" PRIu64 "\nTime %s %.2f\n\n", s->name,
         positive == 0 ? "Never" : negative == 0 ? "Always" : "Sometimes", positive, negative, s->name, seconds);
  if (lost) fprintf(stderr, "%s: %" PRIu64 " outcomes had too many different values to be kept apart\n", s->name, lost);
  return 0;
}
