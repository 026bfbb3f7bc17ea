// SPDX-License-Identifier: Apache-2.0
#include "collect/python_api.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace hone::collect {
namespace {

struct Name {
  const char* name;
  std::size_t offset;
};
#define HONE_PYTHON_NAME(name) \
  { #name, offsetof(PythonApi, name) }
constexpr Name kNames[] = {HONE_PYTHON_NAME(PyThreadState_Get),
                           HONE_PYTHON_NAME(PyThreadState_GetFrame),
                           HONE_PYTHON_NAME(PyInterpreterState_Get),
                           HONE_PYTHON_NAME(PyInterpreterState_ThreadHead),
                           HONE_PYTHON_NAME(PyThreadState_Next),
                           HONE_PYTHON_NAME(PyThreadState_New),
                           HONE_PYTHON_NAME(PyThreadState_Clear),
                           HONE_PYTHON_NAME(PyThreadState_Delete),
                           HONE_PYTHON_NAME(PyFrame_GetBack),
                           HONE_PYTHON_NAME(PyFrame_GetCode),
                           HONE_PYTHON_NAME(PyFrame_GetLineNumber),
                           HONE_PYTHON_NAME(PyObject_GetAttrString),
                           HONE_PYTHON_NAME(PyLong_AsLong),
                           HONE_PYTHON_NAME(PyUnicode_FromString),
                           HONE_PYTHON_NAME(PyUnicode_InternFromString),
                           HONE_PYTHON_NAME(PyUnicode_AsUTF8AndSize),
                           HONE_PYTHON_NAME(PyBytes_Size),
                           HONE_PYTHON_NAME(PyBytes_AsString),
                           HONE_PYTHON_NAME(Py_DecRef),
                           HONE_PYTHON_NAME(PyErr_Clear),
                           HONE_PYTHON_NAME(PyGILState_GetThisThreadState),
                           HONE_PYTHON_NAME(PyCode_Type),
                           HONE_PYTHON_NAME(PyUnicode_Type),
                           HONE_PYTHON_NAME(PyBytes_Type),
                           HONE_PYTHON_NAME(_Py_NoneStruct)};
#undef HONE_PYTHON_NAME

// A program that opened its libpython for itself keeps the names out of the global scope.
int OpenLibpython(dl_phdr_info* info, std::size_t, void* handle) noexcept {
  const char* path = info->dlpi_name;
  const char* slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
  if (slash == nullptr || std::strncmp(slash, "/libpython", 10) != 0) return 0;
  void* found = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (found == nullptr) return 0;
  if (dlsym(found, kNames[0].name) == nullptr) {  // libpython3.so only points to the other
    dlclose(found);
    return 0;
  }
  *static_cast<void**>(handle) = found;
  return 1;
}

}  // namespace

const char* FindPythonApi(PythonApi* api) noexcept {
  void* handle = RTLD_DEFAULT;
  if (dlsym(handle, kNames[0].name) == nullptr) {
    dl_iterate_phdr(&OpenLibpython, &handle);
  }
  for (const Name& name : kNames) {
    void* const found = dlsym(handle, name.name);
    if (found == nullptr) return name.name;
    std::memcpy(reinterpret_cast<char*>(api) + name.offset, &found, sizeof(found));
  }
  return nullptr;
}

}  // namespace hone::collect
