// SPDX-License-Identifier: Apache-2.0
// The stack of the calling thread as the public C API tells it (python_layout.h).
#include "collect/python_layout.h"

namespace hone::collect {
namespace {

// The object of an attribute; what we borrow is kept alive by the code object.
PyAddress Attribute(const PythonApi& api, PyAddress object, const char* name) noexcept {
  const PyAddress value = api.PyObject_GetAttrString(object, name);
  if (value == 0) {
    api.PyErr_Clear();
  } else {
    api.Py_DecRef(value);
  }
  return value;
}

bool Number(const PythonApi& api, PyAddress object, const char* name, long* number) noexcept {
  const PyAddress value = api.PyObject_GetAttrString(object, name);
  if (value == 0) {
    api.PyErr_Clear();
    return false;
  }
  *number = api.PyLong_AsLong(value);
  api.Py_DecRef(value);
  return true;
}

const char* AskFrame(const PythonApi& api, PyAddress frame, KnownFrame* known) noexcept {
  known->code = api.PyFrame_GetCode(frame);
  api.Py_DecRef(known->code);  // the frame keeps it
  known->file = Attribute(api, known->code, "co_filename");
  known->name = Attribute(api, known->code, "co_qualname");  // from 3.11
  if (known->name == 0) known->name = Attribute(api, known->code, "co_name");
  known->table = Attribute(api, known->code, "co_linetable");  // from 3.10
  if (known->table == 0) known->table = Attribute(api, known->code, "co_lnotab");
  if (known->file == 0 || known->name == 0 || known->table == 0) return "attributes of code";
  long first = 0;
  long last = 0;
  if (!Number(api, known->code, "co_firstlineno", &first)) return "co_firstlineno";
  if (!Number(api, frame, "f_lasti", &last)) return "f_lasti";
  known->first_line = static_cast<int>(first);
  known->offset = last;
  known->line = api.PyFrame_GetLineNumber(frame);
  return nullptr;
}

}  // namespace

const char* AskStack(const PythonApi& api, KnownStack* stack) noexcept {
  PyAddress frame = api.PyThreadState_GetFrame(api.PyThreadState_Get());
  const char* missing = nullptr;
  stack->count = 0;
  while (frame != 0 && missing == nullptr && stack->count < KnownStack::kMost) {
    missing = AskFrame(api, frame, &stack->frames[stack->count++]);
    const PyAddress back = api.PyFrame_GetBack(frame);
    api.Py_DecRef(frame);
    frame = back;
  }
  if (frame != 0) api.Py_DecRef(frame);
  return missing;
}

}  // namespace hone::collect
