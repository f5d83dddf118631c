//! All tests as one binary, which links faster than one binary per file.

mod corpus;
mod ends;
mod generated;
