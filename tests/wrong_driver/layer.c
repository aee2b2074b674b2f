/* A driver made wrong on purpose: a Vulkan layer that swaps two atomic loads, or tears exchanges.
 *
 * Where two atomic loads follow one another with no other access and no barrier between them, and both
 * go to addresses that were clamped (GLSL's UMin), the module that goes on to the driver has their
 * results swapped. That breaks coherence where the two go to one location. No program has to know of
 * it: the loader puts the layer before the driver where VK_INSTANCE_LAYERS names it.
 *
 *   cc -shared -fPIC -o libwrong_driver.so layer.c
 *   VK_LAYER_PATH=DIR VK_INSTANCE_LAYERS=VK_LAYER_LITMAKE_wrong_driver PROGRAM
 *
 * WRONG_DRIVER_DUMP=DIR has it write the modules that it changed, before and after. WRONG_DRIVER_ALL=1
 * has it swap loads from addresses that are not clamped, too. WRONG_DRIVER_TORN=1 has it do something else: each
 * atomic exchange becomes a load, some more loads for the time that they take, and a store. That breaks atomicity in
 * code of every kind.
 *
 * The few types of Vulkan that it needs are written out here, so that no headers have to be there. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *Handle;
typedef void (*Function)(void);
typedef Function (*GetProc)(Handle, const char *);

/* VkBaseInStructure. */
typedef struct Base {
  int32_t type;
  const struct Base *next;
} Base;

/* VkLayerInstanceLink and VkLayerDeviceLink. */
typedef struct InstanceLink {
  struct InstanceLink *next;
  GetProc instance_proc;
} InstanceLink;

typedef struct DeviceLink {
  struct DeviceLink *next;
  GetProc instance_proc;
  GetProc device_proc;
} DeviceLink;

/* VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo, as far as the links go. */
typedef struct LayerInfo {
  int32_t type;
  const void *next;
  int32_t function;
  union {
    InstanceLink *instance;
    DeviceLink *device;
  } link;
} LayerInfo;

typedef struct ModuleInfo {
  int32_t type;
  const void *next;
  uint32_t flags;
  size_t bytes;
  const uint32_t *words;
} ModuleInfo;

/* VkNegotiateLayerInterface. */
typedef struct Negotiation {
  int32_t type;
  void *next;
  uint32_t version;
  GetProc instance_proc;
  GetProc device_proc;
  GetProc physical_device_proc;
} Negotiation;

enum { INSTANCE_INFO = 47, DEVICE_INFO = 48, LINK = 0, FAILED = -3 };

static GetProc next_instance_proc, next_device_proc;
static Handle instance_made;

/* The word of an instruction that names its result, or 0. Only what the swap looks at. */
enum {
  OP_EXT_INST = 12, OP_FUNCTION = 54, OP_FUNCTION_CALL = 57, OP_LOAD = 61, OP_STORE = 62,
  OP_ACCESS_CHAIN = 65, OP_CONTROL_BARRIER = 224, OP_MEMORY_BARRIER = 225, OP_ATOMIC_LOAD = 227,
  OP_ATOMIC_FIRST = 227, OP_ATOMIC_LAST = 242, OP_PHI = 245, OP_TERMINATOR_LAST = 255, UMIN = 38
};

/* Whether the instruction at `at` names `id` anywhere behind its first operand. */
static int names(const uint32_t *words, size_t at, uint32_t id) {
  for (size_t i = 1; i < words[at] >> 16; i++)
    if (words[at + i] == id) return 1;
  return 0;
}

/* Swaps what it can; how many pairs. */
static int swap_loads(uint32_t *words, size_t count) {
  uint32_t bound = words[3];
  uint8_t *clamped = calloc(bound, 1), *goes_there = calloc(bound, 1);
  int swapped = 0, all = getenv("WRONG_DRIVER_ALL") != NULL;
  size_t before = 0;
  for (size_t at = 5; at < count && words[at] >> 16 > 0; at += words[at] >> 16) {
    uint32_t op = words[at] & 0xffff, length = words[at] >> 16;
    if (at + length > count) break;
    if (op == OP_EXT_INST && words[at + 4] == UMIN) clamped[words[at + 2]] = 1;
    if (op == OP_ACCESS_CHAIN)
      for (size_t i = 4; i < length; i++)
        if (clamped[words[at + i]]) goes_there[words[at + 2]] = 1;
    if (op == OP_ATOMIC_LOAD && (all || goes_there[words[at + 3]])) {
      if (before) {
        uint32_t first = words[before + 2];
        int used = 0;
        for (size_t i = before + (words[before] >> 16); i <= at; i += words[i] >> 16)
          used |= names(words, i, first);
        if (!used) {
          words[before + 2] = words[at + 2];
          words[at + 2] = first;
          swapped++;
          before = 0;
          continue;
        }
      }
      before = at;
      continue;
    }
    int ends = op == OP_FUNCTION || op == OP_FUNCTION_CALL || op == OP_STORE ||
               op == OP_CONTROL_BARRIER || op == OP_MEMORY_BARRIER ||
               (op >= OP_ATOMIC_FIRST && op <= OP_ATOMIC_LAST) ||
               (op >= OP_PHI && op <= OP_TERMINATOR_LAST);
    if (ends) before = 0;
  }
  free(clamped);
  free(goes_there);
  return swapped;
}

