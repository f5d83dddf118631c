//! The Python module `airwnd._native` without plug-ins.

airwnd_py::engine!(|_| {});
