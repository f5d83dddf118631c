//! The tests as one program, which links faster than one for each file.

mod corpus;
mod ends;
mod generated;