enum { OP_ATOMIC_STORE = 228, OP_ATOMIC_EXCHANGE = 229, PAUSE = 256 };

/* A copy of the module with each exchange torn; how many there were. The copy has room for them. */
static int tear_exchanges(const uint32_t *words, size_t count, uint32_t *out, size_t *length) {
  int torn = 0;
  size_t to = 5;
  memcpy(out, words, 5 * sizeof *words);
  for (size_t at = 5; at < count && words[at] >> 16 > 0; at += words[at] >> 16) {
    const uint32_t *from = words + at;
    if (at + (from[0] >> 16) > count) break;
    if ((from[0] & 0xffff) != OP_ATOMIC_EXCHANGE) {
      memcpy(out + to, from, (from[0] >> 16) * sizeof *words);
      to += from[0] >> 16;
      continue;
    }
    /* Behind the instruction: type, result, pointer, scope, semantics, value. */
    for (int i = 0; i <= PAUSE; i++) {
      uint32_t load[] = {6u << 16 | OP_ATOMIC_LOAD, from[1], i ? out[3]++ : from[2], from[3], from[4], from[5]};
      memcpy(out + to, load, sizeof load);
      to += 6;
    }
    uint32_t store[] = {5u << 16 | OP_ATOMIC_STORE, from[3], from[4], from[5], from[6]};
    memcpy(out + to, store, sizeof store);
    to += 5;
    torn++;
  }
  *length = to;
  return torn;
}

static void dump(const char *what, int number, const uint32_t *words, size_t bytes) {
  const char *folder = getenv("WRONG_DRIVER_DUMP");
  if (!folder) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/module-%d-%s.spv", folder, number, what);
  FILE *file = fopen(path, "wb");
  if (!file) return;
  fwrite(words, 1, bytes, file);
  fclose(file);
}

static int32_t create_module(Handle device, const ModuleInfo *given, const void *memory, void *out) {
  static int number;
  int32_t (*next)(Handle, const ModuleInfo *, const void *, void *) =
      (void *)next_device_proc(device, "vkCreateShaderModule");
  size_t count = given->bytes / 4, length = count;
  uint32_t *words = malloc(given->bytes * (PAUSE + 2));
  ModuleInfo info = *given;
  int changed = 0;
  if (count > 5 && getenv("WRONG_DRIVER_TORN")) {
    changed = tear_exchanges(given->words, count, words, &length);
  } else {
    memcpy(words, given->words, given->bytes);
    if (count > 5) changed = swap_loads(words, count);
  }
  info.words = words;
  info.bytes = length * 4;
  if (changed) {
    dump("before", number, given->words, given->bytes);
    dump("after", number, words, info.bytes);
    number++;
  }
  int32_t result = next(device, &info, memory, out);
  free(words);
  return result;
}

static LayerInfo *link_of(const Base *info, int32_t type) {
  const Base *at = info->next;
  while (at && !(at->type == type && ((LayerInfo *)at)->function == LINK)) at = at->next;
  return (LayerInfo *)at;
}

static int32_t create_instance(const Base *info, const void *memory, Handle *out) {
  LayerInfo *own = link_of(info, INSTANCE_INFO);
  if (!own) return FAILED;
  next_instance_proc = own->link.instance->instance_proc;
  own->link.instance = own->link.instance->next;
  int32_t (*next)(const Base *, const void *, Handle *) =
      (void *)next_instance_proc(NULL, "vkCreateInstance");
  int32_t result = next(info, memory, out);
  if (result == 0) instance_made = *out;
  return result;
}

static int32_t create_device(Handle physical, const Base *info, const void *memory, Handle *out) {
  LayerInfo *own = link_of(info, DEVICE_INFO);
  if (!own) return FAILED;
  GetProc instance_proc = own->link.device->instance_proc;
  next_device_proc = own->link.device->device_proc;
  own->link.device = own->link.device->next;
  int32_t (*next)(Handle, const Base *, const void *, Handle *) =
      (void *)instance_proc(instance_made, "vkCreateDevice");
  return next(physical, info, memory, out);
}

static Function device_proc(Handle device, const char *name) {
  if (!strcmp(name, "vkCreateShaderModule")) return (Function)create_module;
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)device_proc;
  return next_device_proc ? next_device_proc(device, name) : NULL;
}

static Function instance_proc(Handle instance, const char *name) {
  if (!strcmp(name, "vkCreateInstance")) return (Function)create_instance;
  if (!strcmp(name, "vkCreateDevice")) return (Function)create_device;
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)instance_proc;
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)device_proc;
  if (!strcmp(name, "vkCreateShaderModule")) return (Function)create_module;
  return next_instance_proc ? next_instance_proc(instance, name) : NULL;
}

int32_t vkNegotiateLoaderLayerInterfaceVersion(Negotiation *with) {
  with->version = 2;
  with->instance_proc = instance_proc;
  with->device_proc = device_proc;
  with->physical_device_proc = NULL;
  return 0;
}
