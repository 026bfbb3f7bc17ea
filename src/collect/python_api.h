// SPDX-License-Identifier: Apache-2.0
// The public functions of CPython that the recorder calls, found by name in whatever interpreter
// the process has: its main program, a libpython it is linked to, or one it opened for itself.
#pragma once

#include <cstdint>

namespace hone::collect {

// Objects of the interpreter are addresses to us: nothing here knows their types.
using PyAddress = std::uintptr_t;

struct PythonApi {
  // With the GIL.
  PyAddress (*PyThreadState_Get)();
  PyAddress (*PyThreadState_GetFrame)(PyAddress thread);  // new reference, may be 0
  PyAddress (*PyInterpreterState_Get)();
  PyAddress (*PyInterpreterState_ThreadHead)(PyAddress interpreter);
  PyAddress (*PyThreadState_Next)(PyAddress thread);
  PyAddress (*PyThreadState_New)(PyAddress interpreter);
  void (*PyThreadState_Clear)(PyAddress thread);
  void (*PyThreadState_Delete)(PyAddress thread);
  PyAddress (*PyFrame_GetBack)(PyAddress frame);  // new reference, may be 0
  PyAddress (*PyFrame_GetCode)(PyAddress frame);  // new reference
  int (*PyFrame_GetLineNumber)(PyAddress frame);
  PyAddress (*PyObject_GetAttrString)(PyAddress object, const char* name);  // new reference or 0
  long (*PyLong_AsLong)(PyAddress number);
  PyAddress (*PyUnicode_FromString)(const char* utf8);  // new reference or 0
  PyAddress (*PyUnicode_InternFromString)(const char* utf8);
  const char* (*PyUnicode_AsUTF8AndSize)(PyAddress text, std::intptr_t* bytes);
  std::intptr_t (*PyBytes_Size)(PyAddress bytes);
  char* (*PyBytes_AsString)(PyAddress bytes);
  void (*Py_DecRef)(PyAddress object);
  void (*PyErr_Clear)();
  // Without it.
  PyAddress (*PyGILState_GetThisThreadState)();  // of the calling thread, 0 when it has none
  // Data.
  PyAddress PyCode_Type;
  PyAddress PyUnicode_Type;
  PyAddress PyBytes_Type;
  PyAddress _Py_NoneStruct;
};

// Null when every name was found, else the first that was not.
const char* FindPythonApi(PythonApi* api) noexcept;

}  // namespace hone::collect
