// Runs one generated test without a C library and in one thread, for machines that are emulated:
// its roles run one after the other, in several orders, and each instance's outcome is said. How
// an emulator orders accesses means nothing, so that no more is asked of it than values and crashes.

#include "harness.h"

#if defined(__x86_64__)
#define ENTRY __attribute__((force_align_arg_pointer))
#define BEGIN
enum { WRITE = 1, EXIT = 60, PROTECT = 10 };
static long call(long n, long a, long b, long c) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}
#elif defined(__aarch64__)
#define ENTRY
#define BEGIN
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };
static long call(long n, long a, long b, long c) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
#elif defined(__arm__)
#define ENTRY
#define BEGIN
enum { WRITE = 4, EXIT = 1, PROTECT = 125 };
// The register of the number is the frame pointer of some code, so it is kept by hand.
static long call(long n, long a, long b, long c) {
  register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
  __asm__ volatile("push {r7}\n mov r7, %1\n svc 0\n pop {r7}" : "+r"(r0) : "r"(n), "r"(r1), "r"(r2) : "memory");
  return r0;
}
#elif defined(__riscv)
#define ENTRY
// What the linker makes shorter is found through this register.
#define BEGIN __asm__ volatile(".option push\n .option norelax\n la gp, __global_pointer$\n .option pop");
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };
static long call(long n, long a, long b, long c) {
  register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
}
#elif defined(__s390x__)
#define ENTRY
#define BEGIN
enum { WRITE = 4, EXIT = 1, PROTECT = 125 };
static long call(long n, long a, long b, long c) {
  register long r1 __asm__("r1") = n, r2 __asm__("r2") = a, r3 __asm__("r3") = b, r4 __asm__("r4") = c;
  __asm__ volatile("svc 0" : "+r"(r2) : "r"(r1), "r"(r3), "r"(r4) : "memory");
  return r2;
}
#elif defined(__loongarch64)
#define ENTRY
#define BEGIN
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };
static long call(long n, long a, long b, long c) {
  register long a7 __asm__("$a7") = n, a0 __asm__("$a0") = a, a1 __asm__("$a1") = b, a2 __asm__("$a2") = c;
  __asm__ volatile("syscall 0" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2)
                   : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
  return a0;
}
#elif defined(__powerpc64__)
#define ENTRY
#define BEGIN
enum { WRITE = 4, EXIT = 1, PROTECT = 125 };
static long call(long n, long a, long b, long c) {
  register long r0 __asm__("r0") = n, r3 __asm__("r3") = a, r4 __asm__("r4") = b, r5 __asm__("r5") = c;
  __asm__ volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5) : : "cr0", "ctr", "memory", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
  return r3;
}
#elif defined(__mips__)
#define ENTRY
#define BEGIN
// Code finds its data through the address that it was called by, and nobody calls the first.
#define OWN_START
__asm__(
    ".text\n .globl _start\n .type _start, @function\n_start:\n .set noreorder\n bal 1f\n nop\n1:\n .set reorder\n"
    " .cpsetup $31, $24, 1b\n dla $25, begin\n jr $25\n");
