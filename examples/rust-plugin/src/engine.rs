//! An engine with the plug-in `gentle`, for `airwnd --engine`.

mod gentle;

airwnd_py::engine!(gentle::register);
