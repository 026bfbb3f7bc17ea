/* SPDX-License-Identifier: Apache-2.0 */
/* Marks for programs in C and C++ that want them; needs nothing to be linked.
 *
 *   #include <hone.h>
 *   for (...) { hone_region_push("forward"); ...; hone_region_pop(); hone_step_end(); }
 *
 * Under `hone run` the recorder is in the process and these find it; otherwise they do nothing, at
 * the price of one pointer's test. Regions nest per thread. Link with -ldl where libc is old. */
#ifndef HONE_H_
#define HONE_H_

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Looked up once; a race only looks up twice. */
static inline void* hone_door_(const char* name, void** door) {
  static char none;
  void* found = __atomic_load_n(door, __ATOMIC_ACQUIRE);
  if (found == NULL) {
    found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) found = &none;
    __atomic_store_n(door, found, __ATOMIC_RELEASE);
  }
  return found == (void*)&none ? NULL : found;
}

/* A step of the program ended here. */
static inline void hone_step_end(void) {
  static void* door;
  void* found = hone_door_("hone_step", &door);
  if (found != NULL) ((void (*)(void))found)();
}

/* A named stretch of work on this thread. */
static inline void hone_region_push(const char* name) {
  static void* door;
  void* found = hone_door_("hone_region_begin", &door);
  if (found != NULL) ((void (*)(const char*, int))found)(name, 3);
}
static inline void hone_region_pop(void) {
  static void* door;
  void* found = hone_door_("hone_region_end", &door);
  if (found != NULL) ((void (*)(void))found)();
}

#ifdef __cplusplus
}
#endif

#endif