enum { WRITE = 5001, EXIT = 5058, PROTECT = 5010 };
static long call(long n, long a, long b, long c) {
  register long v0 __asm__("$2") = n, a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c;
  __asm__ volatile("syscall" : "+r"(v0) : "r"(a0), "r"(a1), "r"(a2) : "$1", "$3", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
  return v0;
}
#endif

// What compilers call without being asked.
void *memset(void *to, int byte, size_t count) {
  for (volatile char *p = to; count > 0; count--) *p++ = (char)byte;
  return to;
}

void *memcpy(void *to, const void *from, size_t count) {
  const char *q = from;
  for (volatile char *p = to; count > 0; count--) *p++ = *q++;
  return to;
}

// What the compiler's own library calls where it divides by 0, which nothing here does.
int raise(int signal) { return signal; }

// Division of its own: not every target has one without a library.
static uint64_t divide(uint64_t n, uint32_t by, uint32_t *rest) {
  uint64_t left = 0, out = 0;
  for (int bit = 63; bit >= 0; bit--) {
    left = left << 1 | (n >> bit & 1);
    if (left >= by) {
      left -= by;
      out |= (uint64_t)1 << bit;
    }
  }
  *rest = (uint32_t)left;
  return out;
}

// ---- output ----

static char line[4096];
static size_t used;

static void flush(void) {
  if (used) call(WRITE, 1, (long)line, (long)used);
  used = 0;
}

static void text(const char *s) {
  while (*s) {
    if (used == sizeof line) flush();
    line[used++] = *s++;
  }
}

static void number(uint64_t n) {
  char digits[24];
  char *at = digits + sizeof digits - 1;
  *at = 0;
  do {
    uint32_t digit;
    n = divide(n, 10, &digit);
    *--at = (char)('0' + digit);
  } while (n);
  text(" ");
  text(at);
}

// ---- one test ----

enum { AREA = 1 << 16, MOST = 64, CELL = 64 };

static _Alignas(1 << 16) char memory[MAX_LOCATIONS][AREA];
static uint32_t at[MOST], code[MAX_ROLES][MOST];
static uint64_t other[MAX_COLUMNS][MOST];
static struct view view;

uint32_t keep_other(struct view *v, uint32_t column, uint32_t instance, uint64_t value, uint32_t last) {
  v->other[column][instance] = value;
  return last;
}

void count_sparse(uint64_t *counts, uint64_t outcome) {
  (void)counts;
  (void)outcome;
}

// An outcome, with its values where one of them has no number.
static void say(const struct test *t, uint32_t i) {
  uint64_t outcome = t->outcome(&view, i), left = outcome;
  uint64_t value[MAX_COLUMNS];
  int odd = 0;
  for (uint32_t c = t->columns; c-- > 0;) {
    uint32_t number;
    left = divide(left, t->radix[c], &number);
    value[c] = 0;
    if (number == t->radix[c] - 1) {
      value[c] = view.other[c][i];
      odd = 1;
    }
  }
  text(odd ? "raw" : "outcome");
  number(outcome);
  number(1);
  for (uint32_t c = 0; odd && c < t->columns; c++) number(value[c]);
  text("\n");
}

static void run(const struct test *t) {
  uint32_t cell = CELL, n = MOST;
  for (uint32_t l = 0; l < t->locations; l++)
    while (cell < t->bytes[l] && cell <= AREA) cell *= 2;
  while ((uint64_t)n * cell > AREA) n >>= 1;
  view.instances = n;
  view.at = at;
  for (uint32_t i = 0; i < n; i++) at[i] = i * cell;
  for (uint32_t r = 0; r < t->roles; r++) view.code[r] = code[r];
  for (uint32_t c = 0; c < t->columns; c++) view.other[c] = other[c];
  for (uint32_t l = 0; l < t->locations; l++) {
    view.location[l] = memory[l];
    if (n) t->reset(&view, l, 0, n);
    // Constants lie where no store can go.
    if (t->constant[l]) call(PROTECT, (long)memory[l], AREA, 1);
  }
  text("environment");
  number(n ? 2 * t->roles : 0);
  text(" 0\n");
  // Every role comes first once, in their order and against it.
  for (uint32_t order = 0; n && order < 2 * t->roles; order++) {
    uint32_t first = order >> 1;
    for (uint32_t k = 0; k < t->roles; k++) {
      uint32_t r = order & 1 ? first + t->roles - k : first + k;
      if (r >= t->roles) r -= t->roles;
      (k & 1 ? t->slow : t->run)[r](&view, 0, 1, n);
    }
    for (uint32_t i = 0; i < n; i++) say(t, i);
    for (uint32_t l = 0; l < t->locations; l++)
      if (!t->constant[l]) t->reset(&view, l, 0, n);
  }
  text("end\n");
  flush();
}

#if !defined(OWN_START)
#define begin _start
#endif
ENTRY void begin(void) {
  BEGIN
  run(tests[0]);
  call(EXIT, 0, 0, 0);
  for (;;) {
  }
}
